package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"kubelease.test/cluster/arena"
	"kubelease.test/cluster/candidate"
)

// group is three candidates of one kind and one lease.
type group struct {
	kind    candidate.Kind
	field   *arena.Arena
	samples int
	rows    map[string]*row
	err     error
}

// row is what was measured of an event: durations, or a text.
type row struct {
	took []time.Duration
	text string
}

func (r *row) String() string {
	if r == nil {
		return "-"
	}
	if r.text != "" {
		return r.text
	}
	slices.Sort(r.took)
	return fmt.Sprintf("%d / %d of %d", r.took[(len(r.took)-1)/2].Milliseconds(),
		r.took[len(r.took)-1].Milliseconds(), len(r.took))
}

// The events, in the order of the table.
const (
	crash     = "crash of the leader: until the next starts"
	terminate = "SIGTERM to the leader: until the next starts"
	requests  = "requests a minute: leader, each standby"
	bytes     = "one renewal on the wire with TLS: bytes up, down"
	hole      = "leader black-holed: acts after its last applied write for"
	wake      = "woken by SIGCONT beyond the lease: acts for"
	stolen    = "another's name written: acts on for"
	cleared   = "holder cleared: acts beside the next for"
	deleted   = "lease deleted: acts beside the next for"
	wiped     = "SIGTERM after another took the lease: wipes it"
)

var events = []string{
	crash, terminate, requests, bytes, hole, wake, stolen, cleared, deleted, wiped,
}

func (g *group) measure(ctx context.Context) error {
	repeated := []struct {
		name string
		once func(context.Context, *candidate.Candidate) (time.Duration, error)
	}{
		{crash, g.crash}, {terminate, g.terminate}, {hole, g.hole}, {wake, g.wake},
		{stolen, g.stolen}, {cleared, g.cleared}, {deleted, g.deleted},
	}
	for _, event := range repeated {
		r := new(row)
		g.rows[event.name] = r
		for range g.samples {
			leader, err := g.settle()
			if err != nil {
				return fmt.Errorf("%s: %w", event.name, err)
			}
			took, err := event.once(ctx, leader)
			if err != nil {
				return fmt.Errorf("%s: %w", event.name, err)
			}
			r.took = append(r.took, took)
		}
	}
	if err := g.wipe(ctx); err != nil {
		return err
	}
	return g.traffic()
}

// settle waits until one leads, the others have seen it, and the lease has been renewed since.
func (g *group) settle() (*candidate.Candidate, error) {
	var leader *candidate.Candidate
	err := arena.Await("leader whom all have seen", g.patience(), func() bool {
		leader = g.field.Holder()
		if leader == nil {
			return false
		}
		isBlind := func(c *candidate.Candidate) bool {
			return c != leader && !arena.HasSeen(c, leader.Identity())
		}
		return !slices.ContainsFunc(g.field.Candidates, isBlind)
	})
	if err != nil {
		return nil, err
	}
	time.Sleep(2 * g.field.Timing.Period)
	if now := g.field.Holder(); now != leader {
		return g.settle()
	}
	return leader, nil
}

// next waits until another leads; since when.
func (g *group) next(before *candidate.Candidate, since time.Duration) (time.Duration, error) {
	var next *candidate.Candidate
	err := arena.Await("next leader", g.patience(), func() bool {
		next = g.field.Holder()
		return next != nil && next != before
	})
	if err != nil {
		return 0, err
	}
	return arena.AwaitFirstTick(next, since)
}

// lastTick is when a candidate last believed, waited for until that is over.
func (g *group) lastTick(c *candidate.Candidate, since time.Duration) (time.Duration, error) {
	time.Sleep(g.field.Timing.Duration + g.field.Timing.Deadline)
	ticks, err := arena.Ticks(c, since)
	if err != nil || len(ticks) == 0 {
		return since, err
	}
	// What it did before its next term.
	last := ticks[0]
	for _, tick := range ticks {
		if tick > last+g.field.Timing.Period {
			break
		}
		last = tick
	}
	return last, nil
}

func (g *group) patience() time.Duration { return 4*g.field.Timing.Duration + 10*time.Second }
