package agent_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/agent"
	"holdfast/engine/enginetest"
	"holdfast/engine/record"
	"holdfast/engine/upstream/upstreamtest"
	"holdfast/store"
)

// TestKnownPatientIsFound: a person with an earlier booking is the same patient in every later call, with any key or
// session and after a restart. The practice-management system is not asked to add the patient again.
func TestKnownPatientIsFound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPractice(t, enginetest.PracticeOptions{Upstream: &upstreamtest.Options{}})
		identify := func(r agent.Patient) agent.PatientAnswer {
			t.Helper()
			a, err := p.Agent.Identify(t.Context(), enginetest.AgentKey, r)
			if err != nil {
				t.Fatal(err)
			}
			if said, _ := json.Marshal(a.Guidance); strings.Contains(string(said), "Canary") {
				t.Errorf("the guidance contains a name: %s", said)
			}
			return a
		}
		added := func(want int) {
			t.Helper()
			n := 0
			for _, c := range p.Upstream.Calls() {
				if c.Procedure == "SetPatient" {
					n++
				}
			}
			if n != want {
				t.Errorf("the practice system received %d requests to add a patient, want %d", n, want)
			}
		}
		jane := agent.Patient{FirstName: "Jane", LastName: "Canary-Roe", BirthDate: "1980-02-03", Phone: "+1 555 0100",
			SessionID: "monday"}
		first := identify(jane)
		if !first.Success {
			t.Fatalf("got %+v", first)
		}
		again := jane
		again.SessionID = "another call, before anything was booked"
		if a := identify(again); a.PatientGUID != first.PatientGUID {
			t.Errorf("in another call: got %q, want %q", a.PatientGUID, first.PatientGUID)
		}
		b := p.Wish(20)
		b.PatientGUID, b.BookingAuthToken = first.PatientGUID, first.BookingAuthToken
		if a := p.Ask(b); a.Outcome != agent.Confirmed {
			t.Fatalf("got %+v", a)
		}
		p.Restart()
		time.Sleep(24 * time.Hour)
		added(1)

		for name, r := range map[string]agent.Patient{
			"spelt otherwise": {FirstName: " JANE ", LastName: "canary roe", BirthDate: "02/03/1980",
				Phone: "+1 (555) 01-00", SessionID: "tuesday"},
			"by GUID": {PatientGUID: strings.ToUpper(first.PatientGUID), BirthDate: "02/03/1980",
				SessionID: "wednesday"},
			"by GUID, once again": {PatientGUID: first.PatientGUID, BirthDate: "1980-02-03"},
		} {
			a := identify(r)
			if !a.Success || !strings.EqualFold(a.PatientGUID, first.PatientGUID) || a.BookingAuthToken == "" {
				t.Errorf("%s: got %+v, want %s and a token", name, a, first.PatientGUID)
			}
		}
		added(1)
		a := identify(agent.Patient{PatientGUID: first.PatientGUID, BirthDate: "1980-02-03", UUI: "thursday"})
		b = p.Wish(22)
		b.PatientGUID, b.BookingAuthToken, b.UUI = a.PatientGUID, a.BookingAuthToken, "thursday"
		if a := p.Ask(b); a.Outcome != agent.Confirmed || p.Bookings()[1].Patient.BirthDate != "1980-02-03" ||
			p.Bookings()[1].Patient.Name == "" {
			t.Errorf("booked by GUID: got %+v for %q", a, p.Bookings()[1].Patient.Name)
		}

		for name, c := range map[string]struct {
			agent.Patient
			errorType, ask string
		}{
			"no date of birth": {agent.Patient{FirstName: "Jane", LastName: "Canary-Roe", Phone: "+15550100"},
				agent.PatientAmbiguous, "ask_for_birth_date"},
			"no telephone number": {agent.Patient{FirstName: "Jane", LastName: "Canary-Roe", BirthDate: "1980-02-03"},
				agent.PatientAmbiguous, "ask_for_phone"},
			"another's birthday": {agent.Patient{PatientGUID: first.PatientGUID, BirthDate: "1980-02-04"},
				agent.PatientNotFound, "ask_for_name_birth_date_and_phone"},
			"unknown GUID": {agent.Patient{PatientGUID: enginetest.PatientGUID(99), BirthDate: "1980-02-03"},
				agent.PatientNotFound, "ask_for_name_birth_date_and_phone"},
		} {
			if a := identify(c.Patient); a.Success || a.ErrorType != c.errorType || a.Guidance.Action != c.ask ||
				a.PatientGUID != "" {
				t.Errorf("%s: got %+v, want %s and %s", name, a, c.errorType, c.ask)
			}
		}
		added(1)
		for name, r := range map[string]agent.Patient{
			"another name": {FirstName: "Ann", LastName: "Canary-Roe", BirthDate: "1980-02-03",
				Phone: "+15550100"},
			"another birthday": {FirstName: "Jane", LastName: "Canary-Roe", BirthDate: "1980-02-04",
				Phone: "+15550100"},
			"another phone": {FirstName: "Jane", LastName: "Canary-Roe", BirthDate: "1980-02-03",
				Phone: "+15550101"},
			"only a common name": {FirstName: "Jane", LastName: "Canary-Roe"},
		} {
			if a := identify(r); !a.Success || a.PatientGUID == first.PatientGUID {
				t.Errorf("%s: got %+v, want a new patient", name, a)
			}
		}
		added(5)
	})
}

// TestPatientsWithSameName: the email address, or a member of staff, distinguishes two charts with the same name.
func TestPatientsWithSameName(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPractice(t, enginetest.PracticeOptions{})
		jane := agent.Patient{FirstName: "Jane", LastName: "Roe", BirthDate: "1980-02-03", Phone: "555 0100"}
		identify := func(email, key string) agent.PatientAnswer {
			t.Helper()
			r := jane
			r.Email = email
			a, err := p.Agent.Identify(t.Context(), record.Principal{KeyID: key, Scope: store.ScopeAgent}, r)
			if err != nil {
				t.Fatal(err)
			}
			return a
		}
		book := func(n int, key string, a agent.PatientAnswer) {
			t.Helper()
			b := p.Wish(n)
			b.PatientGUID, b.BookingAuthToken = a.PatientGUID, a.BookingAuthToken
			if a, err := p.Agent.Book(t.Context(), record.Principal{KeyID: key, Scope: store.ScopeAgent},
				b); err != nil || a.Outcome != agent.Confirmed {
				t.Fatalf("got %+v, %v", a, err)
			}
		}
		// neither of the two has a booking yet
		one, two := identify("one@example.org", "1"), identify("two@example.org", "2")
		if one.PatientGUID == two.PatientGUID {
			t.Fatal("two concurrent sessions of two keys added one patient")
		}
		book(20, "1", one)
		book(21, "2", two)
		p.Restart()
		if a := identify("", "3"); a.Success || a.Guidance.Action != "ask_for_email" {
			t.Errorf("without an email address: got %+v, want a request for it", a)
		}
		if a := identify("TWO@example.org", "4"); a.PatientGUID != two.PatientGUID {
			t.Errorf("with the second's address: got %+v, want %s", a, two.PatientGUID)
		}
		if a := identify("three@example.org", "5"); a.Success || a.Guidance.Action != "hand_over_to_person" {
			t.Errorf("with a third address: got %+v, want the action for a person", a)
		}
	})
}

// TestMissingPatientIsAddedAgain: the server adds a patient again if the practice-management system no longer has them.
func TestMissingPatientIsAddedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPractice(t, enginetest.PracticeOptions{Upstream: &upstreamtest.Options{}})
		jane := agent.Patient{FirstName: "Jane", LastName: "Roe", BirthDate: "1980-02-03", Phone: "555 0100"}
		identify := func() agent.PatientAnswer {
			t.Helper()
			a, err := p.Agent.Identify(t.Context(), enginetest.AgentKey, jane)
			if err != nil || !a.Success {
				t.Fatalf("got %+v, %v", a, err)
			}
			return a
		}
		book := func(n int, a agent.PatientAnswer) agent.Answer {
			b := p.Wish(n)
			b.PatientGUID, b.BookingAuthToken = a.PatientGUID, a.BookingAuthToken
			return p.Ask(b)
		}
		first := identify()
		if a := book(20, first); a.Outcome != agent.Confirmed {
			t.Fatalf("got %+v", a)
		}
		p.Upstream.Outcomes(upstreamtest.PatientUnknown)
		if a := book(21, first); a.ErrorType != agent.PatientNotFound {
			t.Fatalf("got %+v", a)
		}
		second := identify()
		if second.PatientGUID == first.PatientGUID {
			t.Error("the second identification returns the deleted patient")
		}
		if a := book(22, second); a.Outcome != agent.Confirmed {
			t.Errorf("got %+v", a)
		}
	})
}
