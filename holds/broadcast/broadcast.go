// Package broadcast is the stream of events inside one process: every backend of the live state numbers and hands out its
// events with one Log.
//
// An event is written once, for all watchers; a watch is only a place among the pages. A page goes when everybody is past
// it, or when there are too many, and whoever still needed that one is slow. While nobody watches, nothing is written.
package broadcast

import (
	"iter"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"holdfast/holds"
)

const (
	// pageSize is how many events a page has, and so how many Next hands out at most.
	pageSize = 256
	// mostSpare bounds the pages kept after a rush; one is about 92 KB.
	mostSpare = 8

	defaultQueue = 65_536
)

// page is a run of events. One that was written never changes, so it is read without the lock.
type page [pageSize]holds.Event

// Log is the stream of events. A number is given and the event written down in one short step under the lock, so the
// numbers have no gap and the order is theirs. It is safe for concurrent use.
type Log struct {
	limit int // of pages

	mu      sync.Mutex
	epoch   string
	closed  bool
	seq     uint64 // of the last event
	first   uint64 // the number of the first event of pages[0]
	pages   []*page
	spare   []*page             // read by everybody, for the events to come
	watches []*watch            // all of them
	all     []*watch            // those of every specialist
	about   map[string][]*watch // those of this one
}

// New returns a log with an epoch of its own. A watcher can fall behind by queue events before it is cut off, rounded up to
// whole pages of 256; 0 means 65,536, which outlasts 100,000 holds lapsing at once. The memory is taken only while
// somebody is behind.
func New(queue int) *Log {
	if queue <= 0 {
		queue = defaultQueue
	}
	return &Log{
		epoch: newEpoch(),
		limit: (queue+pageSize-1)/pageSize + 1, // one is being written
		about: make(map[string][]*watch),
	}
}

// newEpoch is short, since it is a part of every event's id on the wire, and has no dash in it.
func newEpoch() string {
	return strconv.FormatInt(time.Now().UnixMilli(), 36) + strconv.FormatUint(rand.Uint64()>>32, 36)
}

// Epoch names this run of the numbering. It is another one after Break.
func (l *Log) Epoch() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.epoch
}

// Hold publishes a change of a hold, or its end.
func (l *Log) Hold(kind holds.EventKind, reason holds.Reason, at time.Time, h *holds.Hold) {
	l.mu.Lock()
	l.write(kind, reason, at, h)
	l.mu.Unlock()
}

// Lapsed publishes the end of many holds at once: one by one they would contend for the lock with every claim.
func (l *Log) Lapsed(at time.Time, ended iter.Seq[*holds.Hold]) {
	l.mu.Lock()
	for h := range ended {
		l.write(holds.EventRelease, holds.ReasonExpired, at, h)
	}
	l.mu.Unlock()
}

func (l *Log) write(kind holds.EventKind, reason holds.Reason, at time.Time, h *holds.Hold) {
	l.seq++
	if len(l.watches) > 0 {
		e := l.next()
		*e = holds.Event{Kind: kind, Seq: l.seq, At: at, HoldID: h.ID, Span: h.Span, Resources: h.Resources, ExpiresAt: h.ExpiresAt,
			Owner: h.Owner, Reason: reason}
		l.wake(e)
	}
}

// Publish publishes any other event, with a number of its own.
func (l *Log) Publish(event *holds.Event) {
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
func (l *Log) next() *holds.Event {
	if l.seq-l.first == uint64(len(l.pages))*pageSize {
		l.turn()
	}
	i := l.seq - l.first
	return &l.pages[i/pageSize][i%pageSize]
}

// turn adds a page, after it dropped those that nobody needs and, at the limit, one that somebody does.
func (l *Log) turn() {
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

func (l *Log) drop() *page {
	oldest := l.pages[0]
	l.pages = slices.Delete(l.pages, 0, 1)
	l.first += pageSize
	return oldest
}

// wake tells those who wait for an event like this one. An event that names no specialist concerns everybody.
func (l *Log) wake(e *holds.Event) {
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
	for _, id := range e.Resources.List() {
		for _, w := range l.about[id] {
			w.wake(e.Seq)
		}
	}
}

// Watching counts the watches that are open.
func (l *Log) Watching() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.watches)
}

// Break says that events may have been lost: every watch ends with holds.ErrSlow, and the numbers from here on are those of
// a new epoch. Whoever watches anew misses nothing from then on.
func (l *Log) Break() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.epoch = newEpoch()
	l.cut(holds.ErrSlow)
}

// Close ends every watch with holds.ErrClosed, those to come as well. It is idempotent.
func (l *Log) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.cut(holds.ErrClosed)
}

// cut ends every watch with an error and forgets what was written for them.
func (l *Log) cut(err error) {
	for _, w := range l.watches {
		w.wake(l.seq + 1)
		w.ended = err
	}
	l.watches, l.all = nil, nil
	clear(l.about)
	l.pages, l.spare = nil, nil
}
