// Package holdstest tests the contract of holds.Backend.
//
// A backend's own test calls Run once. There is one file per type of object in the contract and one subtest per
// guarantee, named after the guarantee. The list of names is the contract.
//
// In addition to its own checks, every test watches the backend from the first event to the last (see stream): the
// numbers have no gaps, each hold begins once and ends once, and at the end the table contains exactly the holds of the
// stream, without conflicts. So the suite detects a backend that fulfils one guarantee by violating another.
package holdstest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/holds"
)

// Harness configures how the suite opens a backend and how time passes for it. Only Open is required.
type Harness struct {
	// Open returns an empty backend, which the suite closes. booked reports whether a pinned hold that expired was
	// booked; nil means that none was. For a watcher that falls behind, the backend must store at least Queue events,
	// but not many times more.
	Open func(t testing.TB, booked func(holds.Hold) bool) holds.Backend

	// Queue is how many events a watcher of this backend can fall behind; 0 means 1,024.
	Queue int

	// Virtual runs every test in a bubble of testing/synctest, so that time costs nothing and is exact.
	Virtual bool

	// Second is the unit for the suite's hold lifetimes, which are up to 60 units long; 0 means 1 s. A backend that
	// cannot run in virtual time sets a shorter unit. Selections always have the lifetime that the contract defines.
	Second time.Duration

	// Advance lets time pass for the backend; nil sleeps.
	Advance func(d time.Duration)

	// Parallel runs the tests in parallel, for backends that run in real time, where tests spend most of their time
	// waiting.
	Parallel bool

	// Late is the maximum delay of an event, and the tolerance for a point in time; 0 means 50 ms.
	Late time.Duration
}

// Run tests every guarantee of the contract.
func Run(t *testing.T, h Harness) {
	if h.Queue == 0 {
		h.Queue = 1024
	}
	if h.Second == 0 {
		h.Second = time.Second
	}
	if h.Advance == nil {
		h.Advance = time.Sleep
	}
	if h.Late == 0 {
		h.Late = 50 * time.Millisecond
	}
	part := func(name string, prove func(*testing.T)) {
		t.Run(name, func(t *testing.T) {
			if h.Parallel {
				t.Parallel()
			}
			prove(t)
		})
	}
	part("Backend", h.backend)
	part("Claim", h.claim)
	part("Conflict", h.conflict)
	part("Repeat", h.repeat)
	part("Seat", h.seat)
	part("Quota", h.quota)
	part("Displace", h.displace)
	part("Replace", h.replace)
	part("Together", h.together)
	part("Extend", h.extend)
	part("Pin", h.pin)
	part("Transfer", h.transfer)
	part("Lapse", h.lapse)
	part("End", h.end)
	part("Owner", h.owner)
	part("List", h.listed)
	part("Event", h.event)
	part("Selection", h.selection)
	part("Presence", h.presence)
	part("Busy", h.busy)
	part("Restore", h.restore)
	part("Linearizable", h.linearizable)
}

// backend tests Mode, Ping, Stats and Close.
func (h Harness) backend(t *testing.T) {
	h.prove(t, "a backend reports its mode, answers a ping and counts its holds", func(p *proof) {
		if mode := p.Mode(); mode != "memory" && mode != "redis" && mode != "postgres" && mode != "fallback" {
			p.Errorf("got mode %q, want memory, redis, postgres or fallback", mode)
		}
		p.no(p.Ping(p.ctx))
		p.claim(p.wish("ada", "09:00", amal))
		p.claim(p.wish("bob", "09:00", amal))
		_, err := p.Select(p.ctx, bela, p.span("ada", "10:00"))
		p.no(err)
		_, err = p.Online(p.ctx, "ada", 1)
		p.no(err)
		got, err := p.Stats(p.ctx)
		p.no(err)
		if want := (holds.Stats{Holds: 2, Selections: 1, Online: 1, Watches: 1}); got != want {
			p.Errorf("got %+v, want %+v", got, want)
		}
	})
	h.prove(t, "Close ends every watch and every later call with ErrClosed, and can be repeated", func(p *proof) {
		w := p.watch()
		waiting := make(chan error)
		go func() {
			_, err := w.Next(p.ctx, nil)
			waiting <- err
		}()
		p.no(p.stop())
		p.is(<-waiting, holds.ErrClosed)
		_, err := w.Next(p.ctx, nil)
		p.is(err, holds.ErrClosed)
		for method, call := range map[string]func() error{
			"Watch":   func() error { _, err := p.Watch(p.ctx); return err },
			"Claim":   func() error { _, err := p.Claim(p.ctx, p.wish("ada", "09:00", amal)); return err },
			"Extend":  func() error { _, err := p.Extend(p.ctx, "any", amal, time.Second, false); return err },
			"Pin":     func() error { _, err := p.Pin(p.ctx, "any", amal, time.Second); return err },
			"Unpin":   func() error { _, err := p.Unpin(p.ctx, "any", amal, time.Second); return err },
			"Confirm": func() error { _, err := p.Confirm(p.ctx, "any", amal); return err },
			"Release": func() error { _, err := p.Release(p.ctx, "any", amal, holds.ReasonReleased); return err },
			"Transfer": func() error {
				_, err := p.Transfer(p.ctx, "any", amal, bela, time.Second, time.Second)
				return err
			},
			"Hold":       func() error { _, err := p.Hold(p.ctx, "any"); return err },
			"List":       func() error { _, err := p.List(p.ctx); return err },
			"Publish":    func() error { return p.Publish(p.ctx, holds.Event{Kind: holds.EventCancel}) },
			"Select":     func() error { _, err := p.Select(p.ctx, amal, p.span("ada", "09:00")); return err },
			"Deselect":   func() error { _, err := p.Deselect(p.ctx, amal); return err },
			"Renew":      func() error { _, err := p.Renew(p.ctx, amal); return err },
			"Selected":   func() error { _, err := p.Selected(p.ctx, p.day, p.day.Add(time.Hour)); return err },
			"Online":     func() error { _, err := p.Online(p.ctx, "ada", 1); return err },
			"Offline":    func() error { _, err := p.Offline(p.ctx, "ada"); return err },
			"Beat":       func() error { return p.Beat(p.ctx, "ada") },
			"Present":    func() error { _, err := p.Present(p.ctx, "ada"); return err },
			"FollowBusy": func() error { return p.FollowBusy(p.ctx, 1, holds.Booked{}, holds.Booked{}) },
			"ClearBusy":  func() error { return p.ClearBusy(p.ctx, "ada", p.day, p.day.Add(time.Hour)) },
			"Stats":      func() error { _, err := p.Stats(p.ctx); return err },
			"Ping":       func() error { return p.Ping(p.ctx) },
		} {
			if err := call(); !errors.Is(err, holds.ErrClosed) {
				p.Errorf("%s: got %v, want %v", method, err, holds.ErrClosed)
			}
		}
		p.no(p.Close())
	})
}

// prove tests one guarantee against a new backend, in virtual time if the harness has it.
func (h Harness) prove(t *testing.T, promise string, body func(*proof)) {
	h.proveBooked(t, promise, nil, body)
}

// proveBooked is like prove, with a function that decides whether expired pinned holds were booked.
func (h Harness) proveBooked(t *testing.T, promise string, booked func(holds.Hold) bool, body func(*proof)) {
	t.Run(promise, func(t *testing.T) {
		if h.Parallel {
			t.Parallel()
		}
		run := func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
			defer cancel()
			p := &proof{T: t, h: h, ctx: ctx, Backend: h.Open(t, booked), second: time.Minute}
			p.keepPace()
			p.day = time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 2)
			p.stream = p.follow()
			defer p.end()
			body(p)
		}
		if h.Virtual {
			synctest.Test(t, run)
			return
		}
		run(t)
	})
}

// The clients of the suite.
var (
	amal = holds.ClientID("client-amal-7c1f0a52d9").Owner()
	bela = holds.ClientID("client-bela-03be8842a6").Owner()
	caro = holds.ClientID("client-caro-f95d1e60b7").Owner()
)

// client returns one of many clients.
func client(i int) holds.Owner { return holds.ClientID(fmt.Sprintf("client-number-%04d", i)).Owner() }

// proof is the test of one guarantee: the test, the backend, and helpers.
type proof struct {
	*testing.T
	holds.Backend
	h       Harness
	ctx     context.Context
	day     time.Time // midnight UTC of a future day
	stream  *stream
	stopped bool
	second  time.Duration // see seconds
	changes int64         // numbers the changes of the feed
}

// keepPace lengthens the seconds of the test, and Late by the same factor, if the machine is so busy that calls take
// long. The test still checks the same guarantee, only more slowly.
func (p *proof) keepPace() {
	if p.h.Virtual {
		return
	}
	took := make([]time.Duration, 10)
	for i := range took {
		began := time.Now()
		_ = p.Ping(p.ctx)
		took[i] = time.Since(began)
	}
	slices.Sort(took)
	long := took[7] // a single late response does not mean that the machine is busy
	if slow := min(1+long/usual, 8); slow > 1 {
		p.Logf("an answer took %v, so a second of this test is %d", long, slow)
		p.h.Second *= slow
		p.h.Late *= slow
	}
}

// usual is longer than a call takes on an idle machine.
const usual = 30 * time.Millisecond

// end checks the stream against the table and closes the backend.
func (p *proof) end() {
	if p.stopped {
		return
	}
	if !p.Failed() {
		p.stream.complete()
	}
	p.no(p.stop())
}

func (p *proof) stop() error {
	p.stopped = true
	p.stream.end()
	return p.Close()
}

// at returns a time on the test's day, such as "09:00".
func (p *proof) at(clock string) time.Time {
	p.Helper()
	t, err := time.Parse("15:04", clock)
	p.no(err)
	return p.day.Add(time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute)
}

// span returns a half-hour checkup without buffers.
func (p *proof) span(specialistID, start string) holds.Span {
	p.Helper()
	from := p.at(start)
	to := from.Add(30 * time.Minute)
	return holds.Span{AppointmentTypeID: "checkup", SpecialistID: specialistID,
		SlotStart: from, SlotEnd: to, BusyStart: from, BusyEnd: to}
}

// wish returns a claim for such a span.
func (p *proof) wish(specialistID, start string, c holds.Owner) holds.Claim {
	p.Helper()
	return p.claimOf(p.span(specialistID, start), c)
}

// claimOf returns a claim with a TTL of 10 seconds and a maximum of 60, without a quota.
func (p *proof) claimOf(s holds.Span, c holds.Owner) holds.Claim {
	return holds.Claim{Span: s, Owner: c, Seats: []int{s.Seat}, TTL: p.seconds(10), MaxLife: p.seconds(60)}
}

// brief begins a test that lets time pass: its seconds have the length that the harness sets.
func (p *proof) brief() { p.second = p.h.Second }

// seconds returns a lifetime. In a test that is not brief, a second is a minute, so that nothing expires before a busy
// machine has finished.
func (p *proof) seconds(n float64) time.Duration { return time.Duration(n * float64(p.second)) }

func (p *proof) pass(d time.Duration) { p.h.Advance(d) }

// claim claims free time and fails if the claim is refused.
func (p *proof) claim(c holds.Claim) holds.Hold {
	p.Helper()
	h, err := p.Claim(p.ctx, c)
	if err != nil {
		p.Fatalf("claim %s at %s: got %v, want a hold", c.SpecialistID, c.SlotStart.Format("15:04"), err)
	}
	return h
}

// refused makes a claim for time that another client holds, and returns the HeldError's Until.
func (p *proof) refused(c holds.Claim) time.Time {
	p.Helper()
	h, err := p.Claim(p.ctx, c)
	var held *holds.HeldError
	if !errors.As(err, &held) {
		p.Fatalf("claim %s at %s: got %v, %v, want a HeldError", c.SpecialistID, c.SlotStart.Format("15:04"), h.ID, err)
	}
	return held.Until
}

// released releases a hold.
func (p *proof) released(h holds.Hold) {
	p.Helper()
	if ok, err := p.Release(p.ctx, h.ID, h.Owner, holds.ReasonReleased); !ok || err != nil {
		p.Fatalf("release: got %v, %v, want true", ok, err)
	}
}

// unchanged fails unless the hold still exists and has not changed.
func (p *proof) unchanged(want holds.Hold) {
	p.Helper()
	if got, err := p.Hold(p.ctx, want.ID); err != nil || got != want {
		p.Errorf("Hold: got %+v, %v, want %+v", got, err, want)
	}
}

// list returns these specialists' holds.
func (p *proof) list(specialistIDs ...string) []holds.Hold {
	p.Helper()
	list, err := p.List(p.ctx, specialistIDs...)
	p.no(err)
	return list
}

// no fails the test on an error.
func (p *proof) no(err error) {
	p.Helper()
	if err != nil {
		p.Fatalf("got error %v, want none", err)
	}
}

// is fails unless err is the expected error.
func (p *proof) is(err, want error) {
	p.Helper()
	if !errors.Is(err, want) {
		p.Errorf("got error %v, want %v", err, want)
	}
}

// near fails unless got is within Late of the expected instant.
func (p *proof) near(what string, got, want time.Time) {
	p.Helper()
	if off := got.Sub(want).Abs(); off > p.h.Late {
		p.Errorf("%s: got %v, want %v; the difference is %v", what, got, want, off)
	}
	if got.Location() != time.UTC {
		p.Errorf("%s: got zone %v, want UTC", what, got.Location())
	}
}
