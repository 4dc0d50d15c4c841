package judge

import (
	"fmt"
	"slices"
	"time"

	"kubelease.test/cluster/candidate"
)

// Violation is a rule of ours that was broken.
type Violation struct {
	At   time.Duration
	What string
}

// Report is what there is to say about a run.
type Report struct {
	Violations []Violation
	// Beliefs of ours after an outside edit, within what is promised, by its cause; and work of
	// ours after SIGCONT that there was no time to hold back.
	edited afters
	wakes  wakes

	Overlaps        []Overlap
	Gaps            []Gap
	Leaderless      time.Duration
	Judged          time.Duration
	Transitions     int
	Created         int
	Released        int
	WipedByClientGo int
	Early           []time.Duration // takeovers by client-go
	Terms           map[candidate.Kind]int
}

// Judge judges a run.
func Judge(r *Run) *Report {
	r.findEdits()
	report := &Report{edited: afters{}, Terms: map[candidate.Kind]int{}}
	r.belief(report)
	r.records(report)
	r.overlaps(report)
	r.gaps(report)
	for i := range r.Lives {
		report.Terms[r.Lives[i].Kind] += len(r.Lives[i].Spans())
	}
	slices.SortStableFunc(report.Violations, func(a, b Violation) int { return int(a.At - b.At) })
	return report
}

func (report *Report) violate(at time.Duration, format string, values ...any) {
	report.Violations = append(report.Violations, Violation{at, fmt.Sprintf(format, values...)})
}

// Lines are the whole report, for people.
func (report *Report) Lines() []string {
	lines := []string{fmt.Sprintf("terms %v, %d transitions, %d releases, lease created %d times",
		report.Terms, report.Transitions, report.Released, report.Created)}
	lines = append(lines, fmt.Sprintf("without a leader: %.1f s of %.1f s; by what befell the "+
		"leader:", report.Leaderless.Seconds(), report.Judged.Seconds()))
	lines = append(lines, report.GapTable()...)
	lines = append(lines, report.overlapLines()...)
	lines = append(lines, report.edited.lines()...)
	lines = append(lines, "work of ours after SIGCONT beyond the lease: "+report.wakes.String())
	var early time.Duration
	for _, by := range report.Early {
		early = max(early, by)
	}
	return append(lines,
		fmt.Sprintf("leases of others wiped by client-go: %d; takeovers by client-go before the lease "+
			"ran out: %d, by %s at most", report.WipedByClientGo, len(report.Early), ms(early)),
		fmt.Sprintf("violations: %d", len(report.Violations)))
}

func (report *Report) overlapLines() []string {
	var edited, woke, other time.Duration
	lines := []string{""}
	for _, overlap := range report.Overlaps {
		length := overlap.To - overlap.From
		switch {
		case !overlap.Ours:
			lines = append(lines, "  "+overlap.String())
		case overlap.Excuse == woken:
			woke += length
		case overlap.Excuse != "":
			edited += length
		default:
			other += length
			lines = append(lines, "  "+overlap.String())
		}
	}
	lines[0] = fmt.Sprintf("overlap among ours: %s; after outside edits: %s; after SIGCONT: %s; with "+
		"client-go:", ms(other), ms(edited), ms(woke))
	return lines
}

// afters are how long ours believed after a change from outside, by cause and by change.
type afters map[string]map[string]time.Duration

func (a afters) add(cause string, life *Life, version int64, after time.Duration) {
	if a[cause] == nil {
		a[cause] = map[string]time.Duration{}
	}
	key := fmt.Sprint(life.Identity, version)
	a[cause][key] = max(a[cause][key], after)
}

func (a afters) lines() []string {
	var lines []string
	for cause, changes := range a {
		var all []time.Duration
		for _, after := range changes {
			all = append(all, after)
		}
		slices.Sort(all)
		lines = append(lines, fmt.Sprintf("ours believed after %s: %d times, median %s, worst %s", cause,
			len(all), ms(all[len(all)/2]), ms(all[len(all)-1])))
	}
	slices.Sort(lines)
	return lines
}

// wakes are ticks that came just after SIGCONT.
type wakes struct {
	ticks int
	worst time.Duration
	by    map[candidate.Kind]int
}

func (w *wakes) add(life *Life, after time.Duration) {
	if w.by == nil {
		w.by = map[candidate.Kind]int{}
	}
	w.ticks++
	w.by[life.Kind]++
	w.worst = max(w.worst, after)
}

func (w *wakes) String() string {
	return fmt.Sprintf("%d times, at most %.1f ms after it %v", w.ticks,
		float64(w.worst.Microseconds())/1000, w.by)
}
