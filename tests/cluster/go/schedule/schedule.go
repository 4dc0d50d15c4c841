// Package schedule plans what goes wrong and when, from a seed alone.
package schedule

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"kubelease.test/cluster/proxy"
)

// Kind is one kind of fault.
type Kind string

// All kinds but those of the cable, which are the modes of a proxy.
const (
	Kill   Kind = "kill"   // kill -9 of a candidate; it comes back after a while
	Rename Kind = "rename" // the same, and it comes back by another name
	Term   Kind = "term"   // SIGTERM; it comes back after a while
	Stop   Kind = "stop"   // SIGSTOP for longer than a lease lasts
	Nap    Kind = "nap"    // SIGSTOP for less
	Revoke Kind = "revoke" // its RoleBinding is taken away, and given back

	Label  Kind = "label"  // somebody sets labels and annotations
	Steal  Kind = "steal"  // somebody writes another's name as the holder
	Clear  Kind = "clear"  // somebody removes the holder
	Delete Kind = "delete" // somebody deletes the lease

	APIKill  Kind = "api-kill"  // kill -9 of the API server, and a new start
	APITerm  Kind = "api-term"  // SIGTERM, and a new start
	APIStop  Kind = "api-stop"  // SIGSTOP
	EtcdStop Kind = "etcd-stop" // SIGSTOP of etcd
)

var (
	cables = []proxy.Mode{
		proxy.Cut, proxy.Hole, proxy.Unheard, proxy.Reset, proxy.Slow, proxy.Laggard,
	}
	ofCandidates = []Kind{Kill, Rename, Term, Stop, Nap, Revoke}
	ofOutsiders  = []Kind{Label, Steal, Clear, Delete}
	ofServers    = []Kind{APIStop, EtcdStop, APIKill, EtcdStop, APITerm}
)

// Leader stands for whoever holds the lease when the step begins.
const Leader = -1

// Step is one thing that goes wrong.
type Step struct {
	At   time.Duration // from the begin of the run
	Kind Kind
	// Target is the number of a candidate, or Leader; of no meaning for outsiders and servers.
	Target int
	For    time.Duration // 0: it is over at once
}

func (s Step) String() string {
	target := ""
	if s.Kind.IsOfCandidate() {
		target = " leader"
		if s.Target != Leader {
			target = fmt.Sprintf(" candidate-%d", s.Target)
		}
	}
	return fmt.Sprintf("%9.3f s  %s%s for %.3f s", s.At.Seconds(), s.Kind, target, s.For.Seconds())
}

// IsOfCandidate says whether it befalls one candidate.
func (k Kind) IsOfCandidate() bool {
	return !slices.Contains(ofOutsiders, k) && !k.IsOfServer()
}

// IsOfServer says whether it befalls the API server or etcd.
func (k Kind) IsOfServer() bool { return slices.Contains(ofServers, k) }

// IsOfProcess says whether the process itself is killed, ended or stopped.
func (k Kind) IsOfProcess() bool { return slices.Contains(ofCandidates, k) && k != Revoke }

// Quiet is how long nothing begins or goes on at the end: then there has to be a leader again.
func Quiet(lease time.Duration) time.Duration { return 5 * lease }

// Plan is the same for the same seed, length, number of candidates and lease duration. Every kind
// occurs before any occurs again.
func Plan(seed uint64, length time.Duration, candidates int, lease time.Duration) []Step {
	p := &planner{rand.New(rand.NewPCG(seed, 0)), lease, candidates}
	end := length - Quiet(lease)
	all := slices.Clone(ofCandidates)
	for _, cable := range cables {
		all = append(all, Kind(cable))
	}
	steps := p.stream(all, lease, lease, 0, end)
	steps = append(steps, p.stream(ofOutsiders, lease, 6*lease, 0, end)...)
	steps = append(steps, p.servers(8*lease, end)...)
	slices.SortStableFunc(steps, func(a, b Step) int { return int(a.At - b.At) })
	return steps
}

type planner struct {
	random     *rand.Rand
	lease      time.Duration
	candidates int
}

// stream is one fault after another, each kind in its turn; they may overlap.
func (p *planner) stream(kinds []Kind, least, spread, from, end time.Duration) []Step {
	var steps []Step
	bag := newBag(p.random, kinds)
	for at := from + p.upTo(spread); at < end; at += least/2 + p.upTo(spread) {
		step := Step{At: at, Kind: bag.next(), Target: p.target()}
		if step.Kind.IsOfCandidate() {
			step.For = min(p.length(step.Kind), end-at)
		}
		steps = append(steps, step)
	}
	return steps
}

// servers is one fault after another, with time to recover from each.
func (p *planner) servers(from, end time.Duration) []Step {
	var steps []Step
	bag := newBag(p.random, ofServers)
	for at := from; at < end-4*p.lease; at += 8*p.lease + p.upTo(6*p.lease) {
		steps = append(steps, Step{At: at, Kind: bag.next(), For: p.lease/4 + p.upTo(2*p.lease)})
	}
	return steps
}

func (p *planner) target() int {
	if p.random.IntN(5) < 3 {
		return Leader
	}
	return p.random.IntN(p.candidates)
}

func (p *planner) length(kind Kind) time.Duration {
	switch kind {
	case Stop:
		return p.lease*5/4 + p.upTo(p.lease)
	case Nap:
		return p.upTo(p.lease * 3 / 4)
	default:
		return p.lease/4 + p.upTo(2*p.lease)
	}
}

func (p *planner) upTo(most time.Duration) time.Duration {
	return time.Duration(p.random.Int64N(int64(most))).Truncate(time.Millisecond)
}

// bag gives all kinds in some order, then all in another.
type bag struct {
	random *rand.Rand
	kinds  []Kind
	left   []Kind
}

func newBag(random *rand.Rand, kinds []Kind) *bag { return &bag{random: random, kinds: kinds} }

func (b *bag) next() Kind {
	if len(b.left) == 0 {
		b.left = slices.Clone(b.kinds)
		b.random.Shuffle(len(b.left), func(i, j int) { b.left[i], b.left[j] = b.left[j], b.left[i] })
	}
	kind := b.left[0]
	b.left = b.left[1:]
	return kind
}
