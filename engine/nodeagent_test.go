package engine_test

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/agent"
	"holdfast/engine/booking"
	"holdfast/engine/enginetest"
	"holdfast/engine/record"
	"holdfast/engine/token"
	"holdfast/engine/upstream"
	"holdfast/engine/upstream/upstreamtest"
	"holdfast/holds"
	"holdfast/store"
)

// TestAgentSessionIsOnAllNodes: a key's session with a patient, opened on one node, authorizes that key on every other
// node, including one that starts later. It authorizes no other key.
func TestAgentSessionIsOnAllNodes(t *testing.T) {
	c := newNodes(t, 2, nil)
	c.clinic("ada")
	made, err := c.all[0].Agent.Identify(t.Context(), enginetest.AgentKey, enginetest.Jane)
	if err != nil || !made.Success {
		t.Fatalf("identify: %+v, %v", made, err)
	}
	again, err := c.all[1].Agent.Identify(t.Context(), enginetest.AgentKey, enginetest.Jane)
	if err != nil || again.PatientGUID != made.PatientGUID {
		t.Errorf("the same person at the other node: got %+v, %v; want %s", again, err, made.PatientGUID)
	}
	third := c.open()
	for i, n := range []*node{c.all[1], third, c.all[0]} {
		b := agent.BookRequest{
			StartTime:          c.start.Add(time.Duration(i) * time.Hour).Format("01/02/2006 03:04 PM"),
			ScheduleColumnGUID: "ada", AppointmentTypeGUID: "checkup",
		}
		if i == 0 {
			b.PatientGUID = made.PatientGUID
		} else {
			b.UUI = "call-1"
		}
		if a, err := n.Agent.Book(t.Context(), record.Principal{KeyID: "other", Scope: store.ScopeAgent},
			b); err != nil || a.ErrorType != token.BookingAuthMissing.Code() {
			t.Errorf("another key at node %d: got %+v, %v; want %s", i, a, err, token.BookingAuthMissing)
		}
		a, err := n.Agent.Book(t.Context(), enginetest.AgentKey, b)
		if err != nil || a.Outcome != agent.Confirmed {
			t.Fatalf("without a token at node %d: got %+v, %v", i, a, err)
		}
		if kept, err := n.Booking.Appointment(t.Context(), a.AppointmentGUID); err != nil ||
			kept.Patient.Name != "Jane Roe" || kept.Patient.BirthDate != "1980-02-03" {
			t.Errorf("the patient of the booking at node %d is %+v, %v; want Jane Roe", i, kept.Patient, err)
		}
	}
}

// TestUnknownPatientIsAddedByNoNode: one node has lost the upstream's response, or died before the response arrived. No
// other node adds the patient again.
func TestUnknownPatientIsAddedByNoNode(t *testing.T) {
	server := upstreamtest.New(upstreamtest.Options{})
	c := newNodes(t, 2, func(c *nodes) { c.upstream = server })
	c.clinic("ada")
	identify := func(n *node, p agent.Patient) agent.PatientAnswer {
		t.Helper()
		a, err := n.Agent.Identify(t.Context(), enginetest.AgentKey, p)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	added := func() (n int) {
		for _, call := range server.Calls() {
			if call.Procedure == "SetPatient" {
				n++
			}
		}
		return n
	}
	server.Script(upstreamtest.Step{Procedure: "SetPatient", Outcome: upstreamtest.LostApplied})
	for i, n := range []*node{c.all[0], c.all[1]} {
		if a := identify(n, enginetest.Jane); a.ErrorType != "PATIENT_OUTCOME_UNKNOWN" {
			t.Errorf("node %d: got %+v, want the outcome unknown", i, a)
		}
	}
	if got := added(); got != 1 {
		t.Errorf("the patient was added %d times, want once", got)
	}
	joe := agent.Patient{FirstName: "Joe", LastName: "Roe", BirthDate: "1981-02-03", Phone: "+1 555 0101"}
	server.Script(upstreamtest.Step{Procedure: "SetPatient", Outcome: upstreamtest.Unauthorized})
	if a := identify(c.all[0], joe); a.Success {
		t.Errorf("refused: got %+v", a)
	}
	first, second := identify(c.all[1], joe), identify(c.all[0], joe)
	if !first.Success || first.PatientGUID != second.PatientGUID || added() != 3 {
		t.Errorf("after a refusal: got %+v and %+v in %d calls, want one patient, added at the second attempt", first,
			second, added())
	}

	// An agent that does not wait for the first response calls both nodes concurrently.
	ann, before := agent.Patient{FirstName: "Ann", LastName: "Poe", BirthDate: "1982-03-04", Phone: "+1 555 0102"},
		added()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			if _, err := c.all[i%2].Agent.Identify(t.Context(), enginetest.AgentKey, ann); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got := added() - before; got != 1 {
		t.Errorf("a patient in eight concurrent requests was added %d times, want once", got)
	}

	began, killed := make(chan struct{}), make(chan struct{})
	c.options = func(o *engine.Options) {
		var err error
		o.Upstream, err = upstream.New(upstream.Options{
			URL: "https://pms.example/GetData.ashx", ClientID: "client", User: "user", Password: "secret",
			Pacer: o.Pacer, HTTP: &http.Client{Transport: hanging{server, began, killed}},
		})
		if err != nil {
			t.Error(err)
		}
	}
	dying := c.open()
	max := agent.Patient{FirstName: "Max", LastName: "Roe", BirthDate: "1982-02-03", Phone: "+1 555 0102"}
	left := make(chan struct{})
	go func() {
		defer close(left)
		_, _ = dying.Agent.Identify(t.Context(), enginetest.AgentKey, max)
	}()
	<-began
	if a := identify(c.all[0], max); a.ErrorType != "PATIENT_OUTCOME_UNKNOWN" {
		t.Errorf("while a node that no longer answers adds them: got %+v", a)
	}
	close(killed)
	<-left
}

// hanging is a connection to the upstream. A call that adds a patient gets no response until the node has stopped.
type hanging struct {
	to     http.RoundTripper
	began  chan struct{}
	killed chan struct{}
}

func (h hanging) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := r.GetBody()
	if err != nil {
		return nil, err
	}
	text := make([]byte, 4096)
	n, _ := body.Read(text)
	if !strings.Contains(string(text[:n]), "<Procedure>SetPatient</Procedure>") {
		return h.to.RoundTrip(r)
	}
	close(h.began)
	<-h.killed
	return nil, errors.New("the node is gone")
}

// TestExpiredHoldBooksAtAllNodes: an expired hold can be booked by its id alone, but only by its owner. This works even
// on a node that started after the claim.
func TestExpiredHoldBooksAtAllNodes(t *testing.T) {
	c := newNodes(t, 2, nil)
	c.clinic("ada", "bob")
	request := booking.HoldRequest{AppointmentTypeID: "checkup", SpecialistID: "bob", SlotStart: c.start,
		Client: enginetest.Client(1), TTL: 4 * time.Second}
	h, err := c.all[0].Booking.Hold(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	third := c.open()
	c.until(time.Minute, "the hold has lapsed", func() bool {
		_, err := c.all[1].holds.Hold(t.Context(), h.ID)
		return errors.Is(err, holds.ErrNotFound)
	})
	for i, n := range []*node{c.all[1], third} {
		r := enginetest.BookingOf(2, "checkup")
		r.HoldID, r.SlotStart = h.ID, time.Time{}
		if _, err := n.Booking.Book(t.Context(), r); !errors.Is(err, holds.ErrNotOwner) {
			t.Errorf("another client at node %d: got %v, want ErrNotOwner", i, err)
		}
	}
	r := enginetest.BookingOf(1, "checkup")
	r.HoldID, r.SlotStart = h.ID, time.Time{}
	a, err := third.Booking.Book(t.Context(), r)
	if err != nil || a.SpecialistID != "bob" || !a.SlotStart.Equal(c.start) {
		t.Errorf("its owner: got %+v, %v; want the time of the hold", a, err)
	}
}
