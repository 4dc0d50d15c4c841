// Package noise measures how late the machine itself is: no claim can be finer than that.
package noise

import (
	"context"
	"slices"
	"sync"
	"time"

	"kubelease.test/cluster/clock"
)

const (
	sleep = 20 * time.Millisecond
	// Worth keeping: shorter lateness is within every tolerance.
	floor = 2 * time.Millisecond
)

// Late is one sleep that ended late.
type Late struct{ At, By time.Duration }

// Meter sleeps again and again.
type Meter struct {
	mutex  sync.Mutex
	lates  []Late
	sleeps int
}

// Start begins to measure.
func Start(ctx context.Context) *Meter {
	m := new(Meter)
	go func() {
		for ctx.Err() == nil {
			begun := clock.Now()
			time.Sleep(sleep)
			m.note(Late{clock.Now(), clock.Now() - begun - sleep})
		}
	}()
	return m
}

// Lates are the sleeps that ended notably late.
func (m *Meter) Lates() []Late {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return slices.Clone(m.lates)
}

// Quantiles are how late a sleep ended: in half of all cases at most, in 99 of 100, ever.
func (m *Meter) Quantiles() (half, most, worst time.Duration) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	by := make([]time.Duration, m.sleeps)
	for i, late := range m.lates {
		by[i] = late.By
	}
	if len(by) == 0 {
		return 0, 0, 0
	}
	slices.Sort(by)
	return max(by[len(by)/2], 0), by[len(by)*99/100], by[len(by)-1]
}

func (m *Meter) note(late Late) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.sleeps++
	if late.By > floor {
		m.lates = append(m.lates, late)
	}
}

// Around is the worst lateness within a second of a moment.
func Around(lates []Late, at time.Duration) time.Duration {
	from, _ := slices.BinarySearchFunc(lates, at-time.Second, func(late Late, at time.Duration) int {
		return int(late.At - at)
	})
	var worst time.Duration
	for _, late := range lates[from:] {
		if late.At-late.By > at+time.Second {
			break
		}
		worst = max(worst, late.By)
	}
	return worst
}
