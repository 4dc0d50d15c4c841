// Package cluster is the running cluster that `up` left in a folder.
package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Cluster is that folder.
type Cluster struct {
	Folder string
	URL    string
	// Admin may do all, past all proxies. Its field manager is "outsider".
	Admin *kubernetes.Clientset
}

// Open reads the folder.
func Open(folder string) (*Cluster, error) {
	c := &Cluster{Folder: folder}
	url, err := c.text("url")
	if err != nil {
		return nil, err
	}
	token, err := c.text("admin.token")
	if err != nil {
		return nil, err
	}
	c.URL = url
	c.Admin, err = kubernetes.NewForConfig(&rest.Config{
		Host: url, BearerToken: token, UserAgent: "outsider", Timeout: 2 * time.Second, QPS: -1,
		// On HTTP/2 it would wait for a server that was killed and is back.
		TLSClientConfig: rest.TLSClientConfig{
			CAFile: c.Path("ca.crt"), NextProtos: []string{"http/1.1"},
		},
	})
	return c, err
}

// Path is that of a file in the folder.
func (c *Cluster) Path(name string) string { return filepath.Join(c.Folder, name) }

// Etcd is the URL of the store.
func (c *Cluster) Etcd() (string, error) {
	script, err := c.text("start-etcd")
	found := regexp.MustCompile(`--listen-client-urls=(\S+)`).FindStringSubmatch(script)
	if found == nil {
		return "", fmt.Errorf("no URL of etcd in start-etcd: %v", err)
	}
	return found[1], nil
}

// Signal sends a signal to a part: "api" or "etcd".
func (c *Cluster) Signal(part string, signal syscall.Signal) error {
	pid, err := c.pid(part)
	if err != nil {
		return err
	}
	return syscall.Kill(pid, signal)
}

// Restart ends a part by a signal, by SIGKILL if that takes longer than a grace, and starts it.
func (c *Cluster) Restart(part string, signal syscall.Signal, down, grace time.Duration) error {
	pid, err := c.pid(part)
	if err != nil {
		return err
	}
	if err := syscall.Kill(pid, signal); err != nil {
		return err
	}
	time.Sleep(down)
	for end := time.Now().Add(grace); runs(pid); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	return exec.Command(c.Path("start-" + part)).Run()
}

// AwaitReady waits until the API server serves ordinary users; an error where it takes too long.
func (c *Cluster) AwaitReady(ctx context.Context, most time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	for {
		answer, err := c.Admin.RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		if err == nil && string(answer) == "ok" {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the API server is not ready after %s: %w", most, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (c *Cluster) pid(part string) (int, error) {
	text, err := c.text(part + ".pid")
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(text)
}

func (c *Cluster) text(name string) (string, error) {
	text, err := os.ReadFile(c.Path(name))
	return strings.TrimSpace(string(text)), err
}

// runs says whether a process is there and not merely waits to be reaped.
func runs(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}
