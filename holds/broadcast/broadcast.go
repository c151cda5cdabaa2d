// Package broadcast is the event stream within one process. Every live state backend numbers and publishes its events
// with one Log.
//
// Each event is written once for all watchers. A watch is only a position in the log's pages. The log drops a page when
// all watchers have read it, or when it has too many pages. A watcher that still needed a dropped page is cut off with
// holds.ErrSlow. If there are no watchers, no event is written.
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
	// pageSize is the number of events in a page, and so the maximum number that Next returns.
	pageSize = 256
	// mostSpare is the maximum number of free pages that the log retains after a burst of events; a page is about 92
	// KB.
	mostSpare = 8

	defaultQueue = 65_536
)

// page is a block of consecutive events. An event never changes after it is written, so readers need no lock.
type page [pageSize]holds.Event

// Log is the stream of events. It assigns the number and writes the event in one short step under the lock, so the
// numbers have no gaps and follow the order in which the events were published. It is safe for concurrent use.
type Log struct {
	limit int // maximum number of pages

	mu      sync.Mutex
	epoch   string
	closed  bool
	seq     uint64 // the number of the last event
	first   uint64 // the number of the first event in pages[0]
	pages   []*page
	spare   []*page             // read by all watchers, available for later events
	watches []*watch            // all open watches
	all     []*watch            // the watches that follow all specialists
	about   map[string][]*watch // the watches that follow each specialist
}

// New returns a log with its own epoch. A watcher can fall up to queue events behind before it is cut off, rounded up
// to whole pages of 256. 0 means 65,536, which is enough even if 100,000 holds expire at the same time. The log
// allocates the memory only while a watcher is behind.
func New(queue int) *Log {
	if queue <= 0 {
		queue = defaultQueue
	}
	return &Log{
		epoch: newEpoch(),
		limit: (queue+pageSize-1)/pageSize + 1, // plus the page being written
		about: make(map[string][]*watch),
	}
}

// newEpoch returns the name of a new epoch. It is short because it is part of every event id on the wire, and it
// contains no dash.
func newEpoch() string {
	return strconv.FormatInt(time.Now().UnixMilli(), 36) + strconv.FormatUint(rand.Uint64()>>32, 36)
}

// Epoch returns the name of this numbering sequence. Break changes it.
func (l *Log) Epoch() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.epoch
}

// Hold publishes a change to a hold, or the end of a hold.
func (l *Log) Hold(kind holds.EventKind, reason holds.Reason, at time.Time, h *holds.Hold) {
	l.mu.Lock()
	l.write(kind, reason, at, h)
	l.mu.Unlock()
}

// Lapsed publishes the expiry of many holds under one lock. Separate calls would contend for the lock with every
// claim.
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
		*e = holds.Event{Kind: kind, Seq: l.seq, At: at, HoldID: h.ID, Span: h.Span, Resources: h.Resources,
			ExpiresAt: h.ExpiresAt,
			Owner:     h.Owner, Reason: reason}
		l.wake(e)
	}
}

// Publish assigns the next number to an event that neither Hold nor Lapsed publishes, and publishes it.
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

// next returns the slot for the event numbered l.seq.
func (l *Log) next() *holds.Event {
	if l.seq-l.first == uint64(len(l.pages))*pageSize {
		l.turn()
	}
	i := l.seq - l.first
	return &l.pages[i/pageSize][i%pageSize]
}

// turn adds a page. It first drops the pages that no watch needs and, at the limit, the oldest page even if a watch
// needs it.
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
		l.drop() // not reused: a watcher may be reading it
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

// wake wakes the watches that wait for an event like this one. An event without a specialist concerns all watches.
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

// Watching returns the number of open watches.
func (l *Log) Watching() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.watches)
}

// Break handles a possible loss of events: it ends every watch with holds.ErrSlow and starts a new epoch. A client that
// watches again misses no event after that.
func (l *Log) Break() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.epoch = newEpoch()
	l.cut(holds.ErrSlow)
}

// Close ends every watch with holds.ErrClosed; a later Watch returns the same error. It is idempotent.
func (l *Log) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.cut(holds.ErrClosed)
}

// cut ends every watch with an error and frees the pages.
func (l *Log) cut(err error) {
	for _, w := range l.watches {
		w.wake(l.seq + 1)
		w.ended = err
	}
	l.watches, l.all = nil, nil
	clear(l.about)
	l.pages, l.spare = nil, nil
}
