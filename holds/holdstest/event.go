package holdstest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/holds"
)

// event tests Publish, Epoch and Watch.
func (h Harness) event(t *testing.T) {
	h.prove(t, "events have consecutive numbers, in order, while 32 clients claim and release",
		func(p *proof) {
			each := p.h.Queue / 128 // all events fit into the queue, even if the stream does not read them in time
			var won atomic.Int32
			p.race(32, func(i int) func() {
				for n := range each {
					got, err := p.Claim(p.ctx, p.wish(fmt.Sprintf("specialist-%d", (i+n)%8), "09:00", client(i)))
					if err == nil {
						won.Add(1)
						p.released(got)
					}
				}
				return func() {}
			})
			want := int(won.Load())
			p.stream.seen(2 * want)
			if a, b := p.stream.count(holds.EventHold), p.stream.count(holds.EventRelease); a != want || b != want ||
				want < each {
				p.Errorf("got %d holds and %d releases, want %d of both and at least %d", a, b, want, each)
			}
		})
	h.prove(t, "a client that watches and then lists misses no hold and gets none twice", func(p *proof) {
		var stop atomic.Bool
		var busy sync.WaitGroup
		for i := range 4 {
			busy.Go(func() {
				for n := 0; !stop.Load() && n < p.h.Queue/16; n++ {
					got, err := p.Claim(p.ctx, p.wish([]string{"ada", "bob"}[n%2], "09:00", client(i)))
					if err == nil && n%3 > 0 {
						p.released(got)
					}
					if err == nil && n%3 == 0 {
						_, _ = p.Confirm(p.ctx, got.ID, got.Owner)
					}
				}
			})
		}
		type look struct {
			w    holds.Watch
			list []holds.Hold
		}
		var looks []look
		for range 8 {
			w := p.watch()
			looks = append(looks, look{w, p.list()})
		}
		stop.Store(true)
		busy.Wait()
		last := p.claim(p.wish("zoe", "09:00", amal))
		want := p.list()
		for _, l := range looks {
			p.replays(l.w, l.list, last.ID, want)
			l.w.Close()
		}
	})
	h.prove(t, "events of one specialist arrive in the order of their changes", func(p *proof) {
		// The stream checks that a hold begins only after the conflicting one has ended.
		p.race(8, func(i int) func() {
			for range 20 {
				got, err := p.Claim(p.ctx, p.wish("ada", "09:00", client(i)))
				if err == nil {
					p.released(got)
				}
			}
			return func() {}
		})
	})
	h.prove(t, "a watch of some specialists gets all their events, and from others only those without a client", func(p *proof) {
		w := p.watch("ada", "cora", "ada")
		defer w.Close()
		var want []string
		for _, specialist := range []string{"ada", "bob", "cora", "bob", "", "ada"} {
			p.no(p.Publish(p.ctx, holds.Event{Kind: holds.EventAvailability,
				Span: holds.Span{SpecialistID: specialist}}))
			if specialist != "bob" {
				want = append(want, specialist)
			}
		}
		for i, e := range p.next(w, len(want)) {
			if e.SpecialistID != want[i] {
				p.Errorf("event %d: got one of %q, want of %q", i, e.SpecialistID, want[i])
			}
		}
	})
	h.prove(t, "a watch without matching events does not fall behind", func(p *proof) {
		w := p.watch("ada")
		defer w.Close()
		for range 3 {
			short, cancel := context.WithTimeout(p.ctx, p.h.Late)
			_, err := w.Next(short, nil)
			cancel()
			p.is(err, context.DeadlineExceeded)
			p.flood(p.h.Queue*2, "bob")
		}
		p.flood(1, "ada")
		if got := p.next(w, 1); got[0].SpecialistID != "ada" {
			p.Errorf("got %+v, want only the event of ada", got[0])
		}
	})
	h.prove(t, "a watcher that falls behind gets ErrSlow, and the others continue", func(p *proof) {
		slow := p.watch()
		defer slow.Close()
		// The stream would report a gap, or that it was cut off.
		p.flood(p.h.Queue*3, "ada")
		var err error
		for range p.h.Queue * 3 {
			if _, err = slow.Next(p.ctx, nil); err != nil {
				break
			}
		}
		p.is(err, holds.ErrSlow)
		_, err = slow.Next(p.ctx, nil)
		p.is(err, holds.ErrSlow)
		again := p.watch()
		defer again.Close()
		got := p.claim(p.wish("ada", "09:00", amal))
		if e := p.next(again, 1)[0]; e.HoldID != got.ID {
			p.Errorf("second watch: got %+v, want the hold", e)
		}
	})
	h.prove(t, "a cancelled wait loses no event", func(p *proof) {
		w := p.watch()
		defer w.Close()
		for range 3 {
			short, cancel := context.WithTimeout(p.ctx, p.h.Late)
			got, err := w.Next(short, nil)
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) || len(got) > 0 {
				p.Fatalf("got %v, %v, want a timeout without an event", got, err)
			}
			h := p.claim(p.wish("ada", "09:00", amal))
			if e := p.next(w, 1)[0]; e.HoldID != h.ID || e.Kind != holds.EventHold {
				p.Fatalf("got %+v, want the hold %s", e, h.ID)
			}
			p.released(h)
			p.next(w, 1)
		}
	})
	h.prove(t, "Publish sets the number and no other field; each backend has its own constant epoch", func(p *proof) {
		e := holds.Event{Kind: holds.EventAppointment, Seq: 999, At: time.Now().UTC().Truncate(time.Millisecond),
			Span: p.span("ada", "09:00"), AppointmentID: "a-1", Version: 7, Generation: 3, SessionID: "s-1",
			AppointmentTypeIDs: []string{"checkup", "yoga"}, Reason: "booked"}
		p.no(p.Publish(p.ctx, e))
		p.stream.seen(1)
		got := p.stream.events[0]
		if got.Seq == 999 || got.Kind != e.Kind || !got.At.Equal(e.At) || got.Span != e.Span ||
			got.AppointmentID != "a-1" ||
			got.Version != 7 || got.Generation != 3 || got.SessionID != "s-1" || len(got.AppointmentTypeIDs) != 2 ||
			got.Reason != "booked" {
			p.Errorf("got %+v, want %+v with a new number", got, e)
		}
		if a, b := p.Epoch(), p.Epoch(); a == "" || a != b {
			p.Errorf("got epochs %q and %q, want one", a, b)
		}
		other := p.h.Open(p, nil)
		defer other.Close()
		if p.Epoch() == other.Epoch() {
			p.Errorf("got epoch %q twice", p.Epoch())
		}
	})
	h.prove(t, "a hold of a stream contains its connection", func(p *proof) {
		e := holds.Event{Kind: holds.EventStream, Owner: holds.ClientID("a-streaming-client-01").Owner(),
			ConnectionID: "c-1"}
		p.no(p.Publish(p.ctx, e))
		p.stream.seen(1)
		if got := p.stream.events[0]; got.Kind != e.Kind || !got.Owner.Is(e.Owner) || got.ConnectionID != "c-1" {
			p.Errorf("got %+v, want %+v", got, e)
		}
	})
	h.prove(t, "closing a watch frees its place, and closing it again does nothing", func(p *proof) {
		w := p.watch("ada")
		w.Close()
		w.Close()
		if got, err := p.Stats(p.ctx); err != nil || got.Watches != 1 {
			p.Errorf("got %d watches, %v, want only the stream's watches", got.Watches, err)
		}
	})
}

func (p *proof) watch(specialistIDs ...string) holds.Watch {
	p.Helper()
	w, err := p.Watch(p.ctx, specialistIDs...)
	p.no(err)
	return w
}

// next returns exactly n events.
func (p *proof) next(w holds.Watch, n int) (got []holds.Event) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, 10*time.Minute)
	defer cancel()
	for len(got) < n {
		batch, err := w.Next(ctx, nil)
		if err != nil {
			p.Fatalf("got %d events and %v, want %d events", len(got), err, n)
		}
		got = append(got, batch...)
	}
	if len(got) > n {
		p.Fatalf("got %d events, want %d", len(got), n)
	}
	return got
}

// flood publishes n events, waiting for the stream after every quarter of the queue, so that a prompt watcher is not
// cut off.
func (p *proof) flood(n int, specialistID string) {
	p.Helper()
	p.stream.mu.Lock()
	seen := len(p.stream.events)
	p.stream.mu.Unlock()
	for i := 1; i <= n; i++ {
		p.no(p.Publish(p.ctx, holds.Event{Kind: holds.EventAvailability, Span: holds.Span{SpecialistID: specialistID}}))
		if i%(p.h.Queue/4) == 0 || i == n {
			p.stream.seen(seen + i)
		}
	}
}

// replays applies a watch's events, up to the hold named last, to the list that was read after the watch began, and
// fails unless the result is want.
func (p *proof) replays(w holds.Watch, list []holds.Hold, last string, want []holds.Hold) {
	p.Helper()
	held := map[string]bool{}
	for _, h := range list {
		held[h.ID] = true
	}
	heard := map[string]bool{}
	for done := false; !done; {
		batch, err := w.Next(p.ctx, nil)
		p.no(err)
		for _, e := range batch {
			key := e.HoldID + string(e.Kind)
			if heard[key] {
				p.Errorf("got %s of %s twice", e.Kind, e.HoldID)
			}
			heard[key] = true
			switch e.Kind {
			case holds.EventHold:
				held[e.HoldID] = true
				done = done || e.HoldID == last
			case holds.EventRelease, holds.EventConfirm:
				delete(held, e.HoldID)
			}
		}
	}
	if len(held) != len(want) {
		p.Errorf("got %d holds by list and events, want %d", len(held), len(want))
	}
	for _, h := range want {
		if !held[h.ID] {
			p.Errorf("hold %s was missed", h.ID)
		}
	}
}
