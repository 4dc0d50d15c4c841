// One lease handed on between candidates of all kinds, in every direction, by release and by
// kill -9. Status 1: something was wrong.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"kubelease.test/cluster/arena"
	"kubelease.test/cluster/candidate"
	"kubelease.test/cluster/clock"
	"kubelease.test/cluster/judge"
)

var rounds = flag.Int("rounds", 1, "hand-overs of each kind in each direction")

var timing = candidate.Timing{
	Duration: 3 * time.Second, Deadline: 2 * time.Second, Period: 500 * time.Millisecond,
}

var kinds = []candidate.Kind{
	candidate.Put, candidate.Watch, candidate.Patch, candidate.C, candidate.ClientGo,
}

// handOver is one, from the leader of then to another.
type handOver struct {
	from, to int // of kinds
	killed   bool
	took     time.Duration
}

func main() {
	flag.Parse()
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "interop:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	field, err := arena.Open(ctx, "interop", timing, 0, kinds...)
	if err != nil {
		return err
	}
	defer field.Close()
	first := field.Candidates[0]
	if err := first.Start(first.NextIdentity()); err != nil {
		return err
	}
	if err := field.AwaitHolder(first); err != nil {
		return err
	}
	if err := dress(ctx, field); err != nil {
		return err
	}
	plan := circuit(len(kinds), *rounds)
	for i := range plan {
		if err := play(field, &plan[i]); err != nil {
			return fmt.Errorf("hand-over %d, %s to %s: %w", i, kinds[plan[i].from], kinds[plan[i].to],
				err)
		}
	}
	tell(plan)
	return judgeAll(field, len(plan))
}

// dress gives the lease all that others may have put there.
func dress(ctx context.Context, field *arena.Arena) error {
	if _, err := field.Outsider.Mark(ctx, "interop"); err != nil {
		return err
	}
	version, err := field.Outsider.Patch(ctx, map[string]any{
		"metadata": map[string]any{"finalizers": []string{"example.com/keep"}},
	})
	if err != nil {
		return err
	}
	return arena.Await("news of that", time.Second, func() bool {
		return field.History.Last().Version >= version
	})
}

// play starts the next leader, waits until it has seen the present one, and ends that.
func play(field *arena.Arena, over *handOver) error {
	from, to := field.Candidates[over.from], field.Candidates[over.to]
	if err := to.Start(to.NextIdentity()); err != nil {
		return err
	}
	err := arena.Await(to.Identity()+" that has read the record of "+from.Identity(), 10*time.Second,
		func() bool { return arena.HasSeen(to, from.Identity()) })
	if err != nil {
		return err
	}
	begun := clock.Now()
	if over.killed {
		from.Kill()
	} else if err := from.Terminate(10 * time.Second); err != nil {
		return err
	}
	if err := field.AwaitHolder(to); err != nil {
		return err
	}
	started, err := arena.AwaitFirstTick(to, begun)
	over.took = started - begun
	return err
}

// circuit passes each direction so many times by each kind, and begins and ends at 0.
func circuit(nodes, rounds int) []handOver {
	left := make([][]handOver, nodes)
	for from := range nodes {
		for step := 1; step < nodes; step++ {
			for range rounds {
				to := (from + step) % nodes
				left[from] = append(left[from], handOver{from: from, to: to},
					handOver{from: from, to: to, killed: true})
			}
		}
	}
	// Hierholzer: where no way leads on, the last steps of the circuit are known.
	var path, way []handOver
	for at := 0; ; {
		if count := len(left[at]); count > 0 {
			next := left[at][count-1]
			left[at] = left[at][:count-1]
			way = append(way, next)
			at = next.to
		} else if len(way) > 0 {
			last := way[len(way)-1]
			way = way[:len(way)-1]
			path = append(path, last)
			at = last.from
		} else {
			slices.Reverse(path)
			return path
		}
	}
}

func tell(plan []handOver) {
	for _, killed := range []bool{false, true} {
		how := "SIGTERM"
		if killed {
			how = "kill -9"
		}
		fmt.Printf("%d hand-overs by %s, from the signal to the first work of the next; count, median "+
			"and worst in ms\n%-12s", len(plan)/2, how, "from \\ to")
		for _, kind := range kinds {
			fmt.Printf("%18s", kind)
		}
		fmt.Println()
		for from, kind := range kinds {
			fmt.Printf("%-12s", kind)
			for to := range kinds {
				fmt.Printf("%18s", cell(plan, from, to, killed))
			}
			fmt.Println()
		}
	}
}

func cell(plan []handOver, from, to int, killed bool) string {
	var took []int64
	for _, over := range plan {
		if over.from == from && over.to == to && over.killed == killed {
			took = append(took, over.took.Milliseconds())
		}
	}
	if took == nil {
		return "-"
	}
	slices.Sort(took)
	return fmt.Sprintf("%d: %d %d", len(took), took[(len(took)-1)/2], took[len(took)-1])
}

// judgeAll holds every version of the lease and every belief against the rules.
func judgeAll(field *arena.Arena, handOvers int) error {
	run, err := field.Run()
	if err != nil {
		return err
	}
	run.Edits = outside(run)
	report := judge.Judge(run)
	var wrong []string
	for _, violation := range report.Violations {
		wrong = append(wrong, violation.What)
	}
	for _, overlap := range report.Overlaps {
		wrong = append(wrong, "overlap: "+overlap.String())
	}
	last := run.Records[len(run.Records)-1]
	if int(last.Transitions) != handOvers {
		wrong = append(wrong, fmt.Sprintf("%d transitions for %d hand-overs", last.Transitions,
			handOvers))
	}
	hasAll := last.Labels["example.com/team"] == "edge" &&
		last.Annotations["example.com/text"] != "" && len(last.Owners) == 1 && len(last.Finalizers) == 1
	if !hasAll || !slices.Contains(last.Managers, "outsider") {
		wrong = append(wrong, fmt.Sprintf("metadata was lost: %+v", last))
	}
	fmt.Printf("%d versions of the lease, %d transitions, %d overlaps; labels, annotations, owner, "+
		"finalizer and managed fields of others in each\n", len(run.Records), last.Transitions,
		len(report.Overlaps))
	if wrong != nil {
		return fmt.Errorf("%s", strings.Join(wrong, "\n"))
	}
	return nil
}

// outside are the two edits at the begin: the only changes that left the election alone.
func outside(run *judge.Run) []judge.Edit {
	var edits []judge.Edit
	for i := 1; i < len(run.Records) && len(edits) < 2; i++ {
		record := &run.Records[i]
		if record.Same(&run.Records[i-1]) {
			edits = append(edits, judge.Edit{
				Kind: "label", From: record.At, To: record.At, Version: record.Version,
			})
		}
	}
	return edits
}
