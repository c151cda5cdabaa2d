package agent_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"holdfast/engine/agent"
	"holdfast/engine/enginetest"
	"holdfast/engine/record"
	"holdfast/store"
)

// TestBookingHasItsPatientWithAnotherKey: one key identifies the patient, and another key books with the token, as when
// a voice agent hands over to a chat agent. The appointment has the patient's name and contact details.
func TestBookingHasItsPatientWithAnotherKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPractice(t, enginetest.PracticeOptions{})
		made, err := p.Agent.Identify(t.Context(), enginetest.AgentKey, agent.Patient{FirstName: "Jane",
			LastName: "Roe", BirthDate: "02/03/1980", Phone: "+1 555 0100", Email: "jane@example.org"})
		if err != nil || !made.Success {
			t.Fatalf("identify: %+v, %v", made, err)
		}
		other := record.Principal{KeyID: "other", Scope: store.ScopeAgent}
		b := p.Wish(48)
		b.PatientGUID, b.BookingAuthToken = made.PatientGUID, made.BookingAuthToken
		if a, err := p.Agent.Book(t.Context(), other, b); err != nil || a.Outcome != agent.Confirmed {
			t.Fatalf("with the other key: got %+v, %v; want confirmed", a, err)
		}
		want := store.Patient{Name: "Jane Roe", BirthDate: "1980-02-03", Phone: "+1 555 0100",
			Email: "jane@example.org"}
		if got := p.BookingOf().Patient; got.Name != want.Name || got.BirthDate != want.BirthDate ||
			got.Phone != want.Phone || got.Email != want.Email {
			t.Errorf("the patient of the booking is %+v, want %+v", got, want)
		}
	})
}

// TestTokenOfErasedPersonBooksNothing: a person is erased while an agent still has a valid token. The booking would
// have no name, so the agent must identify the caller again.
func TestTokenOfErasedPersonBooksNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPractice(t, enginetest.PracticeOptions{})
		b := identified(t, p, "Jane", p.Wish(20))
		if _, err := p.Person.Erase(t.Context(), "user:jo", store.Person{Email: "jane@example.org"}); err != nil {
			t.Fatal(err)
		}
		for _, auth := range []string{b.BookingAuthToken, ""} {
			b.BookingAuthToken = auth
			a := p.Ask(b)
			if auth == "" && a.Outcome == agent.Rejected {
				continue // without a token, the session of the key is gone too
			}
			if a.Outcome != agent.Refused || a.ErrorType != agent.PatientNotFound ||
				a.Guidance.Action != "identify_patient_again" {
				t.Errorf("after the erasure: got %+v, want %s", a, agent.PatientNotFound)
			}
		}
		if list := p.Bookings(); len(list) != 0 {
			t.Fatalf("there are %d appointments, want none", len(list))
		}
		a := p.Ask(identified(t, p, "Jane", b))
		if name := p.BookingOf().Patient.Name; a.Outcome != agent.Confirmed || name != "Jane Roe" {
			t.Errorf("identified again: got %+v for %q", a, name)
		}
	})
}

// identified returns the booking request with the GUID and the token of a patient whom the agent has identified.
func identified(t *testing.T, p *enginetest.TestPractice, firstName string, b agent.BookRequest) agent.BookRequest {
	t.Helper()
	made, err := p.Agent.Identify(t.Context(), enginetest.AgentKey, agent.Patient{FirstName: firstName,
		LastName: "Roe", BirthDate: "02/03/1980", Phone: "+1 555 0100",
		Email: strings.ToLower(firstName) + "@example.org"})
	if err != nil || !made.Success {
		t.Fatalf("identify: %+v, %v", made, err)
	}
	b.PatientGUID, b.BookingAuthToken = made.PatientGUID, made.BookingAuthToken
	return b
}
