package memory

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/holds"
)

// sweepGap is the minimum time between two sweeps, so that many holds expiring in quick succession do not each cause a
// wake-up.
const sweepGap = 2 * time.Millisecond

const never = time.Duration(math.MaxInt64)

// wakeUp is the next time at which the sweeper wakes up. Only the sweeper itself sets it to a later time.
type wakeUp struct {
	at     atomic.Int64 // time.Duration on the monotonic clock
	signal chan struct{}
}

func (a *wakeUp) open() {
	a.at.Store(int64(never))
	a.signal = make(chan struct{}, 1)
}

// notLater wakes the sweeper at t or earlier.
func (a *wakeUp) notLater(t time.Duration) {
	for {
		at := a.at.Load()
		if at <= int64(t) {
			return
		}
		if a.at.CompareAndSwap(at, int64(t)) {
			break
		}
	}
	select {
	case a.signal <- struct{}{}:
	default:
	}
}

// sweep ends expired holds and selections on time if no other call has ended them. It runs until Close.
func (b *Backend) sweep() {
	timer := time.NewTimer(never)
	defer timer.Stop()
	for {
		select {
		case <-b.done:
			return
		case <-timer.C:
		case <-b.wake.signal:
		}
		now := b.clock.now().mono
		if at := time.Duration(b.wake.at.Load()); at > now {
			timer.Reset(at - now)
			continue
		}
		// Deadlines set from here on schedule their own wake-up; this sweep finds the earlier ones.
		b.wake.at.Store(int64(never))
		next := b.sweepOnce()
		b.wake.notLater(max(next, b.clock.now().mono+sweepGap))
	}
}

// sweepOnce ends all expired holds and selections and returns the next deadline. It publishes all ends before it cleans
// up the chains, so that the last of many events is not late.
func (b *Backend) sweepOnce() (next time.Duration) {
	next = b.selections.sweep()
	var gone [][]*record
	for i := range b.shards {
		s := &b.shards[i]
		s.enter()
		next = min(next, s.deadlines.next())
		b.doubts.add(s.doubtful)
		if len(s.gone) > 0 {
			gone = append(gone, s.gone)
		}
		s.gone, s.doubtful = nil, nil
		s.Unlock()
	}
	for _, some := range gone {
		for _, r := range some {
			r.own.Lock()
			r.own.drop(r)
			r.own.Unlock()
		}
	}
	return next
}

// doubts contains the in-doubt holds: those that were pinned when they expired. Only the database can show whether
// their bookings were written.
type doubts struct {
	mu    sync.Mutex
	holds []holds.Hold
	some  chan struct{}
}

func (d *doubts) open() { d.some = make(chan struct{}, 1) }

func (d *doubts) add(list []holds.Hold) {
	if len(list) == 0 {
		return
	}
	d.mu.Lock()
	d.holds = append(d.holds, list...)
	d.mu.Unlock()
	select {
	case d.some <- struct{}{}:
	default:
	}
}

func (d *doubts) take() []holds.Hold {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := d.holds
	d.holds = nil
	return list
}

// resolve asks whether in-doubt holds were booked and publishes how they ended. It is separate from the sweep because
// that can take a long time.
func (b *Backend) resolve() {
	for {
		select {
		case <-b.done:
			return
		case <-b.doubts.some:
		}
		for _, h := range b.doubts.take() {
			if b.closed.Load() {
				return
			}
			kind, reason := holds.EventRelease, holds.ReasonExpired
			if b.booked(h) {
				kind, reason = holds.EventConfirm, ""
			}
			b.log.Hold(kind, reason, b.clock.now().wall, &h)
		}
	}
}
