package judge

import (
	"fmt"
	"slices"
	"time"
)

// Gap is a time in which nobody believed.
type Gap struct {
	From, To time.Duration
	// Cause is what befell the last leader, or all: "kill", "api-stop", ...; "none": nothing did.
	Cause string
}

// gaps finds the times without a leader, and how long each took.
func (r *Run) gaps(report *Report) {
	spans := r.spans()
	if len(spans) == 0 {
		r.alive(report, 0)
		return
	}
	last := spans[0]
	for _, span := range spans[1:] {
		// One that goes on was only kept from its processor.
		isPause := span.Life == last.Life && span.From-last.To < pause+r.slack(span.From)
		if span.From > last.To && !isPause {
			gap := Gap{last.To, span.From, r.cause(last, span.From)}
			report.Gaps = append(report.Gaps, gap)
			report.Leaderless += gap.To - gap.From
		}
		if span.To > last.To {
			last = span
		}
	}
	report.Judged = r.Until - spans[0].From
	r.alive(report, last.To)
}

// cause is what ended a span, or kept the next from its begin, if it is known: the servers' faults
// before edits from outside, and those before what befell the leader.
func (r *Run) cause(span Span, next time.Duration) string {
	found := "none"
	ended := span.To + r.slack(span.To)
	for _, fault := range r.Faults {
		isOver := fault.To != 0 && fault.To < span.To-r.Timing.Duration
		if fault.Target == "" && !isOver && fault.From <= next {
			return fault.Kind
		}
		if fault.Target == span.Life.Name && !isOver && fault.From <= ended {
			found = fault.Kind
		}
	}
	for _, edit := range r.Edits {
		if edit.Kind != "label" && edit.From <= ended && edit.To >= span.To-r.Timing.Duration {
			found = edit.Kind
		}
	}
	return found
}

// alive holds that after the last fault somebody leads again, and goes on to.
func (r *Run) alive(report *Report, lastTick time.Duration) {
	if r.QuietSince == 0 {
		return
	}
	// A lease runs out, a candidate that slowed down looks again, its write takes a moment.
	bound := r.QuietSince + 4*r.Timing.Duration
	if r.Until > bound && lastTick < r.Until-pause-r.slack(r.Until) {
		report.violate(r.Until, "nobody leads %s after the last fault", ms(r.Until-r.QuietSince))
	}
}

// GapTable has a line for each cause: count, median and worst.
func (report *Report) GapTable() []string {
	by := map[string][]time.Duration{}
	for _, gap := range report.Gaps {
		by[gap.Cause] = append(by[gap.Cause], gap.To-gap.From)
	}
	var lines []string
	for cause, gaps := range by {
		slices.Sort(gaps)
		lines = append(lines, fmt.Sprintf("%-12s %4d  median %5d ms  worst %6d ms", cause, len(gaps),
			gaps[(len(gaps)-1)/2].Milliseconds(), gaps[len(gaps)-1].Milliseconds()))
	}
	slices.Sort(lines)
	return lines
}
