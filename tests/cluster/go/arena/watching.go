package arena

import (
	"fmt"
	"os"
	"strings"
	"time"

	"kubelease.test/cluster/candidate"
	"kubelease.test/cluster/judge"
)

// Ticks are the moments since a time in which a candidate believed.
func Ticks(c *candidate.Candidate, since time.Duration) ([]time.Duration, error) {
	var ticks []time.Duration
	for _, life := range c.Lives() {
		all, err := judge.ReadTicks(life.Log)
		if err != nil {
			return nil, err
		}
		for _, tick := range all {
			if tick >= since {
				ticks = append(ticks, tick)
			}
		}
	}
	return ticks, nil
}

// HasSeen says whether the present life of a candidate told that somebody leads.
func HasSeen(c *candidate.Candidate, identity string) bool {
	lives := c.Lives()
	path := lives[len(lives)-1].Log
	// leader_curl tells it on its standard error.
	out, _ := os.ReadFile(strings.TrimSuffix(path, ".log") + ".out")
	log, _ := os.ReadFile(path)
	return strings.Contains(string(out), fmt.Sprintf("leader is %q\n", identity)) ||
		strings.Contains(string(log), " leader "+identity+"\n")
}

// AwaitHolder waits until the lease names a candidate.
func (a *Arena) AwaitHolder(c *candidate.Candidate) error {
	return Await(c.Identity()+" in the lease", 3*a.Timing.Duration+10*time.Second, func() bool {
		return a.Holder() == c
	})
}

// AwaitFirstTick waits until a candidate believes, at or after a time; when it first did.
func AwaitFirstTick(c *candidate.Candidate, since time.Duration) (time.Duration, error) {
	var first time.Duration
	var failed error
	err := Await(c.Identity()+" that leads", 20*time.Second, func() bool {
		ticks, err := Ticks(c, since)
		if len(ticks) > 0 {
			first = ticks[0]
		}
		failed = err
		return first != 0 || err != nil
	})
	if failed != nil {
		return 0, failed
	}
	return first, err
}
