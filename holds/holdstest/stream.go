package holdstest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"holdfast/holds"
)

// stream receives all events from a backend, starting before the first change, and computes the live holds from them.
// It reads in a separate goroutine, so no test has to drain it.
type stream struct {
	p    *proof
	stop func()
	done chan struct{}

	mu     sync.Mutex
	more   chan struct{} // closed and replaced after each read
	events []holds.Event
	held   map[string]holds.Event // by hold id: the EventHold of each live hold
	// the live hold that the latest new hold replaces, and the new hold; empty if there is none
	replaced, replacing holds.Event
	ended               map[string]holds.Event
	errs                []error
}

func (p *proof) follow() *stream {
	w, err := p.Watch(p.ctx)
	p.no(err)
	ctx, stop := context.WithCancel(p.ctx)
	s := &stream{p: p, stop: stop, done: make(chan struct{}), more: make(chan struct{}),
		held: map[string]holds.Event{}, ended: map[string]holds.Event{}}
	go func() {
		defer close(s.done)
		defer w.Close()
		var buf []holds.Event
		for {
			var err error
			buf, err = w.Next(ctx, buf)
			s.take(buf, err)
			if err != nil {
				return
			}
		}
	}()
	return s
}

// take applies a batch of events.
func (s *stream) take(batch []holds.Event, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, holds.ErrClosed) {
		s.fault("the watch broke off: %v", err)
	}
	for _, e := range batch {
		if n := len(s.events); n > 0 && e.Seq != s.events[n-1].Seq+1 {
			s.fault("got event %d after %d, want no gap", e.Seq, s.events[n-1].Seq)
		}
		s.events = append(s.events, e)
		if e.HoldID != "" {
			s.account(e)
		}
	}
	close(s.more)
	s.more = make(chan struct{})
}

// account checks that a hold begins once, ends once, and has other events only in between.
func (s *stream) account(e holds.Event) {
	_, live := s.held[e.HoldID]
	_, over := s.ended[e.HoldID]
	if s.replaced.HoldID != "" && (e.HoldID == s.replaced.HoldID || e.SpecialistID == s.replacing.SpecialistID) {
		if e.HoldID != s.replaced.HoldID || e.Kind != holds.EventRelease || e.Reason != holds.ReasonReleased {
			s.fault("hold %s began before %s, which is in its way, ended:%s", s.replacing.HoldID, s.replaced.HoldID,
				s.describe())
		}
		s.replaced, s.replacing = holds.Event{}, holds.Event{}
	}
	switch e.Kind {
	case holds.EventHold:
		if live || over {
			s.fault("hold %s began twice", e.HoldID)
		}
		for _, other := range s.held {
			if before := (holds.Hold{Span: other.Span,
				Resources: other.Resources}); before.Excludes(&holds.Hold{Span: e.Span, Resources: e.Resources}) {
				if s.replaced.HoldID != "" {
					s.fault("hold %s began before %s, which is in its way, ended:%s", e.HoldID, other.HoldID, s.describe())
				}
				s.replaced, s.replacing = other, e // the next event must be the release of the hold that it replaces
			}
		}
		s.held[e.HoldID] = e
	case holds.EventHeartbeat:
		if !live {
			s.fault("heartbeat of hold %s, which is not there", e.HoldID)
		}
	case holds.EventRelease, holds.EventConfirm:
		if !live {
			s.fault("%s of hold %s, which is not there", e.Kind, e.HoldID)
		}
		if (e.Reason == "") != (e.Kind == holds.EventConfirm) {
			s.fault("%s of hold %s with reason %q", e.Kind, e.HoldID, e.Reason)
		}
		if off := e.At.Sub(e.ExpiresAt); e.Reason == holds.ReasonExpired && off.Abs() > s.late() {
			s.fault("hold %s was released %v after it lapsed", e.HoldID, off)
		}
		delete(s.held, e.HoldID)
		s.ended[e.HoldID] = e
	}
}

// late returns the maximum delay for a release event that no test waits for. In real time, the sweep of hundreds of
// holds competes for the machine with the test that created them.
func (s *stream) late() time.Duration {
	if s.p.h.Virtual {
		return s.p.h.Late
	}
	return 3 * s.p.h.Late
}

func (s *stream) fault(format string, args ...any) {
	s.errs = append(s.errs, fmt.Errorf(format, args...))
}

// await waits until has returns true. It fails after a minute.
func (s *stream) await(what string, has func() bool) {
	s.p.Helper()
	ctx, cancel := context.WithTimeout(s.p.ctx, 10*time.Minute)
	defer cancel()
	for {
		s.mu.Lock()
		ok, more := has(), s.more
		s.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-more:
		case <-ctx.Done():
			s.mu.Lock()
			defer s.mu.Unlock()
			s.p.Fatalf("no %s in %d events: %s", what, len(s.events), s.describe())
		}
	}
}

// event waits for the first event of this kind and hold.
func (s *stream) event(kind holds.EventKind, holdID string) (found holds.Event) {
	s.p.Helper()
	s.await(fmt.Sprintf("%s of hold %q", kind, holdID), func() bool {
		i := slices.IndexFunc(s.events, func(e holds.Event) bool { return e.Kind == kind && e.HoldID == holdID })
		if i >= 0 {
			found = s.events[i]
		}
		return i >= 0
	})
	return found
}

// count returns the number of events of a kind that have been read.
func (s *stream) count(kind holds.EventKind) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.events {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

// seen waits until n events have been read.
func (s *stream) seen(n int) {
	s.p.Helper()
	s.await(fmt.Sprintf("%d events", n), func() bool { return len(s.events) >= n })
}

// complete compares the live holds of the stream with the table. If a hold expires in between, complete compares again
// with a new list.
func (s *stream) complete() {
	s.p.Helper()
	for {
		list := s.p.list()
		ids := make([]string, 0, len(list))
		for i := range list {
			ids = append(ids, list[i].ID)
			for j := range list[:i] {
				if list[i].Excludes(&list[j]) {
					s.p.Errorf("holds %s and %s conflict", list[i].ID, list[j].ID)
				}
			}
		}
		slices.Sort(ids)
		lapsed := false
		s.await(fmt.Sprintf("end with just the holds %v", ids), func() bool {
			lapsed = slices.ContainsFunc(ids, func(id string) bool { _, over := s.ended[id]; return over })
			return lapsed || slices.Equal(slices.Sorted(maps.Keys(s.held)), ids)
		})
		if !lapsed {
			return
		}
	}
}

// end stops reading and reports the errors.
func (s *stream) end() {
	s.p.Helper()
	s.stop()
	<-s.done
	if s.replaced.HoldID != "" {
		s.fault("hold %s began, and %s, which is in its way, did not end", s.replacing.HoldID, s.replaced.HoldID)
	}
	for _, err := range s.errs {
		s.p.Errorf("stream: %v", err)
	}
}

func (s *stream) describe() string {
	var text strings.Builder
	for _, e := range s.events[max(0, len(s.events)-20):] {
		fmt.Fprintf(&text, "\n\t%d %s %s of %s at %s until %s %s", e.Seq, e.Kind, e.HoldID, e.SpecialistID,
			e.SlotStart.Format("15:04"), e.ExpiresAt.Format("15:04:05.000"), e.Reason)
	}
	return text.String()
}
