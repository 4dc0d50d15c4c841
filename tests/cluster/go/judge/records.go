package judge

import (
	"maps"
	"slices"
	"strings"
	"time"

	"kubelease.test/cluster/history"
)

// records holds each change of the lease against the one before.
func (r *Run) records(report *Report) {
	for i := 1; i < len(r.Records); i++ {
		before, record := &r.Records[i-1], &r.Records[i]
		if record.At < r.Since || record.At > r.Until {
			continue
		}
		edit := r.edit(record)
		switch {
		case record.Deleted:
			if edit == nil {
				report.violate(record.At, "the lease was deleted, and not from outside")
			}
		case before.Deleted:
			report.Created++
			// client-go's next renewal makes the lease again, with all that it had.
			if record.Writer != writerOfClientGo {
				r.transitions(report, nil, record)
			}
		case edit == nil:
			r.kept(report, before, record)
			r.transitions(report, before, record)
			r.handOver(report, before, record)
		}
	}
}

// kept checks that a write of a candidate left alone what is not its own.
func (r *Run) kept(report *Report, before, record *history.Record) {
	var lost []string
	if !maps.Equal(before.Labels, record.Labels) {
		lost = append(lost, "labels")
	}
	if !maps.Equal(before.Annotations, record.Annotations) {
		lost = append(lost, "annotations")
	}
	if !slices.Equal(before.Owners, record.Owners) {
		lost = append(lost, "owner references")
	}
	if !slices.Equal(before.Finalizers, record.Finalizers) {
		lost = append(lost, "finalizers")
	}
	if before.UID != record.UID {
		lost = append(lost, "uid")
	}
	if slices.Contains(before.Managers, "outsider") && !slices.Contains(record.Managers, "outsider") {
		lost = append(lost, "managed fields")
	}
	if lost != nil {
		report.violate(record.At, "version %d, written by %s, lost %s", record.Version,
			record.Writer, strings.Join(lost, ", "))
	}
}

// transitions counts every change of holder, and nothing else.
func (r *Run) transitions(report *Report, before, record *history.Record) {
	expected := int32(0)
	if before != nil {
		expected = before.Transitions
		if record.Holder != "" && record.Holder != before.Holder {
			expected++
			report.Transitions++
		}
	}
	if record.Transitions != expected {
		report.violate(record.At, "version %d has %d transitions, expected %d", record.Version,
			record.Transitions, expected)
	}
}

// handOver checks who may take or free the lease of whom.
func (r *Run) handOver(report *Report, before, record *history.Record) {
	if before.Holder == "" || before.Holder == record.Holder {
		return
	}
	ours := record.Writer != writerOfClientGo
	if record.Holder == "" {
		r.release(report, before, record, ours)
		return
	}
	// Before the record was written its writer had seen the old one for as long as that lasts.
	written := before.At
	for i := r.until(before.At) - 1; i > 0 && r.Records[i].Same(&r.Records[i-1]); i-- {
		written = r.Records[i-1].At
	}
	lasts := time.Duration(before.Seconds) * time.Second
	early := written + lasts - record.At
	if early <= 0 {
		return
	}
	if !ours {
		report.Early = append(report.Early, early)
	} else if early > r.slack(record.At)+r.slack(written) {
		report.violate(record.At, "%s took the lease of %s %s early, version %d", record.Holder,
			before.Holder, ms(early), record.Version)
	}
}

// release is right where the holder was told to end, and by its own kind.
func (r *Run) release(report *Report, before, record *history.Record, ours bool) {
	for i := range r.Lives {
		life := &r.Lives[i]
		if life.Identity == before.Holder && life.Terminated != 0 && life.Terminated <= record.At &&
			life.Kind.IsOurs() == ours {
			report.Released++
			return
		}
	}
	if ours {
		report.violate(record.At, "%s, of ours, wiped the lease of %q, version %d", record.Writer,
			before.Holder, record.Version)
		return
	}
	if !r.isOfClientGo(before.Holder) {
		report.WipedByClientGo++
	}
}

func (r *Run) isOfClientGo(identity string) bool {
	return slices.ContainsFunc(r.Lives, func(life Life) bool {
		return life.Identity == identity && !life.Kind.IsOurs()
	})
}
