package candidate

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// command is the program of this kind with its flags.
func (c *Candidate) command(identity, log string) (*exec.Cmd, error) {
	url := "https://" + c.Proxy.Address()
	if c.Kind == Liar {
		return exec.Command(c.Programs.Work, "--log", log), nil
	}
	if c.Kind == C {
		return exec.Command(c.Programs.LeaderCurl, "--server", url, "--namespace", c.Namespace,
			"--lease", c.Lease, "--identity", identity,
			"--token-file", c.Cluster.Path(c.Name+".token"), "--ca-file", c.Cluster.Path("ca.crt"),
			"--lease-duration-ms", millis(c.Timing.Duration),
			"--renew-deadline-ms", millis(c.Timing.Deadline),
			"--retry-period-ms", millis(c.Timing.Period),
			c.Programs.Work, "--log", log), nil
	}
	token, err := os.ReadFile(c.Cluster.Path(c.Name + ".token"))
	if err != nil {
		return nil, err
	}
	flags := []string{
		"--server", url, "--ca", c.Cluster.Path("ca.crt"),
		"--token", strings.TrimSpace(string(token)),
		"--lease", c.Namespace + "/" + c.Lease, "--identity", identity, "--log", log,
		"--lease-duration", millis(c.Timing.Duration) + "ms",
		"--renew-deadline", millis(c.Timing.Deadline) + "ms",
		"--retry-period", millis(c.Timing.Period) + "ms",
	}
	if c.Kind == ClientGo {
		flags = append(flags, fmt.Sprintf("--release=%t", !c.NoRelease))
		return exec.Command(c.Programs.Elector, flags...), nil
	}
	switch c.Kind {
	case Watch:
		flags = append(flags, "--watch")
	case Patch:
		flags = append(flags, "--update", "patch")
	}
	return exec.Command(c.Programs.Candidate, flags...), nil
}

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
