// Package audit reads the API server's own account of the requests it got.
package audit

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"kubelease.test/cluster/clock"
)

// Request is one request for a lease.
type Request struct {
	User, Verb string
	Code       int
	From, To   time.Duration // by the boot clock
}

type event struct {
	Verb                                     string
	User                                     struct{ Username string }
	ObjectRef                                struct{ Namespace, Name string }
	ResponseStatus                           struct{ Code int }
	RequestReceivedTimestamp, StageTimestamp time.Time
	Stage                                    string
}

// Read reads all requests for a lease since a time. A POST has no name in its path: it is told by
// its body, which the log does not have, so those of the namespace count.
func Read(path, namespace, name string, since time.Duration) ([]Request, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var requests []Request
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event event
		// A server that was killed leaves half a line.
		if json.Unmarshal(lines.Bytes(), &event) != nil || event.Stage == "ResponseStarted" {
			continue
		}
		about := event.ObjectRef
		if about.Namespace != namespace || about.Name != name && about.Name != "" {
			continue
		}
		request := Request{
			User: event.User.Username, Verb: event.Verb, Code: event.ResponseStatus.Code,
			From: clock.FromWall(event.RequestReceivedTimestamp), To: clock.FromWall(event.StageTimestamp),
		}
		if request.From >= since {
			requests = append(requests, request)
		}
	}
	return requests, lines.Err()
}

// Table has a line for each user: how many requests of each verb, by the class of their status.
func Table(requests []Request, names map[string]string) []string {
	count := map[string]map[string]int{}
	for _, request := range requests {
		if names[request.User] == "" {
			continue
		}
		if count[request.User] == nil {
			count[request.User] = map[string]int{}
		}
		count[request.User][fmt.Sprintf("%s %d", request.Verb, request.Code)]++
	}
	var lines []string
	for user, verbs := range count {
		var parts []string
		for verb, n := range verbs {
			parts = append(parts, fmt.Sprintf("%s: %d", verb, n))
		}
		slices.Sort(parts)
		lines = append(lines, fmt.Sprintf("%s (%s)  %s", user, names[user], strings.Join(parts, ", ")))
	}
	slices.Sort(lines)
	return lines
}
