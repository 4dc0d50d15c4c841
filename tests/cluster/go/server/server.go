// Package server has the flags that say where the API server is and who asks it.
package server

import (
	"flag"
	"fmt"
	"os"
	"strings"

	"k8s.io/client-go/rest"
)

var (
	url   = flag.String("server", "", "`URL` of the API server")
	ca    = flag.String("ca", "", "`FILE` with the authority of its certificate")
	token = flag.String("token", "", "bearer token")
)

// NamespacedName is the value of a flag such as "default/a".
type NamespacedName struct{ Namespace, Name string }

func (n *NamespacedName) String() string { return n.Namespace + "/" + n.Name }

// Set takes the text of the flag.
func (n *NamespacedName) Set(text string) error {
	namespace, name, ok := strings.Cut(text, "/")
	if !ok {
		return fmt.Errorf("expected NAMESPACE/NAME, found %q", text)
	}
	n.Namespace, n.Name = namespace, name
	return nil
}

// Name defines a flag.
func Name(flagName, usage string) *NamespacedName {
	name := new(NamespacedName)
	flag.Var(name, flagName, usage)
	return name
}

// Config parses the command line.
func Config() *rest.Config {
	flag.Parse()
	if *url == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	return &rest.Config{
		Host:            *url,
		BearerToken:     *token,
		TLSClientConfig: rest.TLSClientConfig{CAFile: *ca},
	}
}
