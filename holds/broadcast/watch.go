package broadcast

import (
	"context"
	"slices"

	"holdfast/holds"
)

// watch is one position in the log.
type watch struct {
	log   *Log
	about map[string]bool // specialists; nil means all of them
	ring  chan struct{}   // receives a signal when the wait is over
	read  uint64          // the first event that Next has not returned; only the reader uses it

	// Under the log's lock:
	next    uint64 // the first event still needed; read updates it only at the next call of Next
	waiting bool   // the reader is waiting for an event that concerns it, and needs no event before that
	ended   error  // why there are no more events
}

// Watch follows the events of these specialists, or of all specialists if none are given; see holds.Table. Error:
// holds.ErrClosed.
func (l *Log) Watch(specialistIDs ...string) (holds.Watch, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, holds.ErrClosed
	}
	if len(l.watches) == 0 {
		l.first = l.seq + 1
	}
	w := &watch{log: l, ring: make(chan struct{}, 1), next: l.seq + 1}
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

// Next implements holds.Watch. It returns at most one page of events, so a long backlog takes several calls. None of
// these calls waits.
func (w *watch) Next(ctx context.Context, buf []holds.Event) ([]holds.Event, error) {
	buf = buf[:0]
	for {
		if err := ctx.Err(); err != nil {
			return buf, err
		}
		events, err := w.unread()
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
		if buf = w.append(buf, events); len(buf) > 0 {
			return buf, nil
		}
	}
}

// append adds the events that concern the watch.
func (w *watch) append(buf, events []holds.Event) []holds.Event {
	if w.about == nil {
		return append(buf, events...)
	}
	for i := range events {
		if id := events[i].SpecialistID; id == "" || w.about[id] || w.takesAny(events[i].Resources) {
			buf = append(buf, events[i])
		}
	}
	return buf
}

func (w *watch) takesAny(resources holds.IDs) bool {
	return resources != "" && slices.ContainsFunc(resources.List(), func(id string) bool { return w.about[id] })
}

// unread returns the events from the watch's position to the end of its page. If there are none, it marks the watch as
// waiting.
func (w *watch) unread() ([]holds.Event, error) {
	l := w.log
	l.mu.Lock()
	defer l.mu.Unlock()
	w.next = max(w.next, w.read)
	if w.waiting {
		w.waiting, w.next = false, l.seq+1
	}
	switch {
	case w.ended != nil:
		return nil, w.ended
	case w.next > l.seq:
		w.waiting = true
		return nil, nil
	case w.next < l.first:
		return nil, holds.ErrSlow
	}
	i := w.next - l.first
	from, to := i%pageSize, min(pageSize, i%pageSize+l.seq+1-w.next)
	w.read = w.next + to - from
	return l.pages[i/pageSize][from:to], nil
}

// wake wakes a watch that needs no event before seq. The caller holds the log's lock.
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

// Close implements holds.Watch.
func (w *watch) Close() {
	l := w.log
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.ended != nil {
		return
	}
	w.ended = holds.ErrClosed
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
