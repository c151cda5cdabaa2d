package memory

import (
	"context"
	"slices"
	"sync"

	"holdfast/holds"
)

const (
	// pageSize is how many events a page has, and so how many Next hands out at most.
	pageSize = 256
	// mostSpare bounds the pages kept after a rush; one is about 88 KB.
	mostSpare = 8
)

// page is a run of events. One that was written never changes, so it is read without the lock.
type page [pageSize]holds.Event

// log is the stream of events. A number is given and the event written down in one short step under the lock, so the
// numbers have no gap and the order is theirs.
//
// An event is written once, for all watchers; a watch is only a place among the pages. A page goes when everybody is past
// it, or when there are too many, and whoever still needed that one is slow. While nobody watches, nothing is written.
type log struct {
	epoch string
	limit int // of pages

	mu      sync.Mutex
	closed  bool
	seq     uint64 // of the last event
	first   uint64 // the number of the first event of pages[0]
	pages   []*page
	spare   []*page             // read by everybody, for the events to come
	watches []*watch            // all of them
	all     []*watch            // those of every specialist
	about   map[string][]*watch // those of this one
}

func (l *log) open(epoch string, queue int) {
	if queue <= 0 {
		queue = defaultWatchQueue
	}
	l.epoch = epoch
	l.limit = (queue+pageSize-1)/pageSize + 1 // one is being written
	l.about = make(map[string][]*watch)
}

// hold publishes a change of a hold, or its end.
func (l *log) hold(kind holds.EventKind, reason holds.Reason, now instant, h *holds.Hold) {
	l.mu.Lock()
	l.write(kind, reason, now, h)
	l.mu.Unlock()
}

// lapsed publishes the end of many holds at once: one by one they would contend for the lock with every claim.
func (l *log) lapsed(now instant, ended []*record) {
	l.mu.Lock()
	for _, r := range ended {
		l.write(holds.EventRelease, holds.ReasonExpired, now, &r.Hold)
	}
	l.mu.Unlock()
}

func (l *log) write(kind holds.EventKind, reason holds.Reason, now instant, h *holds.Hold) {
	l.seq++
	if len(l.watches) > 0 {
		e := l.next()
		*e = holds.Event{Kind: kind, Seq: l.seq, At: now.wall, HoldID: h.ID, Span: h.Span, ExpiresAt: h.ExpiresAt,
			Owner: h.Owner, Reason: reason}
		l.wake(e)
	}
}

// publish publishes any other event, with a number of its own.
func (l *log) publish(event *holds.Event) {
	l.mu.Lock()
	l.seq++
	if len(l.watches) > 0 {
		e := l.next()
		*e = *event
		e.Seq = l.seq
		l.wake(e)
	}
	l.mu.Unlock()
}

// next is where the event numbered l.seq is written.
func (l *log) next() *holds.Event {
	if l.seq-l.first == uint64(len(l.pages))*pageSize {
		l.turn()
	}
	i := l.seq - l.first
	return &l.pages[i/pageSize][i%pageSize]
}

// turn adds a page, after it dropped those that nobody needs and, at the limit, one that somebody does.
func (l *log) turn() {
	needed := l.seq
	for _, w := range l.watches {
		if !w.waiting && w.next >= l.first {
			needed = min(needed, w.next)
		}
	}
	for len(l.pages) > 0 && l.first+pageSize <= needed {
		if read := l.drop(); len(l.spare) < mostSpare {
			l.spare = append(l.spare, read)
		}
	}
	if len(l.pages) == l.limit {
		l.drop() // and not to be written again: somebody may be reading it
	}
	if n := len(l.spare); n > 0 {
		l.pages, l.spare = append(l.pages, l.spare[n-1]), l.spare[:n-1]
		return
	}
	l.pages = append(l.pages, new(page))
}

func (l *log) drop() *page {
	oldest := l.pages[0]
	l.pages = slices.Delete(l.pages, 0, 1)
	l.first += pageSize
	return oldest
}

// wake tells those who wait for an event like this one. An event that names no specialist concerns everybody.
func (l *log) wake(e *holds.Event) {
	if e.SpecialistID == "" {
		for _, w := range l.watches {
			w.wake(e.Seq)
		}
		return
	}
	for _, w := range l.all {
		w.wake(e.Seq)
	}
	for _, w := range l.about[e.SpecialistID] {
		w.wake(e.Seq)
	}
}

func (l *log) watching() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.watches)
}

// close ends every watch.
func (l *log) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for _, w := range l.watches {
		w.wake(l.seq + 1)
		w.closed = true
	}
	l.watches, l.all, l.about = nil, nil, nil
	l.pages, l.spare = nil, nil
}

// Epoch implements holds.Table.
func (b *Backend) Epoch() string { return b.log.epoch }

// Publish implements holds.Table. An event without an instant gets that of the call.
func (b *Backend) Publish(_ context.Context, e holds.Event) error {
	if b.closed.Load() {
		return holds.ErrClosed
	}
	if e.At.IsZero() {
		e.At = b.clock.now().wall
	}
	b.log.publish(&e)
	return nil
}
