package schedule

import (
	"slices"
	"testing"
	"time"
)

const (
	lease  = 3 * time.Second
	length = 240 * time.Second
)

func TestASeedGivesOnePlanAndAnotherAnother(t *testing.T) {
	one, again := Plan(1, length, 5, lease), Plan(1, length, 5, lease)
	if !slices.Equal(one, again) {
		t.Fatal("two plans of one seed differ")
	}
	if slices.Equal(one, Plan(2, length, 5, lease)) {
		t.Fatal("two seeds give one plan")
	}
}

func TestEveryKindOccursInFourMinutes(t *testing.T) {
	all := slices.Concat(ofCandidates, ofOutsiders, ofServers)
	for _, cable := range cables {
		all = append(all, Kind(cable))
	}
	for seed := range uint64(200) {
		steps := Plan(seed, length, 5, lease)
		for _, kind := range all {
			if !slices.ContainsFunc(steps, func(s Step) bool { return s.Kind == kind }) {
				t.Fatalf("no %s in the plan of seed %d", kind, seed)
			}
		}
	}
}

func TestAtTheEndThereIsQuiet(t *testing.T) {
	for seed := range uint64(200) {
		for _, step := range Plan(seed, length, 5, lease) {
			if step.At < 0 || step.At+step.For > length-Quiet(lease) {
				t.Fatalf("seed %d: %s", seed, step)
			}
		}
	}
}

func TestServersRecoverBeforeTheirNextFault(t *testing.T) {
	for seed := range uint64(200) {
		var over time.Duration
		for _, step := range Plan(seed, length, 5, lease) {
			if !step.Kind.IsOfServer() {
				continue
			}
			if step.At < over+lease {
				t.Fatalf("seed %d: %s", seed, step)
			}
			over = step.At + step.For
		}
	}
}

func TestAStopOutlivesTheLeaseAndANapDoesNot(t *testing.T) {
	for seed := range uint64(200) {
		for _, step := range Plan(seed, length, 5, lease) {
			early := step.At < length-Quiet(lease)-3*lease
			if early && step.Kind == Stop && step.For <= lease {
				t.Fatalf("seed %d: %s", seed, step)
			}
			if step.Kind == Nap && step.For >= lease {
				t.Fatalf("seed %d: %s", seed, step)
			}
		}
	}
}
