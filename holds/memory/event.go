package memory

import (
	"context"
	"slices"
	"sync"

	"holdfast/holds"
)

// pageSize is how many events a page has, and so how many Next hands out at most.
const pageSize = 256

// mostSparePages bounds what is kept after a rush; a page is about 88 KB.
const mostSparePages = 8

type page [pageSize]holds.Event

// log is the stream of events. A number is given and the event written down in one short step, so the numbers have no
// gap and the order is theirs.
//
// The events lie once, in pages, for all watchers; a watch is only a place among them. A page goes when everybody is past
// it or when the pages reach their limit, and then whoever still needed it is slow. An event that was written never
// changes, so it is read without the lock. While nobody watches nothing is written at all.
type log struct {
	epoch string
	limit int // of pages

	mu      sync.Mutex
	closed  bool
	seq     uint64 // of the last event
	first   uint64 // the number of the first event on the first page
	pages   []*page
	spare   []*page // used up, for the pages to come
	watches []*watch            // all of them
	all     []*watch            // those that follow every specialist
	about   map[string][]*watch // those that follow this one
}

func (l *log) open(epoch string, queue int) {
	if queue <= 0 {
		queue = defaultWatchQueue
	}
	l.epoch = epoch
	l.limit = max(2, (queue+pageSize-1)/pageSize+1) // the page being written is not a full one
	l.first = 1
	l.about = make(map[string][]*watch)
}

// hold publishes a change of a hold, or its end.
func (l *log) hold(kind holds.EventKind, reason holds.Reason, now instant, h *holds.Hold) {
	l.mu.Lock()
	l.seq++
	if len(l.watches) > 0 {
		e := l.slot()
		*e = holds.Event{Kind: kind, Seq: l.seq, At: now.wall, HoldID: h.ID, Span: h.Span, ExpiresAt: h.ExpiresAt,
			Client: h.Client, Reason: reason}
		l.wake(e)
	}
	l.mu.Unlock()
}

// publish is hold for every other event; it sets the number.
func (l *log) publish(e *holds.Event) {
	l.mu.Lock()
	l.seq++
	if len(l.watches) > 0 {
		slot := l.slot()
		*slot = *e
		slot.Seq = l.seq
		l.wake(slot)
	}
	l.mu.Unlock()
}

// slot is where the event numbered l.seq is written.
func (l *log) slot() *holds.Event {
	i := l.seq - l.first
	if i == uint64(len(l.pages))*pageSize {
		l.turn()
		i = l.seq - l.first
	}
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
		if old := l.shift(); len(l.spare) < mostSparePages {
			l.spare = append(l.spare, old)
		}
	}
	// Somebody may be reading this one, so it is not used again.
	if len(l.pages) == l.limit {
		l.shift()
	}
	if n := len(l.spare); n > 0 {
		l.pages, l.spare = append(l.pages, l.spare[n-1]), l.spare[:n-1]
		return
	}
	l.pages = append(l.pages, new(page))
}

func (l *log) shift() *page {
	old := l.pages[0]
	l.pages = slices.Delete(l.pages, 0, 1)
	l.first += pageSize
	return old
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

func (l *log) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for _, w := range l.watches {
		w.wake(l.seq + 1)
		w.gone = true
	}
	l.watches, l.all, l.about = nil, nil, nil
	l.pages, l.spare = nil, nil
}

// Epoch implements holds.Table.
func (b *Backend) Epoch() string { return b.log.epoch }

// Publish implements holds.Table.
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

// Watch implements holds.Table.
func (b *Backend) Watch(_ context.Context, specialistIDs ...string) (holds.Watch, error) {
	l := &b.log
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, holds.ErrClosed
	}
	if len(l.watches) == 0 {
		l.first = l.seq + 1
	}
	w := &watch{log: l, next: l.seq + 1, ring: make(chan struct{}, 1)}
	l.watches = append(l.watches, w)
	if len(specialistIDs) == 0 {
		l.all = append(l.all, w)
		return w, nil
	}
	w.about = make(map[string]bool, len(specialistIDs))
	for _, id := range specialistIDs {
		if !w.about[id] {
			w.about[id] = true
			l.about[id] = append(l.about[id], w)
		}
	}
	return w, nil
}

// watch is one place in the log.
type watch struct {
	log   *log
	about map[string]bool // nil follows everybody
	ring  chan struct{}
	read  uint64 // what the reader has behind it; its own

	// Under the log's lock:
	next    uint64 // the first event still needed
	waiting bool   // for something that concerns it; until then it needs nothing
	gone    bool
}

// wake ends the wait of a watch that everything before seq did not concern.
func (w *watch) wake(seq uint64) {
	if !w.waiting {
		return
	}
	w.waiting, w.next = false, seq
	select {
	case w.ring <- struct{}{}:
	default:
	}
}

// Next implements holds.Watch.
func (w *watch) Next(ctx context.Context, buf []holds.Event) ([]holds.Event, error) {
	buf = buf[:0]
	for {
		if err := ctx.Err(); err != nil {
			return buf, err
		}
		events, err := w.ready()
		if err != nil {
			return buf, err
		}
		if len(events) == 0 {
			select {
			case <-w.ring:
			case <-ctx.Done():
			}
			continue
		}
		if w.about == nil {
			buf = append(buf, events...)
		} else {
			for i := range events {
				if id := events[i].SpecialistID; id == "" || w.about[id] {
					buf = append(buf, events[i])
				}
			}
		}
		if len(buf) > 0 {
			return buf, nil
		}
	}
}

// ready returns the events from the watch's place to the end of their page; if there are none, the watch waits.
func (w *watch) ready() ([]holds.Event, error) {
	l := w.log
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.waiting {
		w.waiting, w.next = false, l.seq+1
	}
	w.next = max(w.next, w.read)
	switch {
	case w.gone || l.closed:
		return nil, holds.ErrClosed
	case w.next > l.seq:
		w.waiting = true
		return nil, nil
	case w.next < l.first:
		return nil, holds.ErrSlow
	}
	i := w.next - l.first
	page := l.pages[i/pageSize]
	from := i % pageSize
	to := min(pageSize, from+l.seq+1-w.next)
	w.read = w.next + to - from
	return page[from:to], nil
}

// Close implements holds.Watch.
func (w *watch) Close() {
	l := w.log
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.gone {
		return
	}
	w.gone = true
	w.waiting = false
	l.watches = without(l.watches, w)
	if w.about == nil {
		l.all = without(l.all, w)
	}
	for id := range w.about {
		if l.about[id] = without(l.about[id], w); len(l.about[id]) == 0 {
			delete(l.about, id)
		}
	}
	if len(l.watches) == 0 {
		l.pages, l.spare = nil, nil
	}
}

func without(list []*watch, w *watch) []*watch {
	i := slices.Index(list, w)
	return slices.Delete(list, i, i+1)
}
