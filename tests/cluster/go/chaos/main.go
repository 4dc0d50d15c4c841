// An election of all kinds of candidates in which everything goes wrong, by a schedule that a seed
// gives; then, what was right and wrong in it. Status 1: something was wrong.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"kubelease.test/cluster/arena"
	"kubelease.test/cluster/audit"
	"kubelease.test/cluster/candidate"
	"kubelease.test/cluster/clock"
	"kubelease.test/cluster/judge"
	"kubelease.test/cluster/schedule"
)

var (
	seconds  = flag.Int("seconds", 240, "how long")
	seed     = flag.Uint64("seed", 1, "of the schedule")
	selfTest = flag.Bool("self-test", false, "add a candidate that always claims to lead: status 0 "+
		"if that is noticed")
)

var timing = candidate.Timing{
	Duration: 3 * time.Second, Deadline: 2 * time.Second, Period: 500 * time.Millisecond,
}

// The last one is the reference. The first is never killed, so that its memory can be watched.
var kinds = []candidate.Kind{
	candidate.Put, candidate.Watch, candidate.Patch, candidate.C, candidate.ClientGo,
}

const survivor = 0

func main() {
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	report, err := run(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(2)
	}
	noticed := slices.ContainsFunc(report.Violations, func(violation judge.Violation) bool {
		return strings.HasPrefix(violation.What, string(candidate.Liar))
	})
	if *selfTest && !noticed || !*selfTest && len(report.Violations) > 0 {
		os.Exit(1)
	}
}

func run(ctx context.Context) (*judge.Report, error) {
	if *selfTest {
		kinds = append(kinds, candidate.Liar)
	}
	name := "chaos"
	if *selfTest {
		name = "liar"
	}
	field, err := arena.Open(ctx, name, timing, 0, kinds...)
	if err != nil {
		return nil, err
	}
	defer field.Close()
	chaos := newChaos(field)
	for _, c := range field.Candidates {
		if err := c.Start(c.NextIdentity()); err != nil {
			return nil, err
		}
	}
	fmt.Printf("chaos: %d s, seed %d, timing %v, candidates %v\n", *seconds, *seed, timing, kinds)
	length := time.Duration(*seconds) * time.Second
	steps := schedule.Plan(*seed, length, len(field.Candidates), timing.Duration)
	report, err := chaos.play(ctx, steps, length)
	// What was stopped has to go on, and what was killed has to start.
	chaos.drain()
	if err != nil {
		return nil, err
	}
	return report, chaos.tell(report)
}

// play goes through the schedule to the end, or to the first violation.
func (c *chaos) play(ctx context.Context, steps []schedule.Step, length time.Duration) (
	*judge.Report, error) {
	memory := watchMemory(ctx, c.field.Candidates)
	c.memory = memory
	begun := clock.Now()
	quiet := schedule.Quiet(timing.Duration)
	judged, next := begun, begun+15*time.Second
	for ctx.Err() == nil {
		elapsed := clock.Now() - begun
		for len(steps) > 0 && steps[0].At <= elapsed {
			c.begin(ctx, steps[0])
			steps = steps[1:]
		}
		over := c.quietSince()
		isQuiet := len(steps) == 0 && over != 0
		if isQuiet && elapsed >= length && clock.Now() >= over+quiet {
			return c.judge(begun, over)
		}
		if now := clock.Now(); now >= next {
			report, err := c.judge(judged, 0)
			if err != nil || len(report.Violations) > 0 {
				return report, err
			}
			fmt.Printf("%6.0f s  leader %-14s %s\n", elapsed.Seconds(), c.field.History.Last().Holder,
				c.progress())
			judged, next = now-5*time.Second, now+15*time.Second
		}
		time.Sleep(2 * time.Millisecond)
	}
	return nil, ctx.Err()
}

// judge judges what happened from a time on to a moment ago: the last news may not have come.
func (c *chaos) judge(since, quietSince time.Duration) (*judge.Report, error) {
	run, err := c.field.Run()
	if err != nil {
		return nil, err
	}
	run.Since, run.Until = since, run.Until-500*time.Millisecond
	run.QuietSince = quietSince
	run.Faults, run.Edits = c.done()
	c.last = run
	return judge.Judge(run), nil
}

// tell prints the report and, where something was wrong, what happened around it.
func (c *chaos) tell(report *judge.Report) error {
	fmt.Println()
	for _, line := range report.Lines() {
		fmt.Println(line)
	}
	half, most, worst := c.field.Noise.Quantiles()
	fmt.Printf("the machine itself: a sleep of 20 ms ended late by %.1f ms (half of all), %.1f ms "+
		"(99 of 100), %.1f ms (worst)\n", inMillis(half), inMillis(most), inMillis(worst))
	fmt.Println("faults:", c.counts())
	names := map[string]string{}
	for _, candidate := range c.field.Candidates {
		names[candidate.Name] = string(candidate.Kind)
	}
	requests, err := audit.Read(c.field.Cluster.Path("audit.log"), arena.Namespace, c.field.Lease,
		c.field.Begun)
	if err != nil {
		return err
	}
	fmt.Println("requests by the server's audit log:")
	for _, line := range audit.Table(requests, names) {
		fmt.Println("  " + line)
	}
	for _, line := range c.memory.lines() {
		fmt.Println(line)
	}
	for i, violation := range report.Violations {
		if i == 0 || violation.At > report.Violations[i-1].At+time.Second {
			c.around(violation)
		}
	}
	return errors.Join(c.failures...)
}

func inMillis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// around prints a violation with the seed and all that happened near it.
func (c *chaos) around(violation judge.Violation) {
	const near = 6 * time.Second
	at := func(t time.Duration) string {
		if t == 0 {
			return "(goes on)"
		}
		return fmt.Sprintf("%+9.3f s", (t - violation.At).Seconds())
	}
	fmt.Printf("\nVIOLATION, seed %d, %.3f s after the begin: %s\n", *seed,
		(violation.At - c.field.Begun).Seconds(), violation.What)
	for _, fault := range c.last.Faults {
		if fault.From <= violation.At+near && (fault.To == 0 || fault.To >= violation.At-near) {
			fmt.Printf("  %s to %s  fault %s %s\n", at(fault.From), at(fault.To), fault.Kind,
				fault.Target)
		}
	}
	for _, edit := range c.last.Edits {
		if edit.From <= violation.At+near && edit.To >= violation.At-near {
			fmt.Printf("  %s to %s  edit %s, version %d\n", at(edit.From), at(edit.To), edit.Kind,
				edit.Version)
		}
	}
	for _, record := range c.last.Records {
		if record.At <= violation.At+near && record.At >= violation.At-near {
			fmt.Printf("  %s  version %d: holder %q, transitions %d, %d s, by %s, deleted %t\n",
				at(record.At), record.Version, record.Holder, record.Transitions, record.Seconds,
				record.Writer, record.Deleted)
		}
	}
	fmt.Println("  logs in", c.field.Logs)
}
