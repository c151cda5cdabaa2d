package memory

import (
	"sync/atomic"
	"time"
)

// clock tells both times at once. It reads the cheap monotonic one every time and the wall clock once a second, so a step
// of the wall clock shows within that, and only in what people are told.
type clock struct {
	began time.Time
	zero  atomic.Int64 // what the wall clock shows at monotonic 0, in Unix nanoseconds
	read  atomic.Int64 // when the wall clock was last read, on the monotonic one
}

// instant is one moment: the monotonic time decides, the wall clock is for people.
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

// at is what the wall clock will show at a monotonic time, if nobody sets it until then.
func (i instant) at(mono time.Duration) time.Time { return i.wall.Add(mono - i.mono) }
