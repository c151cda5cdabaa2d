package presence_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"holdfast/cli/clitest"
	"holdfast/engine/enginetest"
	"holdfast/engine/presence"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// These tests check sessions: the first specialist to accept gets the session, no specialist has more sessions than the
// limit, and the load equals the count in the database.

// request requests a session as client n.
func (c *onCall) request(n int) store.Session {
	c.T.Helper()
	s, err := c.Presence.RequestSession(context.Background(), enginetest.Client(n), presence.SessionRequest{}, nil)
	if err != nil {
		c.T.Fatal(err)
	}
	return s
}

func (c *onCall) mustAccept(id, specialistID string) store.Session {
	c.T.Helper()
	s, err := c.Presence.AcceptSession(context.Background(), id, specialistID)
	if err != nil {
		c.T.Fatalf("%s accepts: %v", specialistID, err)
	}
	return s
}

func TestSessionLifecycle(t *testing.T) {
	t.Parallel()
	c := newOnCall(t, presence.Options{}, "ada")
	c.online("ada")
	events := c.Events(holds.EventSession)
	s := c.request(1)
	if s.Status != store.SessionRequested || s.SpecialistID != "" ||
		s.ExpiresAt.Sub(s.RequestedAt) != presence.SessionRequestTTL {
		t.Errorf("a request is %+v", s)
	}
	if again := c.request(1); again.ID != s.ID {
		t.Errorf("a client with an open request got a second one")
	}
	if other := c.request(2); other.ID == s.ID {
		t.Errorf("another client got the same request")
	}
	c.wantLoads(map[string]int{"ada": 0})
	for range 2 { // a repeat gets the same response
		if a := c.mustAccept(s.ID, "ada"); a.Status != store.SessionActive || a.SpecialistID != "ada" ||
			a.AcceptedAt.IsZero() || a.Version != 2 {
			t.Errorf("accepted, it is %+v", a)
		}
	}
	c.wantLoads(map[string]int{"ada": 1})
	for range 2 {
		done, err := c.Presence.EndSession(t.Context(), s.ID, " prescribed ")
		if err != nil || done.Status != store.SessionEnded || done.Outcome != "prescribed" || done.EndedAt.IsZero() {
			t.Errorf("after its end, it is %+v, %v", done, err)
		}
	}
	c.wantLoads(map[string]int{"ada": 0})
	var got []string
	for _, ev := range events() {
		if ev.SessionID == s.ID {
			got = append(got, string(ev.Reason))
		}
	}
	if want := []string{"requested", "active", "ended"}; !slices.Equal(got, want) {
		t.Errorf("the streams received %v, want %v", got, want)
	}
	if next := c.request(1); next.ID == s.ID {
		t.Error("a new request after the end got the old session")
	}
}

func TestConcurrentAcceptsHaveOneWinner(t *testing.T) {
	t.Parallel()
	times := 1000
	if !clitest.InFull() {
		times = 150
	}
	c := newOnCall(t, presence.Options{}, "ada", "bea")
	c.online("ada", "bea")
	specialists := []string{"ada", "bea"}
	wins := map[string]int{}
	for i := range times {
		s := c.request(i)
		var both sync.WaitGroup
		var errs [2]error
		start := make(chan struct{})
		slices.Reverse(specialists) // because the second goroutine tends to run first
		for j, id := range specialists {
			both.Go(func() {
				<-start
				_, errs[j] = c.Presence.AcceptSession(context.Background(), s.ID, id)
			})
		}
		close(start)
		both.Wait()
		winner := slices.Index(errs[:], nil)
		if winner < 0 {
			t.Fatalf("request %d: both accepts failed: %v and %v", i, errs[0], errs[1])
		}
		enginetest.WantRefusal(t, "the other", errs[1-winner], presence.ReasonAccepted)
		now, err := c.Presence.Session(t.Context(), s.ID)
		if err != nil || now.SpecialistID != specialists[winner] {
			t.Fatalf("request %d: it belongs to %q, %v; want %s", i, now.SpecialistID, err, specialists[winner])
		}
		c.wantLoads(map[string]int{specialists[winner]: 1, specialists[1-winner]: 0})
		if _, err := c.Presence.EndSession(t.Context(), s.ID, ""); err != nil {
			t.Fatal(err)
		}
		wins[specialists[winner]]++
		if t.Failed() {
			t.FailNow()
		}
	}
	c.wantLoads(map[string]int{"ada": 0, "bea": 0})
	t.Logf("won: %v", wins)
}

func TestSessionsRespectCapacity(t *testing.T) {
	t.Parallel()
	c := newOnCall(t, presence.Options{}, "ada")
	c.online("ada")
	var all sync.WaitGroup
	errs := make([]error, 12)
	for i := range errs {
		s := c.request(i)
		all.Go(func() { _, errs[i] = c.Presence.AcceptSession(context.Background(), s.ID, "ada") })
	}
	all.Wait()
	taken := 0
	for _, err := range errs {
		if err == nil {
			taken++
			continue
		}
		enginetest.WantRefusal(t, "one too many", err, presence.ReasonAtCapacity)
	}
	if taken != 3 {
		t.Errorf("%d concurrent sessions were accepted, want 3", taken)
	}
	c.wantLoads(map[string]int{"ada": 3})
	if list, _ := c.Presence.Available(t.Context(), 0); len(list) != 0 {
		t.Errorf("available: got %v, want none", list)
	}
	// The limit can be changed at runtime.
	if _, err := c.Clinic.UpdateSpecialist(t.Context(), "system", "ada", func(p *store.Specialist) {
		p.MaxSessions = 4
	}); err != nil {
		t.Fatal(err)
	}
	if list, _ := c.Presence.Available(t.Context(), 0); len(list) != 1 {
		t.Errorf("available with a capacity of 4: got %v, want ada", list)
	}
	c.mustAccept(c.request(99).ID, "ada")
}

func TestLoadIsNeverNegative(t *testing.T) {
	t.Parallel()
	c := newOnCall(t, presence.Options{}, "ada")
	c.online("ada")
	s := c.request(1)
	c.mustAccept(s.ID, "ada")
	if _, err := c.Holds.Load(t.Context(), "ada", -5); err != nil { // simulates drift
		t.Fatal(err)
	}
	for range 3 {
		if _, err := c.Presence.EndSession(t.Context(), s.ID, ""); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Presence.CancelSession(t.Context(), s.ID, enginetest.Client(1)); err != nil {
			t.Fatal(err)
		}
	}
	c.wantLoads(map[string]int{"ada": 0})
}

func TestReroute(t *testing.T) {
	t.Parallel()
	c := newOnCall(t, presence.Options{}, "ada", "bea", "cy")
	c.online("ada", "bea")
	s := c.request(1)
	_, err := c.Presence.RerouteSession(t.Context(), s.ID, "bea")
	enginetest.WantRefusal(t, "before anybody accepted", err, presence.ReasonNotActive)
	c.mustAccept(s.ID, "ada")
	_, err = c.Presence.RerouteSession(t.Context(), s.ID, "cy")
	enginetest.WantRefusal(t, "to a specialist who is offline", err, presence.ReasonNotOnline)
	for range 2 {
		now, err := c.Presence.RerouteSession(t.Context(), s.ID, "bea")
		if err != nil || now.SpecialistID != "bea" || now.Status != store.SessionActive {
			t.Errorf("rerouted: got %+v, %v", now, err)
		}
		c.wantLoads(map[string]int{"ada": 0, "bea": 1})
	}
	for i := range 3 {
		c.mustAccept(c.request(10+i).ID, "ada")
	}
	_, err = c.Presence.RerouteSession(t.Context(), s.ID, "ada")
	enginetest.WantRefusal(t, "to a specialist with a full load", err, presence.ReasonAtCapacity)
	c.wantLoads(map[string]int{"ada": 3, "bea": 1})
	if _, err := c.Presence.EndSession(t.Context(), s.ID, ""); err != nil {
		t.Fatal(err)
	}
	_, err = c.Presence.RerouteSession(t.Context(), s.ID, "bea")
	enginetest.WantRefusal(t, "after the end", err, presence.ReasonEnded)
}

func TestPaymentKeepsTheLoad(t *testing.T) {
	t.Parallel()
	c := newOnCall(t, presence.Options{}, "ada", "bea")
	c.online("ada", "bea")
	s := c.request(1)
	_, err := c.Presence.SetSessionPayment(t.Context(), s.ID, true)
	enginetest.WantRefusal(t, "before anybody accepted", err, presence.ReasonNotActive)
	c.mustAccept(s.ID, "ada")
	for _, step := range []struct {
		pending bool
		want    store.SessionStatus
	}{{true, store.SessionPendingPayment}, {true, store.SessionPendingPayment}, {false, store.SessionActive},
		{true, store.SessionPendingPayment}} {
		now, err := c.Presence.SetSessionPayment(t.Context(), s.ID, step.pending)
		if err != nil || now.Status != step.want {
			t.Errorf("payment pending %v: got %s, %v; want %s", step.pending, now.Status, err, step.want)
		}
		c.wantLoads(map[string]int{"ada": 1})
	}
	c.mustAccept(s.ID, "ada") // still the same response
	_, err = c.Presence.AcceptSession(t.Context(), s.ID, "bea")
	enginetest.WantRefusal(t, "accepted by another", err, presence.ReasonAccepted)
	if now, err := c.Presence.RerouteSession(t.Context(), s.ID, "bea"); err != nil ||
		now.Status != store.SessionPendingPayment {
		t.Errorf("rerouted while payment is pending: got %+v, %v", now, err)
	}
	c.wantLoads(map[string]int{"ada": 0, "bea": 1})
	if _, err := c.Presence.EndSession(t.Context(), s.ID, ""); err != nil {
		t.Fatal(err)
	}
	c.wantLoads(map[string]int{"ada": 0, "bea": 0})
}

func TestSessionCancelNeedsOwner(t *testing.T) {
	t.Parallel()
	c := newOnCall(t, presence.Options{}, "ada")
	c.online("ada")
	s := c.request(1)
	if _, err := c.Presence.CancelSession(t.Context(), s.ID, enginetest.Client(2)); !errors.Is(err, holds.ErrNotOwner) {
		t.Errorf("another client: got %v, want ErrNotOwner", err)
	}
	var invalid *record.ValidationError
	if _, err := c.Presence.CancelSession(t.Context(), s.ID, ""); !errors.As(err, &invalid) {
		t.Errorf("without a client: got %v, want a *ValidationError", err)
	}
	c.mustAccept(s.ID, "ada")
	for range 2 {
		now, err := c.Presence.CancelSession(t.Context(), s.ID, enginetest.Client(1))
		if err != nil || now.Status != store.SessionCancelled {
			t.Errorf("its own client: got %+v, %v", now, err)
		}
	}
	c.wantLoads(map[string]int{"ada": 0})
	_, err := c.Presence.EndSession(t.Context(), s.ID, "")
	enginetest.WantRefusal(t, "ending what was cancelled", err, presence.ReasonEnded)
}

func TestAcceptRefusals(t *testing.T) {
	t.Parallel()
	c := newOnCall(t, presence.Options{}, "ada", "bea")
	s := c.request(1)
	var invalid *record.ValidationError
	if _, err := c.Presence.AcceptSession(t.Context(), s.ID, "nobody"); !errors.As(err, &invalid) || invalid.Fields[0].Field != "specialistId" {
		t.Errorf("an unknown specialist: got %v, want an error for specialistId", err)
	}
	_, err := c.Presence.AcceptSession(t.Context(), s.ID, "ada")
	enginetest.WantRefusal(t, "who is offline", err, presence.ReasonNotOnline)
	if _, err := c.Clinic.UpdateSpecialist(t.Context(), "system", "bea", func(p *store.Specialist) {
		p.Active = false
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Presence.AcceptSession(t.Context(), s.ID, "bea"); !errors.Is(err, holds.ErrDeactivated) {
		t.Errorf("a deactivated specialist: got %v, want ErrDeactivated", err)
	}
	c.online("ada")
	for _, id := range []string{"unknown", "", "a b"} {
		if _, err := c.Presence.AcceptSession(t.Context(), id, "ada"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("the session %q: got %v, want ErrNotFound", id, err)
		}
	}
	c.mustAccept(s.ID, "ada")
	for _, outcome := range []string{strings.Repeat("x", 201), "a\x00b"} {
		if _, err := c.Presence.EndSession(t.Context(), s.ID, outcome); !errors.As(err, &invalid) {
			t.Errorf("the outcome %q: got %v, want a *ValidationError", outcome, err)
		}
	}
	if _, err := c.Presence.RequestSession(t.Context(), "short", presence.SessionRequest{}, nil); !errors.As(err, &invalid) {
		t.Errorf("a client that is too short: got %v, want a *ValidationError", err)
	}
}

// TestDeclinedRequestExpiresAtOnce: a request stays open while an available specialist can accept it. After the last
// decline, it expires, and what the patient entered is cleared.
func TestDeclinedRequestExpiresAtOnce(t *testing.T) {
	t.Parallel()
	c := newOnCall(t, presence.Options{}, "ada", "ben")
	c.online("ada", "ben")
	s, err := c.Presence.RequestSession(t.Context(), enginetest.Client(1), presence.SessionRequest{
		AppointmentTypeID: "checkup", Reason: " a cough ", PatientName: "Rosa Lund", PatientPhone: "030 5550101",
	}, nil)
	if err != nil || s.Reason != "a cough" || s.AppointmentTypeID != "checkup" {
		t.Fatalf("requested: got %+v, %v", s, err)
	}
	for range 2 { // a repeat changes nothing
		s, err = c.Presence.DeclineSession(t.Context(), s.ID, "ada")
		if err != nil || s.Status != store.SessionRequested || s.Declined != "ada" || s.PatientName != "Rosa Lund" {
			t.Errorf("declined by one of two: got %+v, %v", s, err)
		}
	}
	s, err = c.Presence.DeclineSession(t.Context(), s.ID, "ben")
	if err != nil || s.Status != store.SessionExpired || s.EndedAt.IsZero() || s.Reason+s.PatientName+s.PatientPhone != "" {
		t.Errorf("declined by both: got %+v, %v", s, err)
	}
	_, err = c.Presence.DeclineSession(t.Context(), s.ID, "")
	enginetest.WantRefusal(t, "declining an expired request", err, presence.ReasonEnded)

	other := c.request(2)
	if s, err := c.Presence.DeclineSession(t.Context(), other.ID, ""); err != nil || s.Status != store.SessionExpired {
		t.Errorf("declined for the clinic: got %+v, %v", s, err)
	}
	third := c.request(3)
	c.mustAccept(third.ID, "ada")
	_, err = c.Presence.DeclineSession(t.Context(), third.ID, "ben")
	enginetest.WantRefusal(t, "declining an accepted request", err, presence.ReasonAccepted)
}

// TestSessionRequestIsChecked: a request that no specialist could use is refused.
func TestSessionRequestIsChecked(t *testing.T) {
	t.Parallel()
	c := newOnCall(t, presence.Options{}, "ada")
	for field, r := range map[string]presence.SessionRequest{
		"appointmentTypeId": {AppointmentTypeID: "unknown"}, "reason": {Reason: strings.Repeat("x", 201)},
		"patient.phone": {PatientPhone: "no number"},
	} {
		_, err := c.Presence.RequestSession(t.Context(), enginetest.Client(1), r, nil)
		var invalid *record.ValidationError
		if !errors.As(err, &invalid) || invalid.Fields[0].Field != field {
			t.Errorf("%s: got %v", field, err)
		}
	}
}
