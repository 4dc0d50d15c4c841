// Package log writes what a candidate does: one unbuffered line a write, by the boot clock.
package log

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// How often a believer says so.
const tick = 10 * time.Millisecond

var path = flag.String("log", "/dev/stdout", "`FILE` to append to")

// Log is an open log.
type Log struct{ file *os.File }

// Open opens the file named by --log.
func Open() *Log {
	file, err := os.OpenFile(*path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	return &Log{file}
}

// Line writes microseconds of CLOCK_BOOTTIME and a text.
func (l *Log) Line(format string, values ...any) {
	var now unix.Timespec
	// It fails only where there is no such clock.
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &now)
	line := fmt.Sprintf("%d %s\n", now.Nano()/1000, fmt.Sprintf(format, values...))
	if _, err := l.file.WriteString(line); err != nil {
		// A candidate without a log proves nothing.
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

// Believe writes a line each 10 ms until the context ends.
func (l *Log) Believe(ctx context.Context) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for ctx.Err() == nil {
		l.Line("leads")
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}
