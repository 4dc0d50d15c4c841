package judge

import (
	"fmt"
	"slices"
	"time"

	"kubelease.test/cluster/history"
)

// After an outside edit a leader learns of it by its next write, which is refused, and the read
// after that. This is how long the two take at most where nothing disturbs them; where something
// does, only the end of the last renewal bounds belief.
const twoRequests = 200 * time.Millisecond

// belief holds each tick of ours against the lease's history.
func (r *Run) belief(report *Report) {
	for i := range r.Lives {
		life := &r.Lives[i]
		if !life.Kind.IsOurs() {
			continue
		}
		for _, tick := range life.Ticks {
			if r.Since <= tick && tick <= r.Until {
				r.tick(report, life, tick)
			}
		}
	}
}

func (r *Run) tick(report *Report, life *Life, tick time.Duration) {
	if since, woke := r.wokenBefore(life, tick); woke && !r.isLawful(life, tick) {
		report.wakes.add(life, tick-since)
		return
	}
	slack := r.slack(tick)
	renewed := r.lastRenewal(life.Identity, tick+slack)
	if renewed == nil {
		report.violate(tick, "%s believes and never held the lease", life.Identity)
		return
	}
	if end := renewed.At + r.Timing.Deadline; tick > end+slack {
		report.violate(tick, "%s believes %s after the end of its last renewal, version %d",
			life.Identity, ms(tick-end), renewed.Version)
		return
	}
	if r.isHolder(life.Identity, tick) {
		return
	}
	loss := r.loss(life.Identity, tick)
	if loss == nil {
		report.violate(tick, "%s believes and does not hold the lease", life.Identity)
		return
	}
	cause := r.outside(loss)
	if cause == "" {
		report.violate(tick, "%s believes %s after it lost the lease to %q, version %d",
			life.Identity, ms(tick-loss.At), loss.Holder, loss.Version)
		return
	}
	end := loss.At + r.Timing.Period + twoRequests + slack
	if tick > end && !r.isDisturbed(life, loss.At-r.Timing.Timeout(), tick) {
		report.violate(tick, "%s believes %s after its lease was changed from outside (%s)",
			life.Identity, ms(tick-loss.At), cause)
		return
	}
	report.edited.add(cause, life, loss.Version, tick-loss.At)
}

// wokenBefore says whether a tick is one that a process had no time to hold back: it comes just
// after SIGCONT. And how long ago that was.
func (r *Run) wokenBefore(life *Life, tick time.Duration) (time.Duration, bool) {
	for _, fault := range r.Faults {
		stopped := fault.Kind == "stop" || fault.Kind == "nap"
		if stopped && fault.Target == life.Name && fault.To != 0 && tick >= fault.To &&
			tick <= fault.To+r.slack(tick) {
			return fault.To, true
		}
	}
	return 0, false
}

// isLawful says whether nothing is wrong with a tick, stopped or not.
func (r *Run) isLawful(life *Life, tick time.Duration) bool {
	renewed := r.lastRenewal(life.Identity, tick)
	return renewed != nil && tick <= renewed.At+r.Timing.Deadline && r.isHolder(life.Identity, tick)
}

// isDisturbed says whether a fault can have hindered a life's requests in a time.
func (r *Run) isDisturbed(life *Life, from, to time.Duration) bool {
	return slices.ContainsFunc(r.Faults, func(fault Fault) bool {
		concerns := fault.Target == life.Name || fault.Target == ""
		return concerns && fault.From <= to && (fault.To == 0 || fault.To >= from)
	})
}

// until is the index after the last record that may have been there at a moment.
func (r *Run) until(at time.Duration) int {
	count, _ := slices.BinarySearchFunc(r.Records, at, func(record history.Record,
		at time.Duration) int {
		if record.At <= at {
			return -1
		}
		return 1
	})
	return count
}

// lastRenewal is the last record before a moment that this identity wrote.
func (r *Run) lastRenewal(identity string, at time.Duration) *history.Record {
	for i := r.until(at) - 1; i >= 0; i-- {
		record := &r.Records[i]
		isNew := i == 0 || !record.Same(&r.Records[i-1])
		if !record.Deleted && record.Holder == identity && isNew && r.edit(record) == nil {
			return record
		}
	}
	return nil
}

// isHolder says whether the lease may have named this identity at a moment: news of a record comes
// a little after it was written.
func (r *Run) isHolder(identity string, at time.Duration) bool {
	slack := r.slack(at)
	for i := r.until(at+slack) - 1; i >= 0; i-- {
		record := &r.Records[i]
		if !record.Deleted && record.Holder == identity {
			return true
		}
		if record.At < at-slack {
			return false
		}
	}
	return false
}

// loss is the last record before a moment that took the lease from this identity.
func (r *Run) loss(identity string, at time.Duration) *history.Record {
	for i := r.until(at) - 1; i > 0; i-- {
		before, record := &r.Records[i-1], &r.Records[i]
		had := !before.Deleted && before.Holder == identity
		has := !record.Deleted && record.Holder == identity
		if had && !has {
			return record
		}
	}
	return nil
}

// outside says which outside edit a record is; "": none.
func (r *Run) outside(record *history.Record) string {
	if edit := r.edit(record); edit != nil {
		return edit.Kind
	}
	if !record.Deleted && record.Holder == "" && record.Writer == writerOfClientGo {
		return "wiped by client-go"
	}
	return ""
}

func ms(d time.Duration) string { return fmt.Sprintf("%d ms", d.Milliseconds()) }
