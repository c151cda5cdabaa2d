package storetest

import (
	"encoding/json"
	"errors"
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

	t.Run("one of a family", func(t *testing.T) { eraseOneOfAFamily(t, h.open(t), false) })
	t.Run("one of several people with the same browser", func(t *testing.T) { eraseOneOfAFamily(t, h.open(t), true) })
	t.Run("one of several people in the same email", func(t *testing.T) { eraseOneOfAVisit(t, h.open(t)) })
	t.Run("notes and links of a person", func(t *testing.T) { said(t, h.open(t)) })

	t.Run("a person in a session request", func(t *testing.T) { eraseOpenSession(t, h.open(t)) })

	t.Run("an unknown person", func(t *testing.T) {
		s := h.open(t)
		clinic(t, s)
		mustInsert(t, s, booking("ada", "checkup", 0, 30)) // has neither address nor phone
		for name, who := range map[string]store.Person{
			"an empty person":                {},
			"two names at once":              {Email: "a@example.org", Owner: "c"},
			"a phone number without a digit": {Phone: "unknown"},
			"an address of spaces":           {Email: "  "},
			"a spelling without a name":      {Of: []store.Identity{{Phone: "030 123456"}}},
			"a spelling and an address": {Email: "a@example.org",
				Of: []store.Identity{{Name: "Zoe", Phone: "030 123456"}}},
		} {
			_, err := eraseNow(t, s, who)
			wantErr(t, name, err, store.ErrInvalid)
		}
		got, err := eraseNow(t, s, store.Person{Email: "nobody@example.org"})
		if err != nil || got.Appointments+got.Operations+got.Answers+got.AuditEntries+got.Sessions != 0 {
			t.Errorf("a person without appointments: got %+v, %v", got, err)
		}
	})
}

// eraseOpenSession erases, by the phone number, a person who has only requested a session.
func eraseOpenSession(t *testing.T, s store.Store) {
	waits := func(id, name, phone string) store.Session {
		return store.Session{ID: id, Owner: "client-of-" + id, Status: store.SessionRequested, Reason: "a cough",
			PatientName: name, PatientPhone: phone, RequestedAt: monday, UpdatedAt: monday, Version: 1}
	}
	write(t, s, func(tx store.Tx) error {
		return errors.Join(tx.InsertSession(t.Context(), waits("zoe", "Zoe Canary", "+49 (30) 123456")),
			tx.InsertSession(t.Context(), waits("abe", "Abe Sparrow", "+49 30 1234567")))
	})
	erased, err := eraseNow(t, s, store.Person{Phone: "4930123456"})
	if err != nil || erased.Sessions != 1 {
		t.Errorf("got %+v, %v; want one session erased", erased, err)
	}
	zoe, err := s.Session(t.Context(), "zoe")
	if err != nil || zoe.Reason+zoe.PatientName+zoe.PatientPhone+zoe.Owner != "" || zoe.Version != 2 {
		t.Errorf("the erased session: got %+v, %v", zoe, err)
	}
	if abe, err := s.Session(t.Context(), "abe"); err != nil || abe.PatientName != "Abe Sparrow" {
		t.Errorf("the other session: got %+v, %v", abe, err)
	}
}

func eraseNow(t *testing.T, s store.Store, who store.Person) (erased store.Erased, err error) {
	t.Helper()
	return s.Erase(t.Context(), who, monday.Add(time.Hour), func(store.Tx, store.Erased) error { return nil })
}

// wantErasedInFeed checks that the feed has one change for each erased appointment: its time is the same, and its owner
// is gone. Otherwise, an open page and a program that follow the feed would keep the name.
func wantErasedInFeed(t *testing.T, changes []store.Change, erased []store.Appointment) {
	t.Helper()
	changes = slices.DeleteFunc(changes, func(c store.Change) bool { return c.Noun != store.NounAppointment })
	if len(changes) != len(erased) {
		t.Errorf("the feed delivered %d changes of appointments, want %d", len(changes), len(erased))
	}
	for _, a := range erased {
		i := slices.IndexFunc(changes, func(c store.Change) bool { return c.ID == a.ID })
		if i < 0 {
			t.Errorf("the feed has no change of the erased appointment %s", a.ID)
			continue
		}
		c := changes[i]
		if c.What != store.KindUpdated || c.Version != a.Version+1 || c.Owner != "" ||
			!sameTaken(c.Before, a.Takes()) || !sameTaken(c.After, a.Takes()) {
			t.Errorf("the feed delivered %+v, want an update of %+v without its owner", c, a)
		}
	}
}

// erase leaves traces of two people in every table, erases one person, and searches for both.
func erase(t *testing.T, s store.Store, who store.Person) {
	clinic(t, s)
	zoe := leaveTraces(t, s, "zoe", 0, store.Patient{Name: "Zoe Canary", Email: "Zoe@Example.org",
		Phone: "+49 (30) 123456", BirthDate: "1980-02-29", Notes: "zoe-canary-note"})
	abe := leaveTraces(t, s, "abe", 600, store.Patient{Name: "Abe Sparrow",
		Email: "abe@example.org", Phone: "+49 (30) 1234567", BirthDate: "1981-03-01", Notes: "abe-sparrow-note"})

	j := follow(t, s)
	erased, err := eraseNow(t, s, who)
	wantErr(t, "Erase", err, nil)
	wantErasedInFeed(t, j.all(), zoe)
	slices.Sort(erased.OperationIDs)
	want := store.Erased{Appointments: 2, Operations: 1, Answers: 1, AuditEntries: 2, Sessions: 1, Notes: 2, Links: 1,
		OperationIDs: []string{"op-done-zoe", "op-zoe"}}
	if fmt.Sprint(erased) != fmt.Sprint(want) {
		t.Errorf("erased: got %+v, want %+v", erased, want)
	}
	promised, err := s.Outbox(t.Context(), "", 100)
	wantErr(t, "Outbox", err, nil)
	for _, op := range promised {
		if op.Kind == store.Webhook && !strings.Contains(string(op.Payload), op.AppointmentID) {
			t.Errorf("a webhook without personal data is %q", op.Payload)
		}
	}
	all := everything(t, s)
	for _, trace := range []string{"canary", "zoe@", "1980-02-29", "the-client-of-zoe", "123456)", "patient-guid-zoe"} {
		if strings.Contains(strings.ToLower(all), trace) {
			t.Errorf("%q is still in the database", trace)
		}
	}
	for _, trace := range []string{"sparrow", "abe@", "1981-03-01", "the-client-of-abe", "1234567",
		"patient-guid-abe"} {
		if !strings.Contains(strings.ToLower(all), trace) {
			t.Errorf("%q of another person is missing", trace)
		}
	}
	for name, want := range map[string]int{"zoe": 0, "abe": 2} {
		if list, err := s.UndoStates(t.Context(), "undo-"+name); err != nil || len(list) != want {
			t.Errorf("undo states of %s: got %d, %v; want %d", name, len(list), err, want)
		}
	}
	for _, before := range zoe {
		got, err := s.Appointment(t.Context(), before.ID)
		if err != nil || got.Status != before.Status || !got.SlotStart.Equal(before.SlotStart) ||
			got.Version != before.Version+1 || !got.UpdatedAt.Equal(monday.Add(time.Hour)) || !got.RecallAt.IsZero() {
			t.Errorf("the erased appointment: got %+v, %v; want the same time, a higher version and no recall",
				got, err)
		}
	}
	wantErr(t, "the time of an erased, confirmed appointment", insert(t, s, booking("ada", "short", 0, 15)),
		store.ErrSlotTaken)
	for _, a := range abe {
		wantAppointment(t, s, a)
	}
	again, err := eraseNow(t, s, who)
	if err != nil || again.Appointments != 0 || again.AuditEntries != 0 {
		t.Errorf("second erasure: got %+v, %v; want zero", again, err)
	}
}

// eraseOneOfAVisit erases a person who shares an email with another person. An unsent email is kept: it contains only
// ids of appointments, and the mailer writes its text from their state at that time. An email about the erased person
// only is blanked.
func eraseOneOfAVisit(t *testing.T, s store.Store) {
	clinic(t, s)
	zoe, abe := booking("ada", "checkup", 0, 30), booking("ada", "checkup", 60, 30)
	zoe.Patient, abe.Patient = store.Patient{Name: "Zoe Canary", Email: "zoe@example.org"},
		store.Patient{Name: "Abe Sparrow", Email: "abe@example.org"}
	mustInsert(t, s, zoe)
	mustInsert(t, s, abe)
	for id, payload := range map[string]string{
		"op-both":  `{"notice": "series_confirmation", "appointments": ["` + zoe.ID + `", "` + abe.ID + `"]}`,
		"op-alone": `{"notice": "series_confirmation", "appointments": ["` + zoe.ID + `"]}`,
	} {
		op := store.Operation{ID: id, Kind: store.Email, AppointmentID: zoe.ID, Status: store.OperationPending,
			Payload: json.RawMessage(payload)}
		queued := store.Delivery{OperationID: id, AppointmentID: zoe.ID, Channel: "email",
			Notice: "series_confirmation", State: "queued", UpdatedAt: monday}
		wantErr(t, "Promise", s.Write(t.Context(), func(tx store.Tx) error {
			return errors.Join(tx.Promise(t.Context(), op), tx.PutDelivery(t.Context(), queued))
		}), nil)
	}
	for _, step := range []struct {
		email string
		want  []string
	}{{"zoe@example.org", []string{"op-alone"}}, {"abe@example.org", nil}} {
		erased, err := eraseNow(t, s, store.Person{Email: step.email})
		wantErr(t, "Erase", err, nil)
		if !slices.Equal(erased.OperationIDs, step.want) {
			t.Errorf("with %s the operations %v are erased, want %v", step.email, erased.OperationIDs, step.want)
		}
	}
}

// eraseOneOfAFamily erases a person who shares an address and a number, and with oneBrowser also a browser. All data of
// the others is kept. A session identifies its person only by the client, so a session of a shared browser is kept.
func eraseOneOfAFamily(t *testing.T, s store.Store, oneBrowser bool) {
	clinic(t, s)
	zoe := store.Patient{Name: "Zoe Canary", Email: "family@example.org", Phone: "+49 30 123456",
		BirthDate: "1980-02-29", Notes: "zoe-canary-note"}
	abe := store.Patient{Name: "Abe Sparrow", Email: zoe.Email, Phone: zoe.Phone, BirthDate: "1981-03-01",
		Notes: "abe-sparrow-note"}
	leaveTraces(t, s, "zoe", 0, zoe)
	theirs := leaveTraces(t, s, "abe", 600, abe)
	if oneBrowser {
		a := booking("ben", "checkup", 0, 30)
		a.Patient, a.Owner = abe, "the-client-of-zoe-123"
		mustInsert(t, s, a)
		theirs = append(theirs, a)
	}
	// This appointment spells the name differently, but has the same date of birth.
	a := booking("ben", "checkup", 120, 30)
	a.Patient = store.Patient{Name: "zoe  canary", Phone: "0171 55", BirthDate: zoe.BirthDate}
	mustInsert(t, s, a)
	asked, other := request("request-zoe", 0), request("request-abe", 60)
	asked.Patient, other.Patient = zoe, abe
	waits, stays := waiting("waits-zoe", 0), waiting("waits-abe", 60)
	waits.Patient, stays.Patient = zoe, abe
	write(t, s, func(tx store.Tx) error {
		return errors.Join(
			tx.InsertBookingRequest(t.Context(), asked), tx.InsertBookingRequest(t.Context(), other),
			tx.InsertWaitlistEntry(t.Context(), waits), tx.InsertWaitlistEntry(t.Context(), stays),
			remember(t, tx, "request-zoe", zoe), remember(t, tx, "request-abe", abe),
			remember(t, tx, "waits-zoe", zoe), remember(t, tx, "waits-abe", abe),
		)
	})

	erased, err := eraseNow(t, s, store.Person{Of: []store.Identity{zoe.Identity()}})
	wantErr(t, "Erase", err, nil)
	want := store.Erased{Appointments: 3, Operations: 1, Answers: 3, AuditEntries: 2, Sessions: 1, Requests: 1,
		Waitlist: 1, Notes: 2, Links: 1}
	if oneBrowser {
		want.Sessions = 0
	}
	erased.OperationIDs = nil
	if fmt.Sprint(erased) != fmt.Sprint(want) {
		t.Errorf("erased: got %+v, want %+v", erased, want)
	}
	all := strings.ToLower(everything(t, s))
	if oneBrowser {
		all = strings.ReplaceAll(all, "outcome:zoe-canary-note", "")
	}
	for _, trace := range []string{"canary", "1980-02-29", "0171 55", "patient-guid-zoe"} {
		if strings.Contains(all, trace) {
			t.Errorf("%q is still in the database", trace)
		}
	}
	if n := strings.Count(all, "abe-sparrow-note"); n < 9 {
		t.Errorf("the other person has %d notes, want those of the appointments, undo, the log, the session and the desk", n)
	}
	for _, a := range theirs {
		wantAppointment(t, s, a)
	}
	if _, err := s.BookingRequest(t.Context(), "request-abe"); err != nil {
		t.Errorf("the other person's request: %v", err)
	}
	for id, want := range map[string]error{"request-zoe": store.ErrNotFound, "waits-zoe": store.ErrNotFound,
		"request-abe": nil, "waits-abe": nil} {
		_, err := s.Recall(t.Context(), "s", id, time.Time{})
		wantErr(t, "the stored answer about "+id, err, want)
	}
}

// remember stores the response to a request that changed a booking request or a waiting-list entry.
func remember(t *testing.T, tx store.Tx, id string, p store.Patient) error {
	body, err := json.Marshal(map[string]any{"id": id, "patient": p})
	return errors.Join(err, tx.Remember(t.Context(), store.IdempotencyRecord{Scope: "s", Key: id, Status: 200,
		Body: body, CreatedAt: monday}))
}

// leaveTraces gives a person two appointments and one row of every other kind.
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
		one.Patient, one.Owner, one.UpstreamPatientID, one.Intake = p, client, "patient-guid-"+name, intake(p.Notes)
	}
	b.CancelReason = p.Notes
	b.RecallAt = monday.AddDate(0, 6, 0)
	write(t, s, func(tx store.Tx) error {
		for _, err := range []error{
			tx.InsertAppointment(ctx, a), tx.InsertAppointment(ctx, b),
			tx.InsertUndoState(ctx, store.UndoState{AppointmentID: a.ID, Version: 1, ChangeID: "undo-" + name,
				OverbookReason: p.Notes}),
			tx.InsertUndoState(ctx, store.UndoState{AppointmentID: b.ID, Version: 1, ChangeID: "undo-" + name,
				OverbookReason: p.Notes}),
			tx.Promise(ctx, store.Operation{ID: "op-" + name, Kind: store.Email, AppointmentID: a.ID,
				Status: store.OperationPending, Payload: text(p)}),
			tx.PutDelivery(ctx, store.Delivery{OperationID: "op-done-" + name, AppointmentID: a.ID, Channel: "email",
				State: "delivered", UpdatedAt: monday}),
			tx.Promise(ctx, store.Operation{ID: "op-hook-" + name, Kind: store.Webhook, AppointmentID: a.ID,
				Status: store.OperationPending, Payload: text(map[string]any{"appointmentId": a.ID})}),
			tx.PutDelivery(ctx, store.Delivery{OperationID: "op-hook-" + name, AppointmentID: a.ID, Channel: "webhook",
				State: "pending", UpdatedAt: monday}),
			tx.Remember(ctx, store.IdempotencyRecord{Scope: "s", Key: name, Status: 201,
				Body:      text(map[string]any{"appointment": map[string]any{"id": a.ID, "patient": p}}),
				CreatedAt: monday}),
			tx.AppendAudit(ctx, store.AuditEntry{ID: "1-" + name, At: monday, Actor: "client",
				Action: "appointment.created", Subject: "appointment:" + a.ID, Reason: p.Notes, After: text(p)}),
			tx.AppendAudit(ctx, store.AuditEntry{ID: "2-" + name, At: monday, Actor: "user:u",
				Action: "appointment.changed", Subject: "import:1",
				Before: text(map[string]any{"id": b.ID, "patient": p})}),
			tx.InsertSession(ctx, store.Session{ID: "session-" + name, Owner: client, Status: store.SessionEnded,
				Outcome: p.Notes, RequestedAt: monday, UpdatedAt: monday, Version: 1}),
			tx.InsertPersonNote(ctx, store.PersonNote{ID: "note-" + name, Of: p.Identity(), Text: p.Notes,
				Author: "user:u", CreatedAt: monday}),
			// The desk wrote this note before it had the address. Only the name and the date of birth identify the
			// person.
			tx.InsertPersonNote(ctx, store.PersonNote{ID: "note2-" + name,
				Of: store.Identity{Name: p.Name, BirthDate: p.BirthDate}, Text: p.Notes, Author: "user:u",
				CreatedAt: monday}),
			tx.InsertPersonLink(ctx, store.PersonLink{ID: "link-" + name, A: store.Identity{Name: "Somebody", Phone: "1"}, B: p.Identity(), Author: "user:u", CreatedAt: monday}),
			tx.UseNonce(ctx, store.NonceUse{Nonce: "nonce-" + name, PatientID: "patient-guid-" + name,
				AppointmentID: a.ID, ExpiresAt: monday}),
			tx.PutAgentSession(ctx, store.AgentSession{PatientID: "patient-guid-" + name, Patient: p, At: monday},
				"said-"+name),
		} {
			if err != nil {
				return err
			}
		}
		return nil
	})
	return []store.Appointment{a, b}
}

// everything prints all data that the store returns about both people.
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
	for _, who := range []string{"zoe canary", "ABE  Sparrow"} {
		dump(s.PersonNotes(ctx, who))
		dump(s.PersonLinks(ctx, who))
	}
	for _, name := range []string{"zoe", "abe"} {
		if answer, err := s.Recall(ctx, "s", name, time.Time{}); err == nil {
			b.Write(answer.Body)
		}
		use, err := s.NonceUse(ctx, "nonce-"+name)
		dump(use, err)
		dump(s.UndoStates(ctx, "undo-"+name))
		if x, err := s.AgentSession(ctx, time.Time{}, "said-"+name); err == nil {
			dump(x, err)
		}
	}
	return b.String()
}

// said checks that notes and links are found by the folded name, on either side of a link, and that Patients passes
// each appointment's patient once.
func said(t *testing.T, s store.Store) {
	clinic(t, s)
	ctx := t.Context()
	lena, maria := store.Identity{Name: "Lena  Vogt", BirthDate: "1980-02-29"},
		store.Identity{Name: "Maria Sand", Phone: "030 1"}
	note := store.PersonNote{ID: "n", Of: lena, Text: "needs\na lift", Author: "user:u", CreatedAt: monday}
	link := store.PersonLink{ID: "l", A: lena, B: maria, Author: "user:u", CreatedAt: monday}
	add := func() error {
		return s.Write(ctx, func(tx store.Tx) error {
			if err := tx.InsertPersonNote(ctx, note); err != nil {
				return err
			}
			return tx.InsertPersonLink(ctx, link)
		})
	}
	wantErr(t, "adding", add(), nil)
	wantErr(t, "adding again", add(), store.ErrDuplicate)
	if got, err := s.PersonNotes(ctx, "lena vogt"); err != nil || !slices.Equal(got, []store.PersonNote{note}) {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := s.PersonNote(ctx, "n"); err != nil || got != note {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, name := range []string{"LENA vogt", "Maria sand"} {
		if got, err := s.PersonLinks(ctx, name); err != nil || !slices.Equal(got, []store.PersonLink{link}) {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
	if got, err := s.PersonNotes(ctx, "Maria Sand"); err != nil || len(got) != 0 {
		t.Errorf("notes of the other person: %+v, %v", got, err)
	}
	a, b := booking("ada", "checkup", 0, 30), cancelled(booking("ben", "checkup", 0, 30))
	a.Patient, b.Patient = store.Patient{Name: "Lena Vogt", Email: "l@example.org", BirthDate: "1980-02-29"},
		store.Patient{}
	mustInsert(t, s, a)
	mustInsert(t, s, b)
	for who, want := range map[string]int{"": 1, "ada": 1, "ben": 0} {
		var got []store.PatientAt
		err := s.Patients(ctx, who, func(p store.PatientAt) { got = append(got, p) })
		if err != nil || len(got) != want || want == 1 && (got[0].AppointmentID != a.ID ||
			got[0].Identity != a.Patient.Identity() || !got[0].SlotStart.Equal(a.SlotStart)) {
			t.Errorf("patients of %q: got %+v, %v", who, got, err)
		}
	}
	wantErr(t, "deleting", s.Write(ctx, func(tx store.Tx) error {
		if err := tx.DeletePersonNote(ctx, "n"); err != nil {
			return err
		}
		return tx.DeletePersonLink(ctx, "l")
	}), nil)
	wantErr(t, "deleting it again", s.Write(ctx, func(tx store.Tx) error {
		return tx.DeletePersonNote(ctx, "n")
	}), store.ErrNotFound)
	wantErr(t, "and the link", s.Write(ctx, func(tx store.Tx) error {
		return tx.DeletePersonLink(ctx, "l")
	}), store.ErrNotFound)
}
