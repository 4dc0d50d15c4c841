// What candidates of ours and of client-go do in the same events, side by side, at two timings. All
// elections run at the same time, each on a lease of its own.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"sync"
	"time"

	"kubelease.test/cluster/arena"
	"kubelease.test/cluster/candidate"
)

var (
	samples     = flag.Int("samples", 8, "of each event at 3/2/0.5 s")
	slowSamples = flag.Int("slow-samples", 2, "of each event at 15/10/2 s; 0: none of these")
)

var (
	fast = candidate.Timing{
		Duration: 3 * time.Second, Deadline: 2 * time.Second, Period: 500 * time.Millisecond,
	}
	slow = candidate.Timing{
		Duration: 15 * time.Second, Deadline: 10 * time.Second, Period: 2 * time.Second,
	}
	kinds = []candidate.Kind{candidate.Put, candidate.C, candidate.ClientGo}
)

func main() {
	flag.Parse()
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	var groups []*group
	for _, timing := range []candidate.Timing{fast, slow} {
		count := *samples
		if timing == slow {
			count = *slowSamples
		}
		for _, kind := range kinds {
			if count == 0 {
				continue
			}
			g, err := newGroup(ctx, kind, timing, count)
			if err != nil {
				return err
			}
			defer g.field.Close()
			groups = append(groups, g)
		}
	}
	var all sync.WaitGroup
	for _, g := range groups {
		all.Go(func() { g.err = g.measure(ctx) })
	}
	all.Wait()
	for _, g := range groups {
		if g.err != nil {
			return fmt.Errorf("%s at %v: %w", g.kind, g.field.Timing, g.err)
		}
	}
	tell(groups)
	return nil
}

func newGroup(ctx context.Context, kind candidate.Kind, timing candidate.Timing, samples int) (
	*group, error) {
	lease := fmt.Sprintf("compare-%s-%d", kind, timing.Duration/time.Second)
	field, err := arena.Open(ctx, lease, timing, 0, kind, kind, kind)
	if err != nil {
		return nil, err
	}
	g := &group{kind: kind, field: field, samples: samples, rows: map[string]*row{}}
	for _, c := range field.Candidates {
		if err := c.Start(c.NextIdentity()); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// tell prints a line for each event, and a column for each kind at each timing.
func tell(groups []*group) {
	fmt.Printf("%-58s", "median / worst of so many, in ms")
	for _, g := range groups {
		fmt.Printf("%20s", fmt.Sprintf("%s %d s", g.kind, g.field.Timing.Duration/time.Second))
	}
	fmt.Println()
	for _, event := range events {
		fmt.Printf("%-58s", event)
		for _, g := range groups {
			fmt.Printf("%20s", g.rows[event])
		}
		fmt.Println()
	}
	half, most, worst := groups[0].field.Noise.Quantiles()
	fmt.Printf("the machine itself: a sleep of 20 ms ended late by %v (half of all), %v (99 of 100), "+
		"%v (worst)\n", half, most, worst)
}
