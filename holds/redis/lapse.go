package redis

import (
	"sync"
	"time"

	"holdfast/holds"
)

const (
	sweepEvery = time.Second          // without any event, for what was never heard of
	sweepGap   = 2 * time.Millisecond // the least time between two sweeps
	sweepMost  = 256                  // ended by one sweep; Redis serves nobody else meanwhile
	doubtLease = 5 * time.Second      // to ask whether a hold was booked, before another node does
)

// wakeUp is when the next sweep is due.
type wakeUp struct {
	mu     sync.Mutex
	at     time.Time
	signal chan struct{}
}

func (w *wakeUp) open() { w.signal = make(chan struct{}, 1) }

// notLater sees that a sweep comes at t or before.
func (w *wakeUp) notLater(t time.Time) {
	w.mu.Lock()
	earlier := t.Before(w.at)
	if earlier {
		w.at = t
	}
	w.mu.Unlock()
	if earlier {
		select {
		case w.signal <- struct{}{}:
		default:
		}
	}
}

// set begins a wait until t.
func (w *wakeUp) set(t time.Time) {
	w.mu.Lock()
	w.at = t
	w.mu.Unlock()
}

func (w *wakeUp) left() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Until(w.at)
}

// expect sees that a sweep comes when what an event tells of lapses. It reckons with durations, since the clocks of Redis and
// of this node may differ.
func (b *Backend) expect(e *holds.Event) {
	switch e.Kind {
	case holds.EventHold, holds.EventHeartbeat:
		b.wake.notLater(time.Now().Add(e.ExpiresAt.Sub(e.At)))
	case holds.EventSelect:
		b.wake.notLater(time.Now().Add(holds.SelectionTTL))
	}
}

// sweep ends what lapses, whichever node it was made on. It runs until Close.
func (b *Backend) sweep() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-b.done.Done():
			return
		case <-b.wake.signal:
		case <-timer.C:
		}
		if left := b.wake.left(); left > 0 {
			timer.Reset(left)
			continue
		}
		// What is heard of from here on sets the wake-up itself; what was before is found by the sweep.
		b.wake.set(time.Now().Add(sweepEvery))
		if next := b.sweepOnce(); next >= 0 {
			b.wake.notLater(time.Now().Add(max(next, sweepGap)))
		}
		timer.Reset(b.wake.left())
	}
}

// sweepOnce ends what has lapsed and returns how long the next is away; less than 0 if nobody knows.
func (b *Backend) sweepOnce() time.Duration {
	take := sweepMost
	if b.doubts.inHand() { // one whose answer takes long must be free for another node when its lease is over
		take = 0
	}
	reply, err := b.run(b.done, sweepScript, []string{deadlinesKey, selectionsKey, doubtsKey}, sweepMost, milliseconds(doubtLease), take,
		b.booked != nil)
	if err != nil || len(reply) == 0 {
		return -1
	}
	b.doubts.add(reply[1:])
	return time.Duration(number(reply, 0)) * time.Millisecond
}

// doubts are the pinned holds that lapsed and that this node was given to ask about. It takes no more until it has asked
// about all of them.
type doubts struct {
	mu    sync.Mutex
	list  []string
	busy  bool
	given chan struct{}
}

func (d *doubts) open() { d.given = make(chan struct{}, 1) }

func (d *doubts) inHand() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.busy
}

func (d *doubts) add(list []any) {
	if len(list) == 0 {
		return
	}
	d.mu.Lock()
	d.busy = true
	for i := range list {
		d.list = append(d.list, text(list, i))
	}
	d.mu.Unlock()
	select {
	case d.given <- struct{}{}:
	default:
	}
}

func (d *doubts) take() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := d.list
	d.list = nil
	return list
}

func (d *doubts) done() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.busy = len(d.list) > 0
}

// resolve asks about doubts and publishes how they ended. It is apart from the sweep because asking may take long.
func (b *Backend) resolve() {
	for {
		select {
		case <-b.done.Done():
			return
		case <-b.doubts.given:
		}
		for _, doubt := range b.doubts.take() {
			if b.done.Err() != nil {
				return
			}
			b.resolveOne(doubt)
		}
		b.doubts.done()
		b.wake.notLater(time.Now()) // there may be more
	}
}

// resolveOne publishes the end of one hold. If that fails, a sweep gives it to somebody again.
func (b *Backend) resolveOne(doubt string) {
	kind, reason := holds.EventRelease, holds.ReasonExpired
	h, err := readDoubt(doubt)
	if err == nil && b.booked != nil && b.booked(h) {
		kind, reason = holds.EventConfirm, ""
	}
	if _, err := b.run(b.done, resolveScript, []string{doubtsKey}, doubt, string(kind), string(reason)); err != nil {
		b.logger.Warn("the end of a hold is not published yet", "error", err)
	}
}
