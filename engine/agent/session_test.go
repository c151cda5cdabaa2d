package agent_test

import (
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
