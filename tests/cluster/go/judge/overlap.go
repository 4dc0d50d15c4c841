package judge

import (
	"fmt"
	"slices"
	"time"
)

// Overlap is a time in which two believed.
type Overlap struct {
	From, To time.Duration
	One, Two string // identities
	Ours     bool   // both are
	// Stale is whom the lease did not name then. Excuse: an outside edit had taken it away, or the
	// stale one worked just after SIGCONT, which nothing can hold back.
	Stale  string
	Excuse string
}

const woken = "woken"

func (o Overlap) String() string {
	return fmt.Sprintf("%s and %s for %s; stale: %s %s", o.One, o.Two, ms(o.To-o.From), o.Stale,
		o.Excuse)
}

// overlaps finds all pairs. Each that is not of our making has a cause in the history.
func (r *Run) overlaps(report *Report) {
	spans := r.spans()
	for i, one := range spans {
		for _, two := range spans[i+1:] {
			if two.From >= one.To {
				break
			}
			if one.Life.Name == two.Life.Name {
				continue
			}
			overlap := r.overlap(one, two)
			report.Overlaps = append(report.Overlaps, overlap)
			isLong := overlap.To-overlap.From > r.slack(overlap.From)
			if overlap.Ours && overlap.Excuse == "" && isLong && overlap.From >= r.Since {
				report.violate(overlap.From, "two of ours believe: %s", overlap)
			}
		}
	}
}

func (r *Run) overlap(one, two Span) Overlap {
	overlap := Overlap{
		From: two.From, To: min(one.To, two.To),
		One: one.Life.Identity, Two: two.Life.Identity,
		Ours: one.Life.Kind.IsOurs() && two.Life.Kind.IsOurs(),
	}
	// The one that began first, unless the lease still names it.
	stale := one
	if count := r.until(overlap.To); count > 0 && r.Records[count-1].Holder == overlap.One {
		stale = two
	}
	overlap.Stale = stale.Life.Identity
	if loss := r.loss(overlap.Stale, overlap.To); loss != nil {
		overlap.Excuse = r.outside(loss)
	}
	if _, woke := r.wokenBefore(stale.Life, stale.To); woke {
		overlap.Excuse = woken
	}
	return overlap
}

// spans are those of all lives, in the order of their begin.
func (r *Run) spans() []Span {
	var spans []Span
	for i := range r.Lives {
		spans = append(spans, r.Lives[i].Spans()...)
	}
	slices.SortStableFunc(spans, func(a, b Span) int { return int(a.From - b.From) })
	return spans
}
