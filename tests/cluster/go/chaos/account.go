package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"kubelease.test/cluster/arena"
	"kubelease.test/cluster/candidate"
	"kubelease.test/cluster/clock"
	"kubelease.test/cluster/judge"
	"kubelease.test/cluster/schedule"
)

// chaos does what the schedule says, and keeps account of it.
type chaos struct {
	field  *arena.Arena
	memory *memory
	last   *judge.Run

	mutex    sync.Mutex
	faults   []judge.Fault
	edits    []judge.Edit
	skipped  int
	failures []error
	busy     map[*candidate.Candidate]bool
	going    int
}

func newChaos(field *arena.Arena) *chaos {
	return &chaos{field: field, busy: map[*candidate.Candidate]bool{}}
}

// begin starts a step; it goes on by itself.
func (c *chaos) begin(ctx context.Context, step schedule.Step) {
	target := c.target(step)
	if step.Kind.IsOfCandidate() && target == nil {
		return
	}
	c.mutex.Lock()
	c.going++
	c.mutex.Unlock()
	go func() {
		c.step(ctx, step, target)
		c.mutex.Lock()
		defer c.mutex.Unlock()
		c.going--
		delete(c.busy, target)
	}()
}

// target is the candidate of a step; none where it has a fault already, or has to live on.
func (c *chaos) target(step schedule.Step) *candidate.Candidate {
	if !step.Kind.IsOfCandidate() {
		return nil
	}
	target := c.field.Holder()
	if step.Target != schedule.Leader {
		target = c.field.Candidates[step.Target]
	}
	ends := slices.Contains([]schedule.Kind{schedule.Kill, schedule.Rename, schedule.Term}, step.Kind)
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if target == nil || c.busy[target] || target.Kind == candidate.Liar ||
		ends && target == c.field.Candidates[survivor] {
		c.skipped++
		return nil
	}
	c.busy[target] = true
	return target
}

// fault notes the begin of one, and gives what notes its end.
func (c *chaos) fault(kind schedule.Kind, target string) func() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	number := len(c.faults)
	c.faults = append(c.faults, judge.Fault{Kind: string(kind), Target: target, From: clock.Now()})
	return func() {
		c.mutex.Lock()
		defer c.mutex.Unlock()
		if c.faults[number].To == 0 {
			c.faults[number].To = clock.Now()
		}
	}
}

func (c *chaos) fail(err error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if err != nil {
		c.failures = append(c.failures, err)
	}
}

// quietSince is when the last fault was over; 0: one goes on.
func (c *chaos) quietSince() time.Duration {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.going > 0 {
		return 0
	}
	since := c.field.Begun
	for _, fault := range c.faults {
		since = max(since, fault.To)
	}
	for _, edit := range c.edits {
		since = max(since, edit.To)
	}
	return since
}

// drain waits until no step goes on: each ends by itself.
func (c *chaos) drain() {
	for c.isGoing() {
		time.Sleep(10 * time.Millisecond)
	}
}

func (c *chaos) isGoing() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.going > 0
}

func (c *chaos) done() ([]judge.Fault, []judge.Edit) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return slices.Clone(c.faults), slices.Clone(c.edits)
}

func (c *chaos) progress() string {
	faults, edits := c.done()
	records, _ := c.field.History.Records()
	return fmt.Sprintf("%d faults, %d edits, %d versions of the lease", len(faults), len(edits),
		len(records))
}

func (c *chaos) counts() string {
	faults, edits := c.done()
	count := map[string]int{}
	for _, fault := range faults {
		count[fault.Kind]++
	}
	for _, edit := range edits {
		count[edit.Kind]++
	}
	var parts []string
	for kind, n := range count {
		parts = append(parts, fmt.Sprintf("%s %d", kind, n))
	}
	slices.Sort(parts)
	return fmt.Sprintf("%s; not done, as the target had one already: %d",
		strings.Join(parts, ", "), c.skipped)
}
