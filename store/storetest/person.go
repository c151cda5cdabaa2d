package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/store"
)

func testPerson(t *testing.T, h Harness) {
	for name, who := range map[string]store.Person{
		"by address":              {Email: "ZOE@example.org "},
		"by phone, by its digits": {Phone: "+49 30 / 123 456"},
		"by client":               {Owner: "the-client-of-zoe-123"},
	} {
		t.Run(name, func(t *testing.T) { erase(t, h.open(t), who) })
	}

	t.Run("nobody", func(t *testing.T) {
		s := h.open(t)
		clinic(t, s)
		mustInsert(t, s, booking("ada", "checkup", 0, 30)) // who has neither address nor phone
		for name, who := range map[string]store.Person{
			"an empty person":                {},
			"two names at once":              {Email: "a@example.org", Owner: "c"},
			"a phone number without a digit": {Phone: "unknown"},
			"an address of spaces":           {Email: "  "},
		} {
			_, err := eraseNow(t, s, who)
			wantErr(t, name, err, store.ErrInvalid)
		}
		got, err := eraseNow(t, s, store.Person{Email: "nobody@example.org"})
		if err != nil || got.Appointments+got.Operations+got.Answers+got.AuditEntries+got.Sessions != 0 {
			t.Errorf("somebody who was never here: got %+v, %v", got, err)
		}
	})
}

func eraseNow(t *testing.T, s store.Store, who store.Person) (erased store.Erased, err error) {
	t.Helper()
	return s.Erase(t.Context(), who, monday.Add(time.Hour), func(store.Tx, store.Erased) error { return nil })
}

// erase leaves traces of two people everywhere, erases one, and looks for both.
func erase(t *testing.T, s store.Store, who store.Person) {
	clinic(t, s)
	zoe := leaveTraces(t, s, "zoe", 0, store.Patient{Name: "Zoe Canary", Email: "Zoe@Example.org", Phone: "+49 (30) 123456", BirthDate: "1980-02-29", Notes: "zoe-canary-note"})
	abe := leaveTraces(t, s, "abe", 600, store.Patient{Name: "Abe Sparrow", Email: "abe@example.org", Phone: "+49 (30) 1234567", BirthDate: "1981-03-01", Notes: "abe-sparrow-note"})

	erased, err := eraseNow(t, s, who)
	wantErr(t, "Erase", err, nil)
	slices.Sort(erased.OperationIDs)
	want := store.Erased{Appointments: 2, Operations: 1, Answers: 1, AuditEntries: 2, Sessions: 1, OperationIDs: []string{"op-done-zoe", "op-zoe"}}
	if fmt.Sprint(erased) != fmt.Sprint(want) {
		t.Errorf("erased: got %+v, want %+v", erased, want)
	}
	all := everything(t, s)
	for _, trace := range []string{"canary", "zoe@", "1980-02-29", "the-client-of-zoe", "123456)", "patient-guid-zoe"} {
		if strings.Contains(strings.ToLower(all), trace) {
			t.Errorf("%q can still be read", trace)
		}
	}
	for _, trace := range []string{"sparrow", "abe@", "1981-03-01", "the-client-of-abe", "1234567", "patient-guid-abe"} {
		if !strings.Contains(strings.ToLower(all), trace) {
			t.Errorf("%q of somebody else is gone", trace)
		}
	}
	for _, before := range zoe {
		got, err := s.Appointment(t.Context(), before.ID)
		if err != nil || got.Status != before.Status || !got.SlotStart.Equal(before.SlotStart) || got.Version != before.Version+1 || !got.UpdatedAt.Equal(monday.Add(time.Hour)) {
			t.Errorf("the erased appointment: got %+v, %v; want its time kept and its version raised", got, err)
		}
	}
	wantErr(t, "the time of an erased, confirmed appointment", insert(t, s, booking("ada", "short", 0, 15)), store.ErrSlotTaken)
	for _, a := range abe {
		wantAppointment(t, s, a)
	}
	again, err := eraseNow(t, s, who)
	if err != nil || again.Appointments != 0 || again.AuditEntries != 0 {
		t.Errorf("erasing again: got %+v, %v; want nothing left", again, err)
	}
}

// leaveTraces gives a person two appointments and one of everything else.
func leaveTraces(t *testing.T, s store.Store, name string, start int, p store.Patient) (all []store.Appointment) {
	t.Helper()
	ctx := t.Context()
	text := func(v any) json.RawMessage {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	client := "the-client-of-" + name + "-123"
	a, b := booking("ada", "checkup", start, 30), cancelled(booking("ada", "checkup", start+60, 30))
	for _, one := range []*store.Appointment{&a, &b} {
		one.Patient, one.Owner, one.UpstreamPatientID = p, client, "patient-guid-"+name
	}
	b.CancelReason = p.Notes
	write(t, s, func(tx store.Tx) error {
		for _, err := range []error{
			tx.InsertAppointment(ctx, a), tx.InsertAppointment(ctx, b),
			tx.Promise(ctx, store.Operation{ID: "op-" + name, Kind: store.Email, AppointmentID: a.ID, Status: store.OperationPending, Payload: text(p)}),
			tx.PutDelivery(ctx, store.Delivery{OperationID: "op-done-" + name, AppointmentID: a.ID, Channel: "email", State: "delivered", UpdatedAt: monday}),
			tx.Remember(ctx, store.IdempotencyRecord{Scope: "s", Key: name, Status: 201, Body: text(map[string]any{"appointment": map[string]any{"id": a.ID, "patient": p}}), CreatedAt: monday}),
			tx.AppendAudit(ctx, store.AuditEntry{ID: "1-" + name, At: monday, Actor: "client", Action: "appointment.created", Subject: "appointment:" + a.ID, Reason: p.Notes, After: text(p)}),
			tx.AppendAudit(ctx, store.AuditEntry{ID: "2-" + name, At: monday, Actor: "user:u", Action: "appointment.changed", Subject: "import:1", Before: text(map[string]any{"id": b.ID, "patient": p})}),
			tx.InsertSession(ctx, store.Session{ID: "session-" + name, Owner: client, Status: store.SessionEnded, Outcome: p.Notes, RequestedAt: monday, UpdatedAt: monday, Version: 1}),
			tx.UseNonce(ctx, store.NonceUse{Nonce: "nonce-" + name, PatientID: "patient-guid-" + name, AppointmentID: a.ID, ExpiresAt: monday}),
		} {
			if err != nil {
				return err
			}
		}
		return nil
	})
	return []store.Appointment{a, b}
}

// everything prints all that the store answers about both people.
func everything(t *testing.T, s store.Store) string {
	t.Helper()
	ctx := t.Context()
	var b strings.Builder
	dump := func(v any, err error) {
		wantErr(t, "reading", err, nil)
		fmt.Fprintf(&b, "%+v\n", v)
	}
	appointments, _, err := s.Appointments(ctx, store.AppointmentFilter{})
	dump(appointments, err)
	ops, err := s.Outbox(ctx, "", 100)
	dump(ops, err)
	for _, op := range ops {
		b.Write(op.Payload)
	}
	entries, _, err := s.Audit(ctx, store.AuditFilter{})
	dump(entries, err)
	for _, e := range entries {
		b.Write(e.Before)
		b.Write(e.After)
	}
	sessions, err := s.Sessions(ctx, store.SessionFilter{})
	dump(sessions, err)
	for _, name := range []string{"zoe", "abe"} {
		if answer, err := s.Recall(ctx, "s", name, time.Time{}); err == nil {
			b.Write(answer.Body)
		}
		use, err := s.NonceUse(ctx, "nonce-"+name)
		dump(use, err)
	}
	return b.String()
}
