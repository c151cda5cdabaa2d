package memory

import (
	"sync/atomic"
	"time"
)

// clock returns the monotonic and the wall time together. It reads the cheap monotonic clock every time and the wall
// clock once a second. So a jump of the wall clock shows within 1 s, and only in the displayed times.
type clock struct {
	began time.Time
	zero  atomic.Int64 // the wall clock at monotonic 0, in Unix nanoseconds
	read  atomic.Int64 // the monotonic time of the last read of the wall clock
}

// instant is one moment. All decisions use the monotonic time; the wall time is for display.
type instant struct {
	mono time.Duration // since the backend was opened
	wall time.Time     // UTC
}

func (c *clock) open() {
	c.began = time.Now()
	c.zero.Store(c.began.UnixNano())
}

func (c *clock) now() instant {
	mono := time.Since(c.began)
	if mono-time.Duration(c.read.Load()) >= time.Second {
		c.read.Store(int64(mono))
		t := time.Now()
		c.zero.Store(t.UnixNano() - int64(t.Sub(c.began)))
	}
	return instant{mono: mono, wall: time.Unix(0, c.zero.Load()+int64(mono)).UTC()}
}

// at returns the wall time at a monotonic time, provided that the wall clock is not set before then.
func (i instant) at(mono time.Duration) time.Time { return i.wall.Add(mono - i.mono) }
