package main

import (
	"context"
	"fmt"
	"time"

	"kubelease.test/cluster/arena"
	"kubelease.test/cluster/audit"
	"kubelease.test/cluster/candidate"
	"kubelease.test/cluster/clock"
	"kubelease.test/cluster/proxy"
)

func (g *group) crash(_ context.Context, leader *candidate.Candidate) (time.Duration, error) {
	begun := clock.Now()
	leader.Kill()
	started, err := g.next(leader, begun)
	if err != nil {
		return 0, err
	}
	return started - begun, g.again(leader)
}

func (g *group) terminate(_ context.Context, leader *candidate.Candidate) (time.Duration, error) {
	begun := clock.Now()
	if err := leader.Terminate(10 * time.Second); err != nil {
		return 0, err
	}
	started, err := g.next(leader, begun)
	if err != nil {
		return 0, err
	}
	return started - begun, g.again(leader)
}

func (g *group) again(c *candidate.Candidate) error {
	return c.Start(c.NextIdentity())
}

func (g *group) hole(_ context.Context, leader *candidate.Candidate) (time.Duration, error) {
	leader.Proxy.Set(proxy.Hole)
	time.Sleep(50 * time.Millisecond)
	write := g.field.History.Last().At
	last, err := g.lastTick(leader, write)
	leader.Proxy.Set(proxy.Pass)
	return last - write, err
}

func (g *group) wake(_ context.Context, leader *candidate.Candidate) (time.Duration, error) {
	begun := leader.Stop()
	if _, err := g.next(leader, begun); err != nil {
		return 0, err
	}
	time.Sleep(g.field.Timing.Period)
	woken := leader.Continue()
	last, err := g.lastTick(leader, woken)
	return last - woken, err
}

func (g *group) stolen(ctx context.Context, leader *candidate.Candidate) (time.Duration, error) {
	begun := clock.Now()
	if _, err := g.field.Outsider.Holder(ctx, "thief", g.field.History.Last()); err != nil {
		return 0, err
	}
	last, err := g.lastTick(leader, begun)
	return last - begun, err
}

func (g *group) cleared(ctx context.Context, leader *candidate.Candidate) (time.Duration, error) {
	begun := clock.Now()
	if _, err := g.field.Outsider.Holder(ctx, "", g.field.History.Last()); err != nil {
		return 0, err
	}
	return g.beside(leader, begun)
}

func (g *group) deleted(ctx context.Context, leader *candidate.Candidate) (time.Duration, error) {
	begun := clock.Now()
	if err := g.field.Outsider.Delete(ctx); err != nil {
		return 0, err
	}
	return g.beside(leader, begun)
}

// beside is how long two believed at the same time, since an event.
func (g *group) beside(leader *candidate.Candidate, begun time.Duration) (time.Duration, error) {
	last, err := g.lastTick(leader, begun)
	if err != nil {
		return 0, err
	}
	var beside time.Duration
	for _, other := range g.field.Candidates {
		ticks, err := arena.Ticks(other, begun)
		if err != nil {
			return 0, err
		}
		if other != leader && len(ticks) > 0 {
			beside = max(beside, last-ticks[0])
		}
	}
	return beside, nil
}

// wipe ends the leader just after another's name was written: does it take that away?
func (g *group) wipe(ctx context.Context) error {
	wipes := 0
	for range g.samples {
		leader, err := g.settle()
		if err != nil {
			return err
		}
		version, err := g.field.Outsider.Holder(ctx, "thief", g.field.History.Last())
		if err != nil {
			return err
		}
		if err := leader.Terminate(10 * time.Second); err != nil {
			return err
		}
		time.Sleep(g.field.Timing.Period)
		records, err := g.field.History.Records()
		if err != nil {
			return err
		}
		for _, record := range records {
			if record.Version > version {
				if record.Holder == "" {
					wipes++
				}
				break
			}
		}
		if err := g.again(leader); err != nil {
			return err
		}
	}
	g.rows[wiped] = &row{text: fmt.Sprintf("%d of %d", wipes, g.samples)}
	return nil
}

// traffic counts requests and bytes while nothing happens.
func (g *group) traffic() error {
	leader, err := g.settle()
	if err != nil {
		return err
	}
	begun := clock.Now()
	up, down := leader.Proxy.Bytes()
	time.Sleep(20 * g.field.Timing.Period)
	moreUp, moreDown := leader.Proxy.Bytes()
	minutes := (clock.Now() - begun).Minutes()
	all, err := audit.Read(g.field.Cluster.Path("audit.log"), arena.Namespace, g.field.Lease, begun)
	if err != nil {
		return err
	}
	var writes, reads int
	for _, request := range all {
		if request.Verb == "get" {
			reads++
		} else {
			writes++
		}
	}
	if g.field.Holder() != leader || writes == 0 {
		return fmt.Errorf("the leader changed while its requests were counted")
	}
	standbys := float64(len(g.field.Candidates) - 1)
	g.rows[requests] = &row{text: fmt.Sprintf("%.0f, %.0f", float64(writes)/minutes,
		float64(reads)/minutes/standbys)}
	g.rows[bytes] = &row{text: fmt.Sprintf("%d, %d", (moreUp-up)/int64(writes),
		(moreDown-down)/int64(writes))}
	return nil
}
