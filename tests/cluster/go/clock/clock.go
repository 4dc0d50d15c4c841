// Package clock is the one clock of all logs: CLOCK_BOOTTIME, which every process of a machine
// shares and nobody sets.
package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

// Now is the time since boot.
func Now() time.Duration {
	return time.Duration(read(unix.CLOCK_BOOTTIME))
}

// FromWall says when, by the boot clock, the civil clock showed a time, if nobody has set it since.
func FromWall(wall time.Time) time.Duration {
	return time.Duration(wall.UnixNano() - read(unix.CLOCK_REALTIME) + read(unix.CLOCK_BOOTTIME))
}

func read(id int32) int64 {
	var now unix.Timespec
	// It fails only where there is no such clock.
	_ = unix.ClockGettime(id, &now)
	return now.Nano()
}
