package main

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"time"

	"kubelease.test/cluster/arena"
	"kubelease.test/cluster/candidate"
	"kubelease.test/cluster/clock"
	"kubelease.test/cluster/judge"
	"kubelease.test/cluster/proxy"
	"kubelease.test/cluster/schedule"
)

// A candidate that is told to end does so within this: its budget for the release, and some.
const endsWithin = 8 * time.Second

// step does one step, from its begin to its end.
func (c *chaos) step(ctx context.Context, step schedule.Step, target *candidate.Candidate) {
	switch {
	case step.Kind.IsOfServer():
		c.ofServer(ctx, step)
	case !step.Kind.IsOfCandidate():
		c.edit(ctx, step.Kind)
	case step.Kind.IsOfProcess():
		c.ofProcess(step, target)
	case step.Kind == schedule.Revoke:
		c.revoke(ctx, step, target)
	default:
		over := c.fault(step.Kind, target.Name)
		target.Proxy.Set(proxy.Mode(step.Kind))
		time.Sleep(step.For)
		target.Proxy.Set(proxy.Pass)
		over()
	}
}

func (c *chaos) ofProcess(step schedule.Step, target *candidate.Candidate) {
	over := c.fault(step.Kind, target.Name)
	defer over()
	identity := target.Identity()
	switch step.Kind {
	case schedule.Stop, schedule.Nap:
		target.Stop()
		time.Sleep(step.For)
		over()
		target.Continue()
		return
	case schedule.Term:
		if err := target.Terminate(endsWithin); err != nil && target.Kind.IsOurs() {
			c.fail(err)
		}
		identity = target.NextIdentity()
	case schedule.Rename:
		target.Kill()
		identity = target.NextIdentity()
	default:
		target.Kill()
	}
	time.Sleep(step.For)
	if err := target.Start(identity); err != nil {
		c.fail(err)
	}
}

func (c *chaos) ofServer(ctx context.Context, step schedule.Step) {
	over := c.fault(step.Kind, "")
	defer over()
	where := c.field.Cluster
	var err error
	switch step.Kind {
	case schedule.APIStop, schedule.EtcdStop:
		part := strings.TrimSuffix(string(step.Kind), "-stop")
		err = where.Signal(part, syscall.SIGSTOP)
		time.Sleep(step.For)
		if err == nil {
			err = where.Signal(part, syscall.SIGCONT)
		}
	case schedule.APITerm:
		err = where.Restart("api", syscall.SIGTERM, step.For, 3*time.Second)
	default:
		err = where.Restart("api", syscall.SIGKILL, step.For, 3*time.Second)
	}
	if err == nil {
		err = where.AwaitReady(ctx, time.Minute)
	}
	// Rights of ordinary users come some tenths of a second later.
	time.Sleep(500 * time.Millisecond)
	c.fail(err)
}

func (c *chaos) revoke(ctx context.Context, step schedule.Step, target *candidate.Candidate) {
	over := c.fault(step.Kind, target.Name)
	defer over()
	_ = c.field.Cluster.Revoke(ctx, arena.Namespace, target.Name)
	time.Sleep(step.For)
	// It fails while the API server is away, and is done even where the run is broken off.
	ctx = context.WithoutCancel(ctx)
	var err error
	for range 200 {
		if err = c.field.Cluster.Grant(ctx, arena.Namespace, target.Name); err == nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	c.fail(err)
}

// edit changes the lease from outside. Where the server is away nothing comes of it.
func (c *chaos) edit(ctx context.Context, kind schedule.Kind) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	// It is in the account before it is done: what it does may be seen before it is answered.
	edit := judge.Edit{Kind: string(kind), From: clock.Now()}
	c.mutex.Lock()
	number := len(c.edits)
	c.edits = append(c.edits, edit)
	c.mutex.Unlock()
	version, _ := c.write(ctx, kind)
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.edits[number].Version, c.edits[number].To = version, clock.Now()
}

func (c *chaos) write(ctx context.Context, kind schedule.Kind) (int64, error) {
	last := c.field.History.Last()
	switch kind {
	case schedule.Delete:
		return 0, c.field.Outsider.Delete(ctx)
	case schedule.Clear:
		return c.field.Outsider.Holder(ctx, "", last)
	case schedule.Steal:
		return c.field.Outsider.Holder(ctx, "thief", last)
	default:
		return c.field.Outsider.Mark(ctx, fmt.Sprint(clock.Now().Milliseconds()))
	}
}
