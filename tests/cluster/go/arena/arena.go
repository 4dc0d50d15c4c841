// Package arena sets an election up: a cluster, a lease, candidates behind their cables, and those
// who look on.
package arena

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kubelease.test/cluster/candidate"
	"kubelease.test/cluster/clock"
	"kubelease.test/cluster/cluster"
	"kubelease.test/cluster/history"
	"kubelease.test/cluster/judge"
	"kubelease.test/cluster/noise"
)

var (
	folder   = flag.String("cluster", "", "`FOLDER` of the running cluster")
	logs     = flag.String("logs", "", "`FOLDER` for the candidates' logs")
	programs candidate.Programs
)

func init() {
	flag.StringVar(&programs.Candidate, "candidate", "", "`PROGRAM` that is our candidate")
	flag.StringVar(&programs.LeaderCurl, "leader-curl", "", "`PROGRAM` that is examples/c/leader_curl")
	flag.StringVar(&programs.Elector, "elector", "", "`PROGRAM` that is client-go's candidate")
	flag.StringVar(&programs.Work, "work", "", "`PROGRAM` that leader_curl runs")
}

// Namespace of all leases here.
const Namespace = "default"

// Arena is one election.
type Arena struct {
	Cluster    *cluster.Cluster
	Lease      string
	Timing     candidate.Timing
	History    *history.History
	Outsider   *cluster.Outsider
	Candidates []*candidate.Candidate
	Noise      *noise.Meter
	Begun      time.Duration
	Logs       string
}

// Open makes the arena of a lease that nobody has used, with a candidate of each kind given; their
// names are candidate-0 and so on, from a first number on. None runs yet.
func Open(ctx context.Context, lease string, timing candidate.Timing, first int,
	kinds ...candidate.Kind) (*Arena, error) {
	where, err := cluster.Open(*folder)
	if err != nil {
		return nil, err
	}
	a := &Arena{Cluster: where, Lease: fmt.Sprintf("%s-%d", lease, os.Getpid()), Timing: timing}
	a.Logs = fmt.Sprintf("%s/%s", *logs, lease)
	err = errors.Join(os.RemoveAll(a.Logs), os.MkdirAll(a.Logs, 0o755))
	if err != nil {
		return nil, err
	}
	etcd, err := where.Etcd()
	if err != nil {
		return nil, err
	}
	if a.History, err = history.Watch(ctx, etcd, Namespace, a.Lease); err != nil {
		return nil, err
	}
	a.Outsider = where.Outsider(Namespace, a.Lease)
	a.Noise = noise.Start(ctx)
	a.Begun = clock.Now()
	for i, kind := range kinds {
		if err := a.add(ctx, fmt.Sprintf("candidate-%d", first+i), kind); err != nil {
			return nil, err
		}
	}
	return a, nil
}

func (a *Arena) add(ctx context.Context, name string, kind candidate.Kind) error {
	if err := a.Cluster.Grant(ctx, Namespace, name); err != nil {
		return err
	}
	fresh, err := candidate.New(candidate.Settings{
		Name: name, Kind: kind, Namespace: Namespace, Lease: a.Lease, Timing: a.Timing,
		Programs: programs, Cluster: a.Cluster, Logs: a.Logs,
	})
	a.Candidates = append(a.Candidates, fresh)
	return err
}

// Close ends all candidates, and deletes the lease.
func (a *Arena) Close() error {
	for _, c := range a.Candidates {
		c.Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	// One with finalizers would stay.
	_, err := a.Outsider.Patch(ctx, map[string]any{"metadata": map[string]any{"finalizers": nil}})
	if err == nil {
		err = a.Outsider.Delete(ctx)
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// Holder is the candidate that the lease names; nil: none of them.
func (a *Arena) Holder() *candidate.Candidate {
	holder := a.History.Last().Holder
	for _, c := range a.Candidates {
		if holder != "" && c.Identity() == holder {
			return c
		}
	}
	return nil
}

// Run is all that is known now.
func (a *Arena) Run() (*judge.Run, error) {
	run := &judge.Run{Timing: a.Timing, Lates: a.Noise.Lates(), Until: clock.Now()}
	var err error
	if run.Records, err = a.History.Records(); err != nil {
		return nil, fmt.Errorf("the history is not whole: %w", err)
	}
	for _, c := range a.Candidates {
		for _, life := range c.Lives() {
			ticks, err := judge.ReadTicks(life.Log)
			if err != nil {
				return nil, err
			}
			run.Lives = append(run.Lives, judge.Life{Life: life, Ticks: ticks})
		}
	}
	return run, nil
}

// Await waits until something is so; an error where it takes too long.
func Await(what string, most time.Duration, is func() bool) error {
	for end := time.Now().Add(most); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("no %s within %s", what, most)
		}
	}
	return nil
}
