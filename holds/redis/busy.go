package redis

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/holds"
)

const (
	daySeconds  = 24 * 60 * 60
	keepDays    = 3   // from a day's midnight: that day and two more
	marksAtOnce = 200 // the maximum number of bitmaps in one call
)

// Change numbers that mark.lua treats specially.
const (
	clearNumber  = 0  // clear the ticks, whichever change was applied last
	forgetNumber = -1 // delete the bitmap
)

// mark is one change to one bitmap.
type mark struct {
	key        string
	number     int64 // of the change, or one of the constants above
	clear, set holds.Ticks
	expirySecs int64
}

// marks contains the bitmap changes that are not in Redis yet, in feed order.
type marks struct {
	mu      sync.Mutex
	waiting []mark

	unwritten atomic.Int64  // waiting, or part of the call in progress
	turn      chan struct{} // holds one value while a call is in progress
	some      chan struct{} // holds one value when writeMarks must check again
}

func (m *marks) open() { m.turn, m.some = make(chan struct{}, 1), make(chan struct{}, 1) }

// FollowBusy implements holds.Busy. Redis receives only changes from the feed. An appointment that a node reads when it
// starts is stored only in that node's memory: a bit in Redis could outlast a cancellation that another node has
// already applied.
func (b *Backend) FollowBusy(_ context.Context, change int64, freed, taken holds.Booked) error {
	if change <= 0 {
		return b.alive()
	}
	return b.enqueue(append(
		marksOf(change, freed.SpecialistID, freed.Ticks(), holds.Ticks{}),
		marksOf(change, taken.SpecialistID, holds.Ticks{}, taken.Ticks())...))
}

// ClearBusy implements holds.Busy.
func (b *Backend) ClearBusy(_ context.Context, specialistID string, from, to time.Time) error {
	return b.enqueue(marksOf(clearNumber, specialistID, holds.TicksTouching(from, to), holds.Ticks{}))
}

// marksOf returns one mark for each day of the ticks. One of the two tick runs is empty.
func marksOf(number int64, specialistID string, clear, set holds.Ticks) (list []mark) {
	add := func(day int64, clear, set holds.Ticks) {
		list = append(list, mark{busyKey(specialistID, day), number, clear, set, (day + keepDays) * daySeconds})
	}
	clear.Days(func(day int64, within holds.Ticks) { add(day, within, holds.Ticks{}) })
	set.Days(func(day int64, within holds.Ticks) { add(day, holds.Ticks{}, within) })
	return list
}

func busyKey(specialistID string, day int64) string {
	return "availability:" + specialistID + ":" + time.Unix(day*daySeconds, 0).UTC().Format(time.DateOnly)
}

func (b *Backend) alive() error {
	if b.closed.Load() {
		return holds.ErrClosed
	}
	return nil
}

func (b *Backend) enqueue(list []mark) error {
	if err := b.alive(); err != nil || len(list) == 0 {
		return err
	}
	b.marks.mu.Lock()
	b.marks.unwritten.Add(int64(len(list)))
	b.marks.waiting = append(b.marks.waiting, list...)
	b.marks.mu.Unlock()
	select {
	case b.marks.some <- struct{}{}:
	default:
	}
	return nil
}

// writeMarks writes the marks that no call is waiting for, until Close.
func (b *Backend) writeMarks() {
	for {
		select {
		case <-b.done.Done():
			return
		case <-b.marks.some:
			if err := b.settleMarks(b.done); err != nil && b.alive() == nil {
				b.logger.Debug("failed to write booked time to Redis; the affected bitmaps will be deleted",
					"error", err)
			}
		}
	}
}

// settleMarks returns when Redis has every mark that was enqueued before the call. If Redis is unavailable, a later
// call deletes the affected bitmaps: a missing bit is harmless, but a wrong bit is not.
func (b *Backend) settleMarks(ctx context.Context) error {
	if b.marks.unwritten.Load() == 0 {
		return nil
	}
	select {
	case b.marks.turn <- struct{}{}:
		defer func() { <-b.marks.turn }()
	case <-ctx.Done():
		return b.translate(ctx.Err())
	}
	b.marks.mu.Lock()
	list := b.marks.waiting
	b.marks.waiting = nil
	b.marks.mu.Unlock()
	for len(list) > 0 {
		some := list[:min(len(list), marksAtOnce)]
		if err := b.writeSome(context.WithoutCancel(ctx), some); err != nil {
			b.forgetLater(list)
			return err
		}
		b.marks.unwritten.Add(-int64(len(some)))
		list = list[len(some):]
	}
	return nil
}

func (b *Backend) writeSome(ctx context.Context, some []mark) error {
	keys, args := make([]string, len(some)), make([]any, 0, 6*len(some))
	for i, m := range some {
		keys[i] = m.key
		args = append(args, m.number, m.clear.First, m.clear.End, m.set.First, m.set.End, m.expirySecs)
	}
	_, err := b.run(ctx, markScript, keys, args...)
	return err
}

// forgetLater enqueues the deletion of the bitmaps whose marks may not have been written, each once, before the next
// mark.
func (b *Backend) forgetLater(list []mark) {
	known := make(map[string]bool, len(list))
	var forget []mark
	for _, m := range list {
		if !known[m.key] {
			known[m.key] = true
			forget = append(forget, mark{key: m.key, number: forgetNumber})
		}
	}
	b.marks.mu.Lock()
	defer b.marks.mu.Unlock()
	b.marks.waiting = append(forget, b.marks.waiting...)
	b.marks.unwritten.Add(int64(len(forget) - len(list)))
}

// checkedTicks returns the bitmaps of a claim, and the ticks that it checks in each, in the format of claim.lua.
func checkedTicks(c *holds.Claim) (keys []string, ticks string) {
	own := c.Moves()
	var lists []string
	c.Ticks().Days(func(day int64, within holds.Ticks) {
		keys = append(keys, busyKey(c.SpecialistID, day))
		var list []byte
		for tick := within.First; tick < within.End; tick++ {
			if !among(own, day*holds.BusyTicksOfDay+tick) {
				list = append(strconv.AppendInt(list, tick, 10), ' ')
			}
		}
		lists = append(lists, string(list))
	})
	return keys, strings.Join(lists, ",")
}

func among(runs []holds.Ticks, tick int64) bool {
	for _, t := range runs {
		if t.First <= tick && tick < t.End {
			return true
		}
	}
	return false
}
