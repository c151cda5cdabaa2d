package engine_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/booking"
	"holdfast/engine/enginetest"
	"holdfast/engine/practice"
	"holdfast/engine/upstream"
	"holdfast/engine/upstream/upstreamtest"
	"holdfast/store"
)

// power simulates the power supply of all durable components. Each commit, each change of the queue and each call to
// the upstream is a step, and the power can be cut right before or right after any of them. From then on, no step has
// any effect.
type power struct {
	mu    sync.Mutex
	armed bool
	after bool // the step still takes effect, but its caller gets no result
	left  int  // number of steps until the cut
	off   bool
}

var errPower = errors.New("the power was cut")

// cut arms the power cut: the n-th step from now, counted from 1, is the last.
func (p *power) cut(n int, after bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed, p.left, p.after = true, n, after
}

func (p *power) happened() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.off
}

func (p *power) step(effect func() error) error {
	p.mu.Lock()
	if p.off {
		p.mu.Unlock()
		return errPower
	}
	last := false
	if p.armed {
		p.left--
		last = p.left == 0
	}
	if last && !p.after {
		p.off = true
		p.mu.Unlock()
		return errPower
	}
	p.mu.Unlock()
	err := effect()
	if last {
		p.mu.Lock()
		p.off = true
		p.mu.Unlock()
		return errPower
	}
	return err
}

type poweredStore struct {
	store.Store
	*power
}

func (s poweredStore) Write(ctx context.Context, fn func(store.Tx) error) error {
	return s.step(func() error { return s.Store.Write(ctx, fn) })
}

type poweredQueue struct {
	store.Queue
	*power
}

func (q poweredQueue) Add(ctx context.Context, ops ...store.Operation) error {
	return q.step(func() error { return q.Queue.Add(ctx, ops...) })
}

func (q poweredQueue) Take(ctx context.Context, now time.Time,
	kinds ...store.OperationKind) (op store.Operation, err error) {
	err = q.step(func() error {
		op, err = q.Queue.Take(ctx, now, kinds...)
		return err
	})
	return op, err
}

func (q poweredQueue) Change(ctx context.Context, op store.Operation, event, detail string) error {
	return q.step(func() error { return q.Queue.Change(ctx, op, event, detail) })
}

type poweredUpstream struct {
	practice.Upstream
	*power
}

func (u poweredUpstream) SetAppointment(ctx context.Context,
	n upstream.NewAppointment) (made upstream.Created, err error) {
	err = u.step(func() error {
		made, err = u.Upstream.SetAppointment(ctx, n)
		return err
	})
	return made, err
}

func (u poweredUpstream) SetPatient(ctx context.Context, n upstream.NewPatient) (guid string, err error) {
	err = u.step(func() error {
		guid, err = u.Upstream.SetPatient(ctx, n)
		return err
	})
	return guid, err
}

func (u poweredUpstream) SetPatientComment(ctx context.Context, patient, comment string) error {
	return u.step(func() error { return u.Upstream.SetPatientComment(ctx, patient, comment) })
}

func (u poweredUpstream) SetAppointmentStatusCanceled(ctx context.Context, guid string) error {
	return u.step(func() error { return u.Upstream.SetAppointmentStatusCanceled(ctx, guid) })
}

// TestPowerCutAtEveryStep: the process dies right before or right after every step between the token and the recorded
// result, and restarts. Every appointment here is in the upstream exactly once or is marked for review, and the
// upstream has no appointment that was not booked here.
func TestPowerCutAtEveryStep(t *testing.T) {
	ok, limited, lost := upstreamtest.OK, upstreamtest.RateLimited, upstreamtest.LostApplied
	for name, script := range map[string]struct {
		outcomes []upstreamtest.Outcome
		run      func(p *enginetest.TestPractice)
	}{
		"an agent, at once": {nil, func(p *enginetest.TestPractice) { agentBooks(p) }},
		"an agent, queued": {[]upstreamtest.Outcome{limited, limited, ok},
			func(p *enginetest.TestPractice) { agentBooks(p) }},
		"an agent, and the outcome is unknown": {[]upstreamtest.Outcome{lost}, func(p *enginetest.TestPractice) {
			agentBooks(p)
		}},
		"an agent, refused": {[]upstreamtest.Outcome{upstreamtest.SlotTaken},
			func(p *enginetest.TestPractice) { agentBooks(p) }},
		"a visitor who moves": {nil, func(p *enginetest.TestPractice) { move(p, visitorBooks(p)) }},
		"a visitor who cancels": {nil, func(p *enginetest.TestPractice) {
			a := visitorBooks(p)
			time.Sleep(time.Minute)
			cancel(p, a)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // most of the test's time is spent waiting for the disk
			reviews, runs := 0, 0
			for n := 1; ; n++ {
				for _, after := range []bool{false, true} {
					happened := false
					t.Run(fmt.Sprintf("step %d after %v", n, after), func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) {
							var review bool
							happened, review = cutAt(t, n, after, script.outcomes, script.run)
							if runs++; review {
								reviews++
							}
						})
					})
					if !happened {
						t.Logf("%d cuts, %d for review", runs, reviews)
						if reviews > runs/3 {
							t.Errorf("%d of %d operations need a person, want few", reviews, runs)
						}
						return
					}
				}
			}
		})
	}
}

func agentBooks(p *enginetest.TestPractice) {
	b := p.Wish(20)
	b.Note = "a note"
	_, _ = p.Agent.Book(context.Background(), enginetest.AgentKey, b) // the caller does not get a result either
}

func visitorBooks(p *enginetest.TestPractice) string {
	r := enginetest.BookingOf(1, "cleaning")
	r.SlotStart = p.SlotAt(20)
	a, _ := p.Booking.Book(context.Background(), r)
	return a.ID
}

func move(p *enginetest.TestPractice, id string) {
	_, _ = p.Booking.Reschedule(context.Background(), booking.RescheduleRequest{ID: id,
		SlotStart: p.SlotAt(30), Actor: "system"})
}

func cancel(p *enginetest.TestPractice, id string) {
	_, _ = p.Booking.Cancel(context.Background(), booking.CancelRequest{ID: id, Actor: "system"})
}

// cutAt runs a scenario, cuts the power at one step, restarts and checks the outcome. happened reports whether the
// scenario was long enough to reach the cut, and review whether a person must review the booking.
func cutAt(t *testing.T, n int, after bool, outcomes []upstreamtest.Outcome,
	run func(*enginetest.TestPractice)) (happened, review bool) {
	source := &power{}
	p := enginetest.NewPractice(t, enginetest.PracticeOptions{Upstream: &upstreamtest.Options{},
		Change: func(o *engine.Options) {
			if !source.happened() {
				o.Store, o.Queue, o.Upstream = poweredStore{o.Store, source}, poweredQueue{o.Queue, source},
					poweredUpstream{o.Upstream, source}
				o.OnFatal = nil
			}
		}})
	p.Upstream.Outcomes(outcomes...)
	synctest.Wait()
	source.cut(n, after)
	run(p)
	time.Sleep(5 * time.Minute)
	happened = source.happened()
	p.Restart()
	p.Until(time.Hour, "settled", p.Settled)
	there := 0
	for _, a := range p.Upstream.Appointments() {
		if !a.Cancelled {
			there++
		}
	}
	here := p.Bookings()
	if len(here) == 0 {
		if there != 0 {
			t.Errorf("no appointment here, and the practice system has %d", there)
		}
		return happened, false
	}
	a := here[len(here)-1]
	want := 0
	if a.Status == store.Confirmed {
		want = 1
	}
	switch {
	case a.UpstreamState == store.UpstreamReview:
		review = true
	case a.UpstreamState == store.UpstreamFailed:
		want = 0
		if len(outcomes) == 0 || outcomes[0] != upstreamtest.SlotTaken {
			t.Error("the operation was given up without a reason")
		}
	case want == 1 && a.UpstreamState != store.UpstreamConfirmed:
		t.Errorf("the appointment is shown as %s", a.UpstreamState)
	}
	if there != want && !review || there > 1 {
		t.Errorf("the practice system has %d, want %d; the appointment is %s, %s", there, want, a.Status, a.UpstreamState)
	}
	return happened, review
}
