package judge

import (
	"slices"
	"strings"
	"testing"
	"time"

	"kubelease.test/cluster/candidate"
	"kubelease.test/cluster/history"
	"kubelease.test/cluster/noise"
)

// A made-up run of two candidates of ours, "a" and "b", and one of client-go, "g". Times are in
// milliseconds.
type story struct {
	run     Run
	version int64
}

var timing = candidate.Timing{
	Duration: 3 * time.Second, Deadline: 2 * time.Second, Period: 500 * time.Millisecond,
}

func tell() *story {
	s := &story{run: Run{Timing: timing, Until: at(100_000)}}
	for _, name := range []string{"a", "b", "g"} {
		kind := candidate.Put
		if name == "g" {
			kind = candidate.ClientGo
		}
		life := candidate.Life{Name: name, Identity: name, Kind: kind}
		s.run.Lives = append(s.run.Lives, Life{Life: life})
	}
	return s
}

func at(ms int) time.Duration { return time.Duration(ms) * time.Millisecond }

func (s *story) life(name string) *Life {
	i := slices.IndexFunc(s.run.Lives, func(l Life) bool { return l.Name == name })
	return &s.run.Lives[i]
}

// believes has a name believe, each 10 ms.
func (s *story) believes(name string, from, to int) *story {
	for t := from; t <= to; t += 10 {
		s.life(name).Ticks = append(s.life(name).Ticks, at(t))
	}
	return s
}

// record adds a state of the lease, its transitions counted right.
func (s *story) record(t int, holder string) *history.Record {
	s.version++
	record := history.Record{At: at(t), Version: s.version, UID: "u", Holder: holder, Seconds: 3,
		Renewed: int64(t), Writer: "kubelease"}
	if holder == "g" {
		record.Writer = writerOfClientGo
	}
	if count := len(s.run.Records); count > 0 {
		before := s.run.Records[count-1]
		record.Labels, record.Managers = before.Labels, before.Managers
		record.Transitions = before.Transitions
		if holder != "" && holder != before.Holder {
			record.Transitions++
		}
		if before.Deleted {
			record.Transitions = 0
		}
	}
	s.run.Records = append(s.run.Records, record)
	return &s.run.Records[len(s.run.Records)-1]
}

// holds has a name renew each half second.
func (s *story) holds(holder string, from, to int) *story {
	for t := from; t <= to; t += 500 {
		s.record(t, holder)
	}
	return s
}

// edit adds a state that somebody outside wrote.
func (s *story) edit(t int, kind, holder string) *history.Record {
	record := s.record(t, holder)
	record.Deleted = kind == "delete"
	edit := Edit{Kind: kind, From: at(t - 5), To: at(t + 5), Version: record.Version}
	if record.Deleted {
		edit.Version = 0
	}
	s.run.Edits = append(s.run.Edits, edit)
	return record
}

func (s *story) finds(t *testing.T, expected ...string) *Report {
	t.Helper()
	report := Judge(&s.run)
	var kinds []string
	for _, violation := range report.Violations {
		if len(kinds) == 0 || kinds[len(kinds)-1] != violation.What {
			kinds = append(kinds, violation.What)
		}
	}
	for i, want := range expected {
		if i >= len(kinds) || !strings.Contains(strings.Join(kinds, "\n"), want) {
			t.Fatalf("expected %q, found %q", want, kinds)
		}
	}
	if len(expected) == 0 && kinds != nil {
		t.Fatalf("expected no violation, found %q", kinds)
	}
	return report
}

func TestAQuietHandOverIsRight(t *testing.T) {
	s := tell().holds("a", 0, 1000).believes("a", 5, 1200)
	s.life("a").Terminated = at(1200)
	s.record(1210, "")
	s.holds("b", 1400, 3000).believes("b", 1405, 3200)
	report := s.finds(t)
	if report.Transitions != 1 || report.Released != 1 || len(report.Overlaps) != 0 {
		t.Fatal(report)
	}
	if len(report.Gaps) != 1 || report.Leaderless != at(210) {
		t.Fatal(report.Gaps, report.Leaderless)
	}
}

func TestBeliefBeyondTheLastRenewalIsFound(t *testing.T) {
	s := tell().holds("a", 0, 1000).believes("a", 5, 3020)
	s.finds(t)
	s.believes("a", 3030, 3100).finds(t, "after the end of its last renewal")
}

func TestBeliefAfterATakeoverIsFound(t *testing.T) {
	s := tell().holds("a", 0, 1000)
	s.holds("b", 2000, 3000).believes("a", 5, 2100)
	report := s.finds(t, "took the lease of a 2000 ms early", "after it lost the lease to \"b\"")
	if len(report.Overlaps) != 0 {
		t.Fatal("b did not believe")
	}
}

func TestAnOverlapIsMeasuredAndItsStaleSideNamed(t *testing.T) {
	s := tell().holds("a", 0, 1000).believes("a", 5, 2900)
	s.holds("g", 2500, 4000).believes("g", 2505, 4000)
	report := Judge(&s.run)
	if len(report.Overlaps) != 1 {
		t.Fatal(report.Overlaps)
	}
	overlap := report.Overlaps[0]
	if overlap.Stale != "a" || overlap.To-overlap.From != at(390) || overlap.Ours {
		t.Fatal(overlap)
	}
	if len(report.Early) != 1 || report.Early[0] != at(1500) {
		t.Fatal(report.Early)
	}
}

func TestAnOverlapOfOursIsAViolationUnlessItHasAnExcuse(t *testing.T) {
	s := tell().holds("a", 0, 1000).believes("a", 5, 3020)
	s.holds("b", 2500, 4000).believes("b", 2505, 4000)
	s.finds(t, "two of ours believe: a and b for 510 ms; stale: a")
	s = tell().holds("a", 0, 1000).believes("a", 5, 1000).believes("a", 6001, 6011)
	s.holds("b", 4001, 7000).believes("b", 4005, 7000)
	s.finds(t, "a believes 3001 ms after the end")
	s.run.Faults = []Fault{{"stop", "a", at(1000), at(6000)}}
	if report := s.finds(t); len(report.Overlaps) != 1 || report.Overlaps[0].Excuse != woken {
		t.Fatal(report.Overlaps)
	}
}

func TestAStaleClientGoIsNoViolation(t *testing.T) {
	s := tell().holds("g", 0, 1000).believes("g", 5, 6000)
	s.holds("a", 4100, 6000).believes("a", 4105, 6000)
	report := s.finds(t)
	if len(report.Overlaps) != 1 || report.Overlaps[0].Stale != "g" {
		t.Fatal(report.Overlaps)
	}
}

func TestBeliefWithoutALeaseIsFound(t *testing.T) {
	tell().holds("a", 0, 2000).believes("a", 5, 2000).believes("b", 1000, 1010).
		finds(t, "b believes and never held the lease")
}

func TestALiarIsFound(t *testing.T) {
	s := tell().holds("a", 0, 5000).believes("a", 5, 5000).believes("b", 0, 5000)
	s.life("b").Kind = candidate.Liar
	s.finds(t, "b believes and never held the lease")
}

func TestAfterAnOutsideEditBeliefMayGoOnForAPeriodAndTheRequests(t *testing.T) {
	for _, kind := range []string{"steal", "clear", "delete"} {
		holder := map[string]string{"steal": "thief"}[kind]
		s := tell().holds("a", 0, 3000).believes("a", 5, 3815)
		s.edit(3100, kind, holder)
		report := s.finds(t)
		if lines := report.edited.lines(); !strings.Contains(lines[0], kind+": 1 times, median 715") {
			t.Fatal(lines)
		}
		s.believes("a", 3835, 4995)
		s.finds(t, "735 ms after its lease was changed from outside ("+kind+")")
		// Until the end of its last renewal where it could not ask.
		s.run.Faults = []Fault{{"hole", "b", at(3000), 0}}
		s.finds(t, "735 ms after its lease was changed from outside ("+kind+")")
		s.run.Faults = []Fault{{"hole", "a", at(3000), 0}}
		s.finds(t)
		s.believes("a", 5035, 5035).finds(t, "after the end of its last renewal")
	}
}

func TestAnEditWithoutAnAnswerIsKnownByWhatItDoes(t *testing.T) {
	s := tell().holds("a", 0, 3000).believes("a", 5, 3600)
	record := s.edit(3100, "clear", "")
	record.Renewed, s.run.Edits[0].Version = 3000, 0
	s.finds(t)
	record.Renewed = 3100 // as a release
	s.finds(t, "wiped the lease of \"a\"", "after it lost the lease")
}

func TestADeletedLeaseMayBeMadeAgain(t *testing.T) {
	s := tell().holds("a", 0, 3000).believes("a", 5, 5000)
	s.edit(3100, "delete", "")
	s.record(3400, "a").UID = "v"
	s.holds("a", 3900, 5000)
	for i := range s.run.Records[8:] {
		s.run.Records[8+i].UID = "v"
	}
	if report := s.finds(t); report.Created != 1 {
		t.Fatal(report.Created)
	}
}

func TestADeletionByACandidateIsFound(t *testing.T) {
	s := tell().holds("a", 0, 1000)
	s.record(1100, "").Deleted = true
	s.finds(t, "not from outside")
}

func TestWorkJustAfterSigcontIsCountedApart(t *testing.T) {
	s := tell().holds("a", 0, 1000).believes("a", 5, 1200).believes("a", 8001, 8011)
	s.run.Faults = []Fault{{"stop", "a", at(1200), at(8000)}}
	report := s.finds(t)
	if report.wakes.ticks != 2 || report.wakes.worst != at(11) {
		t.Fatal(report.wakes)
	}
	s.believes("a", 8040, 8040).finds(t, "after the end of its last renewal")
}

func TestTheMachinesNoiseWidensWhatIsAllowed(t *testing.T) {
	s := tell().holds("a", 0, 1000).believes("a", 5, 3070)
	s.finds(t, "after the end of its last renewal")
	s.run.Lates = []noise.Late{{At: at(2500), By: at(50)}}
	s.finds(t)
	s.run.Lates = []noise.Late{{At: at(1500), By: at(50)}}
	s.finds(t, "after the end of its last renewal")
}

func TestLostMetadataIsFoundAndOutsideChangesAreNot(t *testing.T) {
	s := tell().holds("a", 0, 1000)
	record := s.edit(1100, "label", "a")
	record.Labels = map[string]string{"x": "y"}
	record.Managers = []string{"outsider"}
	s.holds("a", 1500, 2000).finds(t)
	s.record(2500, "a").Labels = nil
	s.record(3000, "a").Managers = nil
	s.finds(t, "lost labels", "lost managed fields")
}

func TestTransitionsCountEveryChangeOfHolder(t *testing.T) {
	s := tell().holds("a", 0, 1000)
	s.record(1500, "a").Transitions++
	s.finds(t, "has 1 transitions, expected 0")
	s = tell().holds("a", 0, 1000)
	s.record(5000, "b").Transitions--
	s.finds(t, "has 0 transitions, expected 1")
}

func TestALeaseThatOursMakeBeginsWithNoTransitions(t *testing.T) {
	for _, holder := range []string{"a", "g"} {
		s := tell().holds("a", 0, 1000)
		s.record(5000, holder)
		s.edit(5100, "delete", "")
		s.record(5200, holder).Transitions = 1
		if holder == "g" {
			s.finds(t)
		} else {
			s.finds(t, "has 1 transitions, expected 0")
		}
	}
}

func TestWipesAreCountedAndOursAreViolations(t *testing.T) {
	s := tell().holds("a", 0, 1000).believes("a", 5, 1600)
	s.record(1100, "").Writer = writerOfClientGo
	report := s.finds(t)
	if report.WipedByClientGo != 1 {
		t.Fatal(report.WipedByClientGo)
	}
	s = tell().holds("g", 0, 1000)
	s.record(1100, "")
	s.finds(t, "wiped the lease of \"g\"")
	s = tell().holds("a", 0, 1000)
	s.record(1100, "")
	s.finds(t, "wiped the lease of \"a\"")
}

func TestATakeoverOfOursComesNoSoonerThanTheLeaseEnds(t *testing.T) {
	s := tell().holds("a", 0, 1000)
	s.edit(1500, "label", "a").Renewed = 1000
	s.record(4001, "b")
	s.finds(t)
	s = tell().holds("a", 0, 1000)
	s.record(3900, "b")
	s.finds(t, "b took the lease of a 100 ms early")
}

func TestAfterTheLastFaultSomebodyHasToLead(t *testing.T) {
	s := tell().holds("a", 0, 1000).believes("a", 5, 1000)
	s.run.QuietSince = at(95_000)
	s.finds(t)
	s.run.QuietSince = at(80_000)
	s.finds(t, "nobody leads 20000 ms after the last fault")
}

func TestAGapHasItsCause(t *testing.T) {
	s := tell().holds("a", 0, 1000).believes("a", 5, 1200)
	s.holds("b", 4100, 5000).believes("b", 4105, 5000)
	for _, fault := range []Fault{
		{"kill", "a", at(1200), at(3000)}, {"api-stop", "", at(500), at(2500)},
	} {
		s.run.Faults = []Fault{{"hole", "b", at(1000), at(3000)}, fault}
		if gaps := s.finds(t).Gaps; len(gaps) != 1 || gaps[0].Cause != fault.Kind {
			t.Fatal(gaps)
		}
	}
	s.run.Faults = nil
	if gaps := s.finds(t).Gaps; gaps[0].Cause != "none" {
		t.Fatal(gaps)
	}
}
