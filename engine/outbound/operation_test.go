package outbound_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/cli/clitest"
	"holdfast/engine"
	"holdfast/engine/agent"
	"holdfast/engine/booking"
	"holdfast/engine/enginetest"
	"holdfast/engine/outbound"
	"holdfast/engine/record"
	"holdfast/engine/upstream/upstreamtest"
	"holdfast/store"
)

// These tests check the guarantees of the queue. Nothing is lost while the upstream is unreachable, a person decides
// about unknown outcomes, and staff can retry an operation or give up on it.

func TestUpstreamUnreachableForOneDay(t *testing.T) {
	t.Parallel()
	clitest.OnlyInFull(t)
	for name, dead := range map[string]bool{"connection refused": false, "no answer": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := enginetest.NewPractice(t, enginetest.PracticeOptions{Upstream: &upstreamtest.Options{}})
				p.Line.Set(!dead, dead)
				const bookings = 12
				begun := time.Now()
				for n := range bookings {
					a := p.Ask(p.Wish(48*3 + n))
					if a.Outcome != agent.Queued {
						t.Fatalf("booking %d: got %+v, want it queued", n, a)
					}
					time.Sleep(2 * time.Hour)
				}
				if n, _ := p.Queue.Counts(t.Context()); n.Pending+n.Processing < bookings-1 {
					t.Errorf("after a day the queue has %+v, want all waiting", n)
				}
				tried := slices.DeleteFunc(p.Line.Tried(), func(at time.Time) bool {
					return at.Before(begun.Add(2*time.Hour + time.Minute))
				})
				var widest time.Duration
				for i := 1; i < len(tried); i++ {
					widest = max(widest, tried[i].Sub(tried[i-1]))
				}
				if widest > 320*time.Second || len(tried) > 24*60 {
					t.Errorf("%d attempts, at most %s apart; want the back-off capped at 300 s", len(tried),
						widest)
				}
				p.Line.Set(false, false)
				p.Until(10*time.Minute, "settled", p.Settled)
				review := 0
				for _, a := range p.Bookings() {
					switch a.UpstreamState {
					case store.UpstreamConfirmed:
					case store.UpstreamReview:
						review++
					default:
						t.Errorf("%s ended as %s", a.ID, a.UpstreamState)
					}
				}
				s := p.Upstream.Score()
				if s.Appointments+review != bookings || s.Duplicates != 0 || review > 0 {
					t.Errorf("practice system: %+v, %d for review; want %d together", s, review, bookings)
				}
				if s.MinSpacing < 10*time.Second {
					t.Errorf("writes were %s apart, want 10 s", s.MinSpacing)
				}
				there := p.Upstream.Appointments()
				if dead { // the first operation got no response, so it is looked up instead of retried
					there = slices.DeleteFunc(there, func(a upstreamtest.Appointment) bool {
						return a.Start.Equal(p.Bookings()[0].SlotStart)
					})
				}
				if !slices.IsSortedFunc(there, func(a, b upstreamtest.Appointment) int {
					return a.Start.Compare(b.Start)
				}) {
					t.Error("the queue did not drain in order")
				}
			})
		})
	}
}

// TestOperationIsGivenUpInTime: the server retries until 15 minutes before the start. After that, the clinic sees the
// failure.
func TestOperationIsGivenUpInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPractice(t, enginetest.PracticeOptions{Upstream: &upstreamtest.Options{}})
		p.Line.Set(true, false)
		start := p.SlotAt(20)
		a := p.Ask(p.Wish(20))
		p.Ask(p.Wish(48 * 5)) // does not delay any other booking, but keeps the lane busy
		time.Sleep(time.Until(start.Add(-15*time.Minute - time.Second)))
		if got := p.Bookings()[0]; got.UpstreamState != store.UpstreamPending {
			t.Errorf("a second before: %s, want pending", got.UpstreamState)
		}
		p.Until(6*time.Minute, "given up", func() bool { return p.Bookings()[0].UpstreamState == store.UpstreamFailed })
		op, err := p.Agent.Operation(t.Context(), a.OperationID)
		if err != nil || op.Status != store.OperationFailed || op.NeedsReview ||
			!strings.Contains(op.Guidance.VoiceResponse, "could not be completed") {
			t.Errorf("the operation: %+v, %v", op, err)
		}
		d, err := p.Record.Deliveries(t.Context(), p.Bookings()[0].ID)
		if err != nil || len(d) != 1 || d[0].State != "failed" || d[0].Channel != "upstream" {
			t.Errorf("the deliveries: %+v, %v; want one failed", d, err)
		}
		if got := p.Bookings()[0]; got.Status != store.Confirmed {
			t.Errorf("the appointment is %s, want it unchanged, so that the staff decides", got.Status)
		}
	})
}

// TestTenAttempts: after the rate limit has refused ten attempts, the operation visibly fails. A person can retry it.
func TestTenAttempts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPractice(t, enginetest.PracticeOptions{Upstream: &upstreamtest.Options{}})
		for range 12 {
			p.Upstream.Outcomes(upstreamtest.RateLimited)
		}
		a := p.Ask(p.Wish(48 * 3))
		p.Until(2*time.Hour, "given up", p.Settled)
		var at []time.Time
		for _, c := range p.Upstream.Calls() {
			at = append(at, c.At)
		}
		var waits []time.Duration
		for i := 2; i < len(at); i++ {
			waits = append(waits, at[i].Sub(at[i-1]).Round(time.Second))
		}
		s := time.Second
		if want := []time.Duration{10 * s, 20 * s, 40 * s, 80 * s, 160 * s, 300 * s, 300 * s, 300 * s, 300 * s,
			300 * s}; !slices.Equal(waits, want) {
			t.Errorf("the attempts were %v apart, want %v", waits, want)
		}
		status, err := p.Outbound.Status(t.Context(), outbound.QueueFilter{Names: true})
		if err != nil || status.Failed != 1 || len(status.Operations) != 1 || status.Operations[0].Attempts != 10 ||
			status.Operations[0].LastError == "" {
			t.Fatalf("the queue: %+v, %v; want one failed after 10", status, err)
		}
		if got := p.BookingOf(); got.UpstreamState != store.UpstreamFailed {
			t.Errorf("upstream %s, want failed", got.UpstreamState)
		}
		if err := p.Outbound.Review(t.Context(), "user:jo", a.OperationID, outbound.DecisionExists); !errors.Is(err,
			record.ErrOperationState) {
			t.Errorf("review of an operation without an unknown outcome: got %v, want ErrOperationState", err)
		}
		if err := p.Outbound.Retry(t.Context(), "user:jo", a.OperationID); err != nil {
			t.Fatal(err)
		}
		if got := p.BookingOf(); got.UpstreamState != store.UpstreamPending {
			t.Errorf("retried: upstream %s, want pending", got.UpstreamState)
		}
		p.Until(time.Minute, "delivered", p.Settled)
		if got := p.BookingOf(); got.UpstreamState != store.UpstreamConfirmed || p.Upstream.Score().Appointments != 1 {
			t.Errorf("after the retry: upstream %s, %+v", got.UpstreamState, p.Upstream.Score())
		}
		if err := p.Outbound.Retry(t.Context(), "user:jo", a.OperationID); !errors.Is(err, record.ErrOperationState) {
			t.Errorf("a retry of a completed operation: got %v, want ErrOperationState", err)
		}
		if err := p.Outbound.Retry(t.Context(), "user:jo", "op-1-unknown"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a retry of a missing operation: got %v, want ErrNotFound", err)
		}
	})
}

// TestReview: a person can decide about an unknown outcome in three ways. For each, the resulting state is checked.
func TestReview(t *testing.T) {
	t.Parallel()
	garbage := upstreamtest.Step{Procedure: "GetAppointmentListByPatient", Outcome: upstreamtest.Garbage}
	for _, test := range []struct {
		decision outbound.Decision
		outcome  upstreamtest.Outcome
		state    store.UpstreamState
		there    int
		guid     bool
	}{
		{outbound.DecisionExists, upstreamtest.LostApplied, store.UpstreamConfirmed, 1, true},
		{outbound.DecisionResend, upstreamtest.LostNotApplied, store.UpstreamConfirmed, 1, true},
		{outbound.DecisionGiveUp, upstreamtest.LostNotApplied, store.UpstreamFailed, 0, false},
	} {
		t.Run(string(test.decision), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := enginetest.NewPractice(t, enginetest.PracticeOptions{Upstream: &upstreamtest.Options{}})
				p.Upstream.Script(upstreamtest.Step{Outcome: test.outcome}, garbage, garbage, garbage)
				a := p.Ask(p.Wish(48 * 3))
				p.Until(time.Hour, "for review", p.Settled)
				op, err := p.Agent.Operation(t.Context(), a.OperationID)
				if err != nil || op.Status != store.OperationFailed || !op.NeedsReview ||
					p.BookingOf().UpstreamState != store.UpstreamReview {
					t.Fatalf("after three failed look-ups: %+v, %v, upstream %s", op, err, p.BookingOf().UpstreamState)
				}
				if err := p.Outbound.Retry(t.Context(), "user:jo", a.OperationID); !errors.Is(err,
					record.ErrOperationState) {
					t.Errorf("a retry without a decision: got %v, want ErrOperationState", err)
				}
				if err := p.Outbound.Review(t.Context(), "user:jo", a.OperationID, "perhaps"); err == nil {
					t.Error("an invalid decision was accepted")
				}
				if err := p.Outbound.Review(t.Context(), "user:jo", a.OperationID, test.decision); err != nil {
					t.Fatal(err)
				}
				p.Until(time.Minute, "settled", p.Settled)
				got := p.BookingOf()
				if got.UpstreamState != test.state || (got.UpstreamID != "") != test.guid ||
					got.Status != store.Confirmed {
					t.Errorf("decided: upstream %s, GUID %q, %s; want %s, a GUID %v, confirmed", got.UpstreamState,
						got.UpstreamID, got.Status, test.state, test.guid)
				}
				if s := p.Upstream.Score(); s.Appointments != test.there || s.Duplicates != 0 {
					t.Errorf("upstream %+v, want %d", s, test.there)
				}
			})
		})
	}
}

// failingStore is a database that accepts a number of writes after failAfter is set, and then fails every further
// write.
type failingStore struct {
	store.Store
	failAfter atomic.Pointer[atomic.Int32] // if nil, it does not fail
}

func (f *failingStore) Write(ctx context.Context, do func(store.Tx) error) error {
	if left := f.failAfter.Load(); left != nil && left.Add(-1) < 0 {
		return store.ErrUnavailable
	}
	return f.Store.Write(ctx, do)
}

// TestReviewWritesOutcomeWithAudit: a person's decision that an operation took effect and its audit entry are written
// together. The database contains either both or neither.
func TestReviewWritesOutcomeWithAudit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var db *failingStore
		p := enginetest.NewPractice(t, enginetest.PracticeOptions{Upstream: &upstreamtest.Options{},
			Change: func(o *engine.Options) {
				db = &failingStore{Store: o.Store}
				o.Store = db
			}})
		garbage := upstreamtest.Step{Procedure: "GetAppointmentListByPatient", Outcome: upstreamtest.Garbage}
		p.Upstream.Script(upstreamtest.Step{Outcome: upstreamtest.LostApplied}, garbage, garbage, garbage)
		a := p.Ask(p.Wish(48 * 3))
		p.Until(time.Hour, "for review", p.Settled)
		for _, x := range []struct {
			writes  int32
			state   store.UpstreamState
			entries int
		}{{0, p.BookingOf().UpstreamState, 0}, {1, store.UpstreamConfirmed, 1}} {
			left := new(atomic.Int32)
			left.Store(x.writes)
			db.failAfter.Store(left)
			err := p.Outbound.Review(t.Context(), "user:jo", a.OperationID, outbound.DecisionExists)
			db.failAfter.Store(nil)
			if got := p.BookingOf().UpstreamState; (err == nil) != (x.writes > 0) || got != x.state {
				t.Errorf("with %d writes: got %v, upstream %s; want %s", x.writes, err, got, x.state)
			}
			entries, _, err := p.Engine.Record.Audit(t.Context(),
				store.AuditFilter{Action: "operation.exists", Limit: 10})
			if err != nil || len(entries) != x.entries {
				t.Errorf("with %d writes: the audit log has %d entries, %v; want %d", x.writes, len(entries), err,
					x.entries)
			}
			if st, err := p.Outbound.Operation(t.Context(), a.OperationID, false); err != nil ||
				st.NeedsReview != (x.writes == 0) {
				t.Errorf("with %d writes: the operation is %+v, %v", x.writes, st, err)
			}
		}
	})
}

// TestOwnFirstAttemptIsAdopted: the upstream applies the first attempt so late that the look-up does not find the
// appointment. The second attempt is refused because our own first attempt has taken the slot. The server detects this,
// and no caller is notified that the booking failed.
func TestOwnFirstAttemptIsAdopted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPractice(t, enginetest.PracticeOptions{Upstream: &upstreamtest.Options{RefuseTaken: true}})
		p.Upstream.Script(upstreamtest.Step{Outcome: upstreamtest.Late, Delay: 95 * time.Second})
		p.Ask(p.Wish(48 * 3))
		time.Sleep(75 * time.Second)
		p.Ask(p.Wish(48 * 5)) // checks that the upstream is reachable, so that the next call does not have to
		time.Sleep(13 * time.Second)
		p.Ask(p.Wish(48 * 4)) // occupies the lane until 98 s; the first one is looked up at 90 s and written at 98 s
		p.Until(time.Hour, "settled", p.Settled)
		refused := 0
		for _, c := range p.Upstream.Calls() {
			if c.Procedure == "SetAppointment" && !c.Applied {
				refused++
			}
		}
		if refused != 1 {
			t.Fatalf("%d writes were refused, want one (or this test proves nothing)", refused)
		}
		for _, a := range p.Bookings() {
			if a.UpstreamState != store.UpstreamConfirmed || a.UpstreamID == "" {
				t.Errorf("%s is %s upstream, want confirmed", a.ID, a.UpstreamState)
			}
		}
		if s := p.Upstream.Score(); s.Appointments != 3 || s.Duplicates != 0 {
			t.Errorf("upstream %+v, want three", s)
		}
	})
}

// TestVisitorsUpstream: a visitor's booking is also written upstream, with a separate patient. So are its moves and its
// cancellation.
func TestVisitorsUpstream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPractice(t, enginetest.PracticeOptions{Upstream: &upstreamtest.Options{RefuseTaken: true}})
		r := enginetest.BookingOf(1, "cleaning")
		r.SlotStart = p.SlotAt(20)
		a, err := p.Booking.Book(t.Context(), r)
		if err != nil || a.UpstreamState != store.UpstreamPending {
			t.Fatalf("booked: upstream %s, %v; want pending", a.UpstreamState, err)
		}
		p.Until(time.Minute, "settled", p.Settled)
		first := p.BookingOf()
		if first.UpstreamState != store.UpstreamConfirmed || first.UpstreamID == "" || first.UpstreamPatientID == "" {
			t.Fatalf("delivered: %+v", first)
		}
		for _, half := range []int{30, 31} { // to another time, then to the half hour after it
			if _, err := p.Booking.Reschedule(t.Context(), booking.RescheduleRequest{ID: a.ID,
				SlotStart: p.SlotAt(half), Actor: "user:jo"}); err != nil {
				t.Fatal(err)
			}
			p.Until(2*time.Minute, "settled", p.Settled)
		}
		// A second booking for the same person uses the same patient.
		r2 := enginetest.BookingOf(1, "cleaning")
		r2.SlotStart, r2.Client = p.SlotAt(40), enginetest.Client(2)
		if _, err := p.Booking.Book(t.Context(), r2); err != nil {
			t.Fatal(err)
		}
		p.Until(2*time.Minute, "settled", p.Settled)
		var live []upstreamtest.Appointment
		patients := map[string]bool{}
		for _, u := range p.Upstream.Appointments() {
			patients[u.PatientGUID] = true
			if !u.Cancelled {
				live = append(live, u)
			}
		}
		if len(live) != 2 || !live[0].Start.Equal(p.SlotAt(31)) || len(patients) != 1 {
			t.Errorf("practice system: %+v of %d patients, want the moved one and the second, of one patient", live,
				len(patients))
		}
		if _, err := p.Booking.Cancel(t.Context(), booking.CancelRequest{ID: a.ID, Actor: "manage"}); err != nil {
			t.Fatal(err)
		}
		p.Until(2*time.Minute, "settled", p.Settled)
		if s := p.Upstream.Score(); s.Appointments != 1 {
			t.Errorf("after the cancellation, practice system: %+v, want only the other one", s)
		}
	})
}

// TestUnknownPatientNeedsReview: the server cannot find out whether a patient was added. To avoid adding the patient
// twice, it lets a person decide.
func TestUnknownPatientNeedsReview(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPractice(t, enginetest.PracticeOptions{Upstream: &upstreamtest.Options{}})
		p.Upstream.Script(upstreamtest.Step{Procedure: "SetPatient", Outcome: upstreamtest.LostApplied})
		r := enginetest.BookingOf(1, "cleaning")
		r.SlotStart = p.SlotAt(20)
		if _, err := p.Booking.Book(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		p.Until(10*time.Minute, "for review", p.Settled)
		if got := p.BookingOf(); got.UpstreamState != store.UpstreamReview {
			t.Errorf("upstream %s, want needs_review", got.UpstreamState)
		}
		added := 0
		for _, c := range p.Upstream.Calls() {
			if c.Procedure == "SetPatient" {
				added++
			}
		}
		if added != 1 {
			t.Errorf("the patient was added %d times, want once", added)
		}
	})
}

// TestQueueLost: the queue file is lost with everything in it. The operations in the outbox are still delivered, once
// each.
func TestQueueLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPractice(t, enginetest.PracticeOptions{Upstream: &upstreamtest.Options{}})
		p.Upstream.Outcomes(upstreamtest.LostApplied, upstreamtest.LostApplied)
		p.Ask(p.Wish(48 * 3))
		r := enginetest.BookingOf(1, "cleaning")
		r.SlotStart = p.SlotAt(20)
		if _, err := p.Booking.Book(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Second)
		if s := p.Upstream.Score(); s.Appointments != 2 {
			t.Fatalf("practice system: %+v, want both, with their state unknown here", s)
		}
		p.Line.Set(true, false)
		p.Ask(p.Wish(48*3 + 1))
		p.End()
		if err := os.Remove(filepath.Join(p.Dir, "queue.bolt")); err != nil {
			t.Fatal(err)
		}
		p.Line.Set(false, false)
		p.Open()
		p.Until(time.Hour, "settled", p.Settled)
		if s := p.Upstream.Score(); s.Appointments != 3 || s.Duplicates != 0 {
			t.Errorf("practice system: %+v, want each of the three once", s)
		}
	})
}

// queuedWrite opens a practice with one booking that waits in the queue, because the line to the practice-management
// system is cut.
func queuedWrite(t *testing.T) *enginetest.TestPractice {
	t.Helper()
	p := enginetest.NewPractice(t, enginetest.PracticeOptions{Upstream: &upstreamtest.Options{}})
	p.Line.Set(true, false)
	r := enginetest.BookingOf(1, "cleaning")
	r.SlotStart = p.SlotAt(20)
	if _, err := p.Booking.Book(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	return p
}

// TestWriteSurvivesRenamedChair: the upstream's id of a chair is corrected while a booking waits. The booking is
// written with the new id instead of being lost.
func TestWriteSurvivesRenamedChair(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := queuedWrite(t)
		if _, err := p.Clinic.UpdateSpecialist(t.Context(), "user:jo", "chair0", func(s *store.Specialist) {
			s.UpstreamColumnID = enginetest.ColumnGUID(7)
		}); err != nil {
			t.Fatal(err)
		}
		p.Line.Set(false, false)
		p.Until(20*time.Minute, "settled", p.Settled)
		list := p.Upstream.Appointments()
		if len(list) != 1 || list[0].ScheduleColumnGUID != enginetest.ColumnGUID(7) ||
			p.BookingOf().UpstreamState != store.UpstreamConfirmed {
			t.Errorf("practice system: %+v, here %s; want it in the renamed chair", list, p.BookingOf().UpstreamState)
		}
	})
}

// TestRetryAfterACorrection: a booking failed because the upstream did not have its chair. It is retried after the
// correction.
func TestRetryAfterACorrection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPractice(t, enginetest.PracticeOptions{Upstream: &upstreamtest.Options{}})
		p.Upstream.Outcomes(upstreamtest.RateLimited, upstreamtest.RateLimited, upstreamtest.SlotTaken)
		a := p.Ask(p.Wish(48 * 3))
		p.Until(time.Minute, "failed", p.Settled)
		if got := p.BookingOf().UpstreamState; got != store.UpstreamFailed {
			t.Fatalf("upstream %s, want failed", got)
		}
		if _, err := p.Clinic.UpdateSpecialist(t.Context(), "user:jo", "chair0", func(s *store.Specialist) {
			s.UpstreamColumnID = enginetest.ColumnGUID(7)
		}); err != nil {
			t.Fatal(err)
		}
		if err := p.Outbound.Retry(t.Context(), "user:jo", a.OperationID); err != nil {
			t.Fatal(err)
		}
		p.Until(time.Minute, "delivered", p.Settled)
		if list := p.Upstream.Appointments(); len(list) != 1 || list[0].ScheduleColumnGUID != enginetest.ColumnGUID(7) {
			t.Errorf("practice system: %+v, want it in the renamed chair", list)
		}
	})
}

// TestEraseDuringQueuedWrite: a person is erased while their booking waits. The booking is not written, and staff see
// that.
func TestEraseDuringQueuedWrite(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := queuedWrite(t)
		if _, err := p.Person.Erase(t.Context(), "user:jo", store.Person{Email: "p1@example.org"}); err != nil {
			t.Fatal(err)
		}
		p.Line.Set(false, false)
		p.Until(20*time.Minute, "settled", p.Settled)
		if got := p.BookingOf(); got.UpstreamState != store.UpstreamFailed || len(p.Upstream.Appointments()) != 0 {
			t.Errorf("upstream %s, %d appointments; want failed and none", got.UpstreamState, len(p.Upstream.Appointments()))
		}
	})
}

// TestNothingPersonalLeaks: the queue file, the log, errors and an agent's view of the queue contain no personal data.
func TestNothingPersonalLeaks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPractice(t, enginetest.PracticeOptions{Upstream: &upstreamtest.Options{},
			Change: func(o *engine.Options) { o.DebugReplies = true }})
		canaries := []string{"Canarina", "Canaroe", "canary@example.org", "5550199", "Canarychild", "Canaryplan",
			"1987-06-05", "06/05/1987"}
		leaks := func(where, text string) {
			t.Helper()
			for _, canary := range canaries {
				if strings.Contains(strings.ToLower(text), strings.ToLower(canary)) {
					t.Errorf("%s has %q: %s", where, canary, text[max(0, strings.Index(text, canary)-80):])
				}
			}
		}
		who, err := p.Agent.Identify(t.Context(), enginetest.AgentKey, agent.Patient{
			FirstName: "Canarina", LastName: "Canaroe", BirthDate: "06/05/1987", Phone: "+1 555 5550199",
			Email: "canary@example.org", UUI: "call",
		})
		if err != nil {
			t.Fatal(err)
		}
		p.Upstream.Outcomes(upstreamtest.RateLimited, upstreamtest.RateLimited, upstreamtest.LostNotApplied,
			upstreamtest.RateLimited)
		b := p.Wish(48 * 3)
		b.PatientGUID, b.BookingAuthToken, b.ChildName, b.Note = who.PatientGUID, who.BookingAuthToken, "Canarychild",
			"Insurance: Canaryplan"
		a := p.Ask(b)
		if a.Outcome != agent.Queued {
			t.Fatalf("got %+v, want it queued", a)
		}
		visitor := enginetest.BookingOf(9, "cleaning")
		visitor.SlotStart = p.SlotAt(48 * 4)
		visitor.Patient = store.Patient{Name: "Canarina Canaroe", Email: "canary@example.org", Phone: "5550199",
			BirthDate: "1987-06-05", Notes: "Canaryplan"}
		if _, err := p.Booking.Book(t.Context(), visitor); err != nil {
			t.Fatal(err)
		}
		for range 20 {
			status, err := p.Outbound.Status(t.Context(), outbound.QueueFilter{})
			if err != nil {
				t.Fatal(err)
			}
			for _, op := range status.Operations {
				leaks("an operation", op.LastError+op.ChildName+string(op.Payload))
			}
			time.Sleep(20 * time.Second)
		}
		named, err := p.Outbound.Status(t.Context(), outbound.QueueFilter{Names: true})
		if err != nil || !slices.ContainsFunc(named.Operations, func(o outbound.QueuedOperation) bool {
			return o.ChildName == "Canarychild"
		}) {
			t.Errorf("with names, the queue is %+v, %v; want Canarychild", named, err)
		}
		p.Until(time.Hour, "settled", p.Settled)
		leaks("the answer", a.Message+a.Guidance.VoiceResponse+strings.Join(a.Guidance.Chain, " ")+a.Debug.LastError)
		leaks("the log", p.Log.String())
		for _, entry := range enginetest.Must(audit(p)) {
			leaks("the audit log", entry.Reason+string(entry.Before)+string(entry.After))
		}
		p.End()
		file, err := os.ReadFile(filepath.Join(p.Dir, "queue.bolt"))
		if err != nil {
			t.Fatal(err)
		}
		leaks("the queue's file", string(file))
		p.Open()
	})
}

func audit(p *enginetest.TestPractice) ([]store.AuditEntry, error) {
	list, _, err := p.Record.Audit(context.Background(), store.AuditFilter{Limit: 500})
	return list, err
}
