package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/agent"
	"holdfast/engine/booking"
	"holdfast/engine/enginetest"
	"holdfast/engine/practice"
	"holdfast/engine/record"
	"holdfast/engine/token"
	"holdfast/engine/upstream/upstreamtest"
	"holdfast/store"
)

// TestAgentAnswers: createAppt has four possible responses. For each, the test also checks the resulting state of the
// database and of the upstream.
func TestAgentAnswers(t *testing.T) {
	t.Parallel()
	type after struct {
		status    store.Status
		state     store.UpstreamState
		upstream  int // number of appointments in the upstream
		pending   int // number of operations in the queue
		elapsed   time.Duration
		noteThere bool
	}
	ok, limited, taken := upstreamtest.OK, upstreamtest.RateLimited, upstreamtest.SlotTaken
	for name, test := range map[string]struct {
		script  []upstreamtest.Outcome
		change  func(*agent.BookRequest)
		outcome agent.Outcome
		error   string
		action  string
		after   after
	}{
		"confirmed": {nil, nil, agent.Confirmed, "", "confirm_booking_to_caller",
			after{store.Confirmed, store.UpstreamConfirmed, 1, 0, 0, true}},
		"confirmed at the second try": {[]upstreamtest.Outcome{limited, ok}, nil, agent.Confirmed, "",
			"confirm_booking_to_caller",
			after{store.Confirmed, store.UpstreamConfirmed, 1, 0, 5 * time.Second, true}},
		"confirmed without a GUID": {[]upstreamtest.Outcome{upstreamtest.OKNoGUID}, nil, agent.Confirmed, "",
			"confirm_booking_to_caller",
			after{store.Confirmed, store.UpstreamConfirmed, 1, 0, 0, true}},
		"queued by the limit": {[]upstreamtest.Outcome{limited, limited}, nil, agent.Queued, "RATE_LIMITED_QUEUED",
			"inform_caller_queued",
			after{store.Confirmed, store.UpstreamPending, 0, 1, 5 * time.Second, false}},
		"queued by silence": {[]upstreamtest.Outcome{upstreamtest.Slow}, nil, agent.Queued, "OUTCOME_UNKNOWN_QUEUED",
			"inform_caller_queued",
			after{store.Confirmed, store.UpstreamPending, 1, 1, 12 * time.Second, false}},
		"queued by a cut line": {[]upstreamtest.Outcome{upstreamtest.LostApplied}, nil, agent.Queued,
			"OUTCOME_UNKNOWN_QUEUED", "inform_caller_queued",
			after{store.Confirmed, store.UpstreamPending, 1, 1, 0, false}},
		"queued by wrong credentials": {[]upstreamtest.Outcome{upstreamtest.Unauthorized}, nil, agent.Queued,
			"UPSTREAM_MISCONFIGURED_QUEUED", "inform_caller_queued",
			after{store.Confirmed, store.UpstreamPending, 0, 1, 0, false}},
		"refused: taken": {[]upstreamtest.Outcome{taken}, nil, agent.Refused, "SLOT_UNAVAILABLE", "offer_alternatives",
			after{store.Cancelled, store.UpstreamNone, 0, 0, 0, false}},
		"refused: no such patient": {[]upstreamtest.Outcome{upstreamtest.PatientUnknown}, nil, agent.Refused,
			"PATIENT_NOT_FOUND", "identify_patient_again",
			after{store.Cancelled, store.UpstreamNone, 0, 0, 0, false}},
		"rejected: no token": {nil, func(b *agent.BookRequest) {
			b.BookingAuthToken = ""
		}, agent.Rejected, "BOOKING_AUTH_MISSING", "", after{}},
		"rejected: a changed token": {nil, func(b *agent.BookRequest) {
			b.BookingAuthToken = changed(b.BookingAuthToken)
		}, agent.Rejected, "BOOKING_AUTH_SIGNATURE_INVALID", "", after{}},
		"rejected: another patient": {nil, func(b *agent.BookRequest) {
			b.PatientGUID = enginetest.PatientGUID(99)
		}, agent.Rejected, "BOOKING_AUTH_GUID_MISMATCH", "", after{}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := enginetest.NewPractice(t, enginetest.PracticeOptions{
					Upstream: &upstreamtest.Options{Columns: enginetest.AlwaysOpen()}})
				p.Upstream.Outcomes(test.script...)
				b := p.Wish(20)
				b.ChildName, b.Note = "Mia Canary", "DOB: 02/03/2015"
				if test.change != nil {
					test.change(&b)
				}
				began := time.Now()
				a := p.Ask(b)
				if a.Outcome != test.outcome || a.ErrorType != test.error || a.Guidance.Action != test.action {
					t.Fatalf("got %s %q, action %q: %+v\nwant %s %q, action %q", a.Outcome, a.ErrorType,
						a.Guidance.Action, a, test.outcome, test.error, test.action)
				}
				if got := time.Since(began); got != test.after.elapsed {
					t.Errorf("it took %s, want %s", got, test.after.elapsed)
				}
				if strings.Contains(strings.Join(append(a.Guidance.Chain, a.Guidance.VoiceResponse), " "), "Canary") {
					t.Errorf("the guidance contains a caller's input: %+v", a.Guidance)
				}
				synctest.Wait()
				n, _ := p.Queue.Counts(t.Context())
				if n.Pending != test.after.pending || n.Completed+n.Failed+n.Processing != 0 {
					t.Errorf("the queue has %+v, want %d pending", n, test.after.pending)
				}
				if got := p.Upstream.Score().Appointments; got != test.after.upstream {
					t.Errorf("the practice system has %d, want %d", got, test.after.upstream)
				}
				notes := p.Upstream.Comments(enginetest.PatientGUID(20))
				if a.NoteAdded != test.after.noteThere || (len(notes) == 1) != test.after.noteThere {
					t.Errorf("note added: %v, and %d notes; want %v", a.NoteAdded, len(notes), test.after.noteThere)
				}
				if len(notes) == 1 && notes[0] != "Child: Mia Canary | DOB: 02/03/2015" {
					t.Errorf("the note is %q", notes[0])
				}
				if test.outcome == agent.Rejected {
					if len(p.Bookings()) != 0 {
						t.Error("a rejected booking left an appointment")
					}
					return
				}
				here := p.BookingOf()
				if here.Status != test.after.status || here.UpstreamState != test.after.state {
					t.Errorf("the appointment is %s, upstream %s; want %s, %s", here.Status, here.UpstreamState,
						test.after.status, test.after.state)
				}
				switch test.outcome {
				case agent.Confirmed:
					if a.AppointmentGUID == "" || a.AppointmentGUID != here.UpstreamID ||
						a.Message != "Appointment GUID Added: "+a.AppointmentGUID {
						t.Errorf("confirmed as %q with message %q, the appointment is %q", a.AppointmentGUID, a.Message,
							here.UpstreamID)
					}
					if want := "{childName} is booked at Harbour Dental for Saturday, January 1st at 10 AM. Please note that a parent or legal guardian has to come along."; a.Guidance.VoiceResponse != want {
						t.Errorf("voice response %q, want %q", a.Guidance.VoiceResponse, want)
					}
				case agent.Queued:
					op, err := p.Agent.Operation(t.Context(), a.OperationID)
					if err != nil || op.Status != store.OperationPending {
						t.Errorf("operation %q: %+v, %v; want pending", a.OperationID, op, err)
					}
					p.Until(10*time.Minute, "delivered", p.Settled)
					op, err = p.Agent.Operation(t.Context(), a.OperationID)
					if err != nil || op.Status != store.OperationCompleted || op.AppointmentGUID == "" {
						t.Errorf("delivered: %+v, %v; want completed with a GUID", op, err)
					}
					if s := p.Upstream.Score(); s.Appointments != 1 || s.Duplicates != 0 {
						t.Errorf("practice system: %+v, want exactly one", s)
					}
					if got := p.Upstream.Comments(enginetest.PatientGUID(20)); len(got) != 1 {
						t.Errorf("%d notes, want 1", len(got))
					}
				case agent.Refused:
					if len(a.Alternatives) != 3 {
						t.Errorf("%d alternatives, want 3", len(a.Alternatives))
					}
				}
			})
		})
	}
}

// TestLateTurnWritesNothing: a node pauses while it waits for its turn at the shared pacer, and resumes long after its
// caller got the response "queued". At that point, it must not write to the upstream: the booking is in the queue, and
// another node may have taken it over.
func TestLateTurnWritesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stopped, turns := 30*time.Second, 0
		p := enginetest.NewPractice(t, enginetest.PracticeOptions{Upstream: &upstreamtest.Options{},
			Change: func(o *engine.Options) {
				o.Pace = practice.Pace{
					Reserve: func(_ context.Context, name string, _, _ time.Duration) (time.Duration, int64, error) {
						if name != "upstream" {
							return 0, 1, nil
						}
						wait := stopped
						stopped = 0
						turns++
						return wait, 1, nil
					},
					Again:  func(context.Context, string, time.Duration, int64) (bool, error) { return false, nil },
					Return: func(context.Context, string, time.Duration, int64) error { return nil },
				}
			}})
		began := time.Now()
		if a := p.Ask(p.Wish(20)); a.Outcome != agent.Queued || time.Since(began) > practice.DefaultAgentBound {
			t.Fatalf("got %+v after %v, want queued within the bound", a, time.Since(began))
		}
		p.Until(10*time.Minute, "delivered", p.Settled)
		if asked := p.Asked("SetAppointment"); len(asked) != 1 || turns != 2 {
			t.Errorf("written %d times after %d turns; want once, by the queue in the second turn", len(asked),
				turns)
		}
	})
}

// TestAgentWithoutUpstream: without an upstream, the booking is complete as soon as Holdfast has stored it, and the
// appointment's own id is its GUID.
func TestAgentWithoutUpstream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPractice(t, enginetest.PracticeOptions{})
		b := identified(t, p, "Jane", p.Wish(20))
		b.Note = "a note"
		a := p.Ask(b)
		here := p.BookingOf()
		if a.Outcome != agent.Confirmed || a.AppointmentGUID != here.ID || !a.NoteAdded ||
			here.UpstreamState != store.UpstreamNone {
			t.Errorf("got %+v; the appointment is %s, upstream %s", a, here.ID, here.UpstreamState)
		}
		if again := p.Ask(b); again.Outcome != agent.Confirmed || again.AppointmentGUID != here.ID {
			t.Errorf("the repeated booking: got %+v, want the first answer", again)
		}
		other := identified(t, p, "Mary", p.WishFor(21, 0, p.SlotAt(20)))
		if a := p.Ask(other); a.Outcome != agent.Refused || a.ErrorType != "SLOT_UNAVAILABLE" ||
			len(a.Alternatives) != 3 {
			t.Errorf("a booked slot for another patient: got %+v", a)
		}
		b = identified(t, p, "Jane", p.Wish(22))
		b.Minutes = 60
		var wrong *record.ValidationError
		if _, err := p.Agent.Book(t.Context(), enginetest.AgentKey, b); !errors.As(err, &wrong) ||
			wrong.Fields[0].Field != "minutes" {
			t.Errorf("a length other than the type's: got %v, want an error for minutes", err)
		}
	})
}

// TestAuthorization: a booking token authorizes a call. Without one, an earlier session between this key and the
// patient does. Without either, the call is refused.
func TestAuthorization(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPractice(t, enginetest.PracticeOptions{Upstream: &upstreamtest.Options{}})
		made, err := p.Agent.Identify(t.Context(), enginetest.AgentKey,
			agent.Patient{FirstName: "Jane", LastName: "Roe", BirthDate: "02/03/1980", Phone: "+1 555 0100",
				UUI: "call-1"})
		if err != nil || !made.Success {
			t.Fatalf("identify: %+v, %v", made, err)
		}
		again, err := p.Agent.Identify(t.Context(), enginetest.AgentKey,
			agent.Patient{FirstName: "Jane", LastName: "Roe", BirthDate: "02/03/1980", Phone: "+1 555 0100",
				UUI: "call-1"})
		if err != nil || again.PatientGUID != made.PatientGUID {
			t.Errorf("the same person is identified as %q, want %q: %v", again.PatientGUID, made.PatientGUID, err)
		}
		otherKey := record.Principal{KeyID: "other", Scope: store.ScopeAgent}
		next := 20
		try := func(key record.Principal, change func(*agent.BookRequest)) agent.Answer {
			t.Helper()
			time.Sleep(time.Minute)
			b := p.Wish(next)
			next++
			b.PatientGUID, b.BookingAuthToken = made.PatientGUID, ""
			change(&b)
			a, err := p.Agent.Book(t.Context(), key, b)
			if err != nil {
				t.Fatal(err)
			}
			return a
		}
		if a := try(enginetest.AgentKey, func(b *agent.BookRequest) {
			b.BookingAuthToken = made.BookingAuthToken
		}); a.Outcome != agent.Confirmed {
			t.Errorf("with its token: %+v", a)
		}
		if a := try(enginetest.AgentKey, func(b *agent.BookRequest) {
			b.PatientGUID = strings.ToUpper(made.PatientGUID)
		}); a.Outcome != agent.Confirmed {
			t.Errorf("by the session id in capitals: %+v", a)
		}
		if a := try(enginetest.AgentKey, func(b *agent.BookRequest) {
			b.PatientGUID, b.UUI = "", "call-1"
		}); a.Outcome != agent.Confirmed {
			t.Errorf("by the call id alone: %+v", a)
		}
		if here := p.Bookings()[0]; here.Patient.Name != "Jane Roe" || here.Patient.BirthDate != "1980-02-03" {
			t.Errorf("the appointment's patient is %+v, want Jane Roe of 1980-02-03", here.Patient)
		}
		if a := try(otherKey, func(b *agent.BookRequest) {}); a.ErrorType != token.BookingAuthMissing.Code() {
			t.Errorf("a session of another key: %+v, want %s", a, token.BookingAuthMissing)
		}
		if a := try(enginetest.AgentKey, func(b *agent.BookRequest) {
			b.PatientGUID, b.UUI = enginetest.PatientGUID(7), "call-1"
		}); a.ErrorType != token.BookingAuthGUIDMismatch.Code() {
			t.Errorf("the call's token for another patient: %+v, want %s", a, token.BookingAuthGUIDMismatch)
		}
		time.Sleep(15 * time.Minute)
		if a := try(enginetest.AgentKey,
			func(b *agent.BookRequest) {}); a.ErrorType != token.BookingAuthExpired.Code() {
			t.Errorf("an expired session: %+v, want %s", a, token.BookingAuthExpired)
		}
	})
}

// TestAgentSessionSurvivesRestart: an agent session remains valid after a restart, even if the signing keys were
// rotated.
func TestAgentSessionSurvivesRestart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPractice(t, enginetest.PracticeOptions{})
		made, err := p.Agent.Identify(t.Context(), enginetest.AgentKey, enginetest.Jane)
		if err != nil || !made.Success {
			t.Fatalf("identify: %+v, %v", made, err)
		}
		for i, keys := range []*token.Keyring{p.Keys, p.Keys.Rotate(time.Now())} {
			p.End()
			p.Keys = keys
			p.Open()
			time.Sleep(time.Minute)
			b := p.Wish(20 + i)
			b.ScheduleColumnGUID, b.ScheduleViewGUID, b.AppointmentTypeGUID = "chair0", "", "cleaning"
			b.PatientGUID, b.BookingAuthToken, b.UUI = "", "", "call-1"
			if a := p.Ask(b); a.Outcome != agent.Confirmed {
				t.Errorf("restart %d: got %+v, want it confirmed", i, a)
			}
		}
	})
}

func TestLegacyIsOffByDefault(t *testing.T) {
	t.Parallel()
	for _, allowed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			p := enginetest.NewPractice(t, enginetest.PracticeOptions{Upstream: &upstreamtest.Options{},
				Change: func(o *engine.Options) { o.AgentAllowLegacy = allowed }})
			b := p.Wish(20)
			b.BookingAuthToken = ""
			a := p.Ask(b)
			if got := a.Outcome == agent.Confirmed; got != allowed {
				t.Errorf("allowed %v: got %+v", allowed, a)
			}
			b = p.Wish(21)
			b.BookingAuthToken, b.PatientGUID = "", "not-a-guid"
			if a := p.Ask(b); a.Outcome != agent.Rejected {
				t.Errorf("allowed %v, no GUID: got %+v", allowed, a)
			}
		})
	}
}

// TestBookingTokens: a bookingToken works once. If it is used again, the same patient gets the first response again and
// another patient is refused. The token works again once its fence has been cancelled.
func TestBookingTokens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPractice(t, enginetest.PracticeOptions{
			Upstream: &upstreamtest.Options{Columns: enginetest.AlwaysOpen()}})
		slots, err := p.Agent.Slots(t.Context(),
			agent.SlotsRequest{AppointmentTypeGUID: strings.ToUpper(enginetest.TypeGUID), Count: 10})
		if err != nil || len(slots.Slots) != 10 {
			t.Fatalf("slots: %+v, %v", slots, err)
		}
		with := func(patient int, signed string) agent.Answer {
			b := p.Wish(patient)
			b.StartTime, b.ScheduleViewGUID, b.ScheduleColumnGUID, b.AppointmentTypeGUID, b.Minutes = "", "", "", "", 0
			b.BookingToken = signed
			return p.Ask(b)
		}
		signed := slots.Slots[0].BookingToken
		p.Upstream.Outcomes(upstreamtest.SlotTaken)
		if a := with(1, signed); a.Outcome != agent.Refused {
			t.Fatalf("refused by the practice system: got %+v", a)
		}
		time.Sleep(20 * time.Second)
		a := with(1, signed)
		if a.Outcome != agent.Confirmed || !p.Bookings()[1].SlotStart.Equal(slots.Slots[0].Start) {
			t.Fatalf("after the blocking appointment was cancelled: got %+v", a)
		}
		if b := with(1, signed); b.Outcome != agent.Confirmed || b.AppointmentGUID != a.AppointmentGUID {
			t.Errorf("the same token again: got %+v, want the first answer", b)
		}
		if b := with(2, signed); b.Outcome != agent.Refused || b.ErrorType != "BOOKING_TOKEN_USED" {
			t.Errorf("for another patient: got %+v", b)
		}
		if b := with(2, changed(signed)); b.Outcome != agent.Invalid || b.ErrorType != "BOOKING_TOKEN_INVALID" {
			t.Errorf("a changed token: got %+v", b)
		}
		time.Sleep(15 * time.Minute)
		if b := with(1, signed); b.Outcome != agent.Confirmed || b.AppointmentGUID != a.AppointmentGUID {
			t.Errorf("the same token after its expiry: got %+v, want the first answer", b)
		}
		if b := with(2, slots.Slots[1].BookingToken); b.ErrorType != "BOOKING_TOKEN_EXPIRED" {
			t.Errorf("an expired token: got %+v", b)
		}
		if s := p.Upstream.Score(); s.Appointments != 1 {
			t.Errorf("practice system: %+v, want one appointment", s)
		}
	})
}

// changed returns the token with its last character changed.
func changed(signed string) string {
	last := "A"
	if strings.HasSuffix(signed, last) {
		last = "E"
	}
	return signed[:len(signed)-1] + last
}

// TestConcurrentRepeatBooksOnce: a program sends the same booking a second time because the first call seems to hang.
// Only one booking is made, and neither call reports that the slot is taken.
func TestConcurrentRepeatBooksOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPractice(t, enginetest.PracticeOptions{Upstream: &upstreamtest.Options{}})
		p.Upstream.Script(upstreamtest.Step{Outcome: upstreamtest.Slow, Delay: 2 * time.Second})
		b := p.Wish(20)
		answers := make(chan agent.Answer, 2)
		for range 2 {
			go func() {
				a, err := p.Agent.Book(context.Background(), enginetest.AgentKey, b)
				if err != nil {
					t.Error(err)
				}
				answers <- a
			}()
		}
		for range 2 {
			if a := <-answers; a.Outcome != agent.Confirmed && a.Outcome != agent.Queued {
				t.Errorf("got %+v, want it confirmed or received", a)
			}
		}
		p.Until(time.Minute, "settled", p.Settled)
		if s := p.Upstream.Score(); s.Appointments != 1 || len(p.Bookings()) != 1 {
			t.Errorf("practice system: %+v, here %d; want one", s, len(p.Bookings()))
		}
	})
}

// TestQueuedBookingKeepsSlot: no other client can take a slot whose booking is queued, in progress or held.
func TestQueuedBookingKeepsSlot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPractice(t, enginetest.PracticeOptions{Upstream: &upstreamtest.Options{}})
		p.Upstream.Outcomes(upstreamtest.RateLimited, upstreamtest.RateLimited)
		if a := p.Ask(p.Wish(20)); a.Outcome != agent.Queued {
			t.Fatalf("got %+v, want it queued", a)
		}
		visitor := enginetest.BookingOf(1, "cleaning")
		visitor.SlotStart = p.SlotAt(20)
		if _, err := p.Booking.Book(t.Context(), visitor); !errors.Is(err, store.ErrSlotTaken) {
			t.Errorf("a visitor books the queued slot: got %v, want ErrSlotTaken", err)
		}
		if _, err := p.Booking.Hold(t.Context(), booking.HoldRequest{AppointmentTypeID: "cleaning",
			SlotStart: p.SlotAt(20), Client: enginetest.Client(1)}); !errors.Is(err, store.ErrSlotTaken) {
			t.Errorf("a visitor holds the queued slot: got %v, want ErrSlotTaken", err)
		}
		if _, err := p.Booking.Hold(t.Context(), booking.HoldRequest{AppointmentTypeID: "cleaning",
			SlotStart: p.SlotAt(21), Client: enginetest.Client(1)}); err != nil {
			t.Fatal(err)
		}
		if a := p.Ask(p.Wish(21)); a.Outcome != agent.Refused || a.ErrorType != "SLOT_UNAVAILABLE" {
			t.Errorf("an agent books the slot that a visitor holds: got %+v", a)
		}
	})
}
