// Package judge reads what a run left behind and says what was right and wrong in it.
package judge

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"kubelease.test/cluster/candidate"
	"kubelease.test/cluster/history"
	"kubelease.test/cluster/noise"
)

// Run is all that is known of a run. Times are those of the boot clock.
type Run struct {
	Timing  candidate.Timing
	Records []history.Record
	Lives   []Life
	Edits   []Edit
	Faults  []Fault
	Lates   []noise.Late
	// Since and Until bound what is held to be right or wrong.
	Since, Until time.Duration
	// QuietSince is when the last fault was over; 0: judge no liveness.
	QuietSince time.Duration

	edits map[int64]*Edit // by version
}

// Life is one life of a candidate, with the moments in which it believed that it leads.
type Life struct {
	candidate.Life
	Ticks []time.Duration
}

// Edit is a change of the lease from outside.
type Edit struct {
	Kind     string // label, steal, clear, delete
	From, To time.Duration
	// Version of the lease after it; 0: not known, as after a deletion, or no answer came. It may
	// have been done all the same, or be done yet.
	Version int64
}

// Fault is something that went wrong.
type Fault struct {
	Kind   string
	Target string // name of a candidate; empty: the servers or the lease
	From   time.Duration
	To     time.Duration // 0: it goes on
}

// ReadTicks reads the moments from a life's log. One that never worked has none.
func ReadTicks(path string) ([]time.Duration, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var ticks []time.Duration
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		at, what, _ := strings.Cut(lines.Text(), " ")
		if what != "leads" {
			continue
		}
		micros, err := strconv.ParseInt(at, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		ticks = append(ticks, time.Duration(micros)*time.Microsecond)
	}
	return ticks, lines.Err()
}

// Span is a time in which a life believed without a pause.
type Span struct {
	Life     *Life
	From, To time.Duration
}

// A pause longer than this between two ticks of 10 ms ends a span.
const pause = 100 * time.Millisecond

// Spans joins ticks.
func (l *Life) Spans() []Span {
	var spans []Span
	for _, tick := range l.Ticks {
		if last := len(spans) - 1; last >= 0 && tick-spans[last].To <= pause {
			spans[last].To = tick
		} else {
			spans = append(spans, Span{l, tick, tick})
		}
	}
	return spans
}

// slack is how far two logs may differ at a moment with nothing being wrong.
func (r *Run) slack(at time.Duration) time.Duration {
	const least = 30 * time.Millisecond
	return least + noise.Around(r.Lates, at)
}

// writerOfClientGo is the field manager of client-go's candidate: the name of its program.
const writerOfClientGo = "elector"

// An edit without an answer is done within this, or never: a request ends by then in the server.
const editEnds = 40 * time.Second

// findEdits finds out which records were written from outside.
func (r *Run) findEdits() {
	r.edits = map[int64]*Edit{}
	for i := range r.Edits {
		if edit := &r.Edits[i]; edit.Version != 0 {
			r.edits[edit.Version] = edit
		}
	}
	for i := range r.Edits {
		edit := &r.Edits[i]
		for at := r.until(edit.From); edit.Version == 0 && at < r.until(edit.From+editEnds); at++ {
			record := &r.Records[at]
			if at > 0 && r.edits[record.Version] == nil && edit.looksLike(&r.Records[at-1], record) {
				r.edits[record.Version] = edit
				break
			}
		}
	}
}

// looksLike says whether a change is of a kind that only outsiders make: every write of a candidate
// changes the renewTime.
func (e *Edit) looksLike(before, record *history.Record) bool {
	switch e.Kind {
	case "delete":
		return record.Deleted
	case "steal":
		return record.Holder == "thief" && before.Holder != "thief"
	case "clear":
		return !record.Deleted && record.Holder == "" && record.Renewed == before.Renewed
	default:
		return !record.Deleted && record.Same(before)
	}
}

// edit is the edit that wrote a record; nil: none did.
func (r *Run) edit(record *history.Record) *Edit { return r.edits[record.Version] }
