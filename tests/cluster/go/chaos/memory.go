package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"kubelease.test/cluster/candidate"
)

// memory watches how much of it our processes use.
type memory struct {
	mutex sync.Mutex
	kinds map[candidate.Kind][]int64 // kilobytes, each second
	alive []int64                    // those of the one that is never killed
}

func watchMemory(ctx context.Context, candidates []*candidate.Candidate) *memory {
	m := &memory{kinds: map[candidate.Kind][]int64{}}
	go func() {
		for ctx.Err() == nil {
			time.Sleep(time.Second)
			for i, c := range candidates {
				m.note(c, i == survivor)
			}
		}
	}()
	return m
}

func (m *memory) note(c *candidate.Candidate, survives bool) {
	var size, resident int64
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", c.Process()))
	if err != nil || c.Kind == candidate.Liar {
		return
	}
	if _, err := fmt.Sscan(string(text), &size, &resident); err != nil {
		return
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	kilobytes := resident * int64(os.Getpagesize()) / 1024
	m.kinds[c.Kind] = append(m.kinds[c.Kind], kilobytes)
	if survives {
		m.alive = append(m.alive, kilobytes)
	}
}

// lines say how much each kind used, and whether the one that lived on grew.
func (m *memory) lines() []string {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	var lines []string
	for kind, sizes := range m.kinds {
		slices.Sort(sizes)
		lines = append(lines, fmt.Sprintf("memory of %s: median %d KB, most %d KB", kind,
			sizes[len(sizes)/2], sizes[len(sizes)-1]))
	}
	slices.Sort(lines)
	if count := len(m.alive); count > 0 {
		lines = append(lines, fmt.Sprintf("memory of the one that was never killed, at a tenth, half "+
			"and the end of its time: %d, %d, %d KB", m.alive[count/10], m.alive[count/2], m.alive[count-1]))
	}
	return lines
}
