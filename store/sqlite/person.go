package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/store"
)

func (t *tx) Erase(ctx context.Context, p store.Person, at time.Time) (store.Erased, error) {
	var erased store.Erased
	found, err := t.appointmentsOf(ctx, p)
	if err != nil {
		return erased, err
	}
	traces := tracesOf(p, found)
	for _, step := range []func() error{
		func() error { return t.blankAppointments(found, at, &erased) },
		func() error { return t.blankSessions(traces, at, &erased) },
		func() error { return t.blankOperations(ctx, traces, &erased) },
		func() error { return t.removeAnswers(ctx, traces, &erased) },
		func() error { return t.blankAudit(ctx, traces, &erased) },
	} {
		if err := step(); err != nil {
			return store.Erased{}, err
		}
	}
	slices.Sort(erased.OperationIDs)
	erased.OperationIDs = slices.Compact(erased.OperationIDs)
	return erased, t.wantScrub()
}

// personal is one appointment of the person: its id and the client that booked it.
type personal struct{ appointmentID, clientID string }

func (t *tx) appointmentsOf(ctx context.Context, p store.Person) ([]personal, error) {
	scan := func(r *row) personal { return personal{r.text(), r.text()} }
	given := 0
	for _, s := range []string{p.Email, p.Phone, p.Owner} {
		if s != "" {
			given++
		}
	}
	switch {
	case given != 1:
		return nil, fmt.Errorf("%w: a person to erase is named by an e-mail address, a phone number or a client id", store.ErrInvalid)
	case p.Owner != "":
		return list(ctx, t.reads, scan,
			`SELECT id, client_id FROM appointments WHERE client_id = ? AND client_id <> ''`, p.Owner)
	case fold(p.Email) != "":
		return list(ctx, t.reads, scan,
			`SELECT id, client_id FROM appointments WHERE instr(patient_search, ?) > 0`, "\n"+fold(p.Email)+"\n")
	case digits(p.Phone) != "":
		line := "\n" + digits(p.Phone)
		return list(ctx, t.reads, scan,
			`SELECT id, client_id FROM appointments WHERE substr(patient_search, ?) = ?`, -len(line), line)
	}
	return nil, fmt.Errorf("%w: that is neither an e-mail address nor a phone number", store.ErrInvalid)
}

// traces recognises what else speaks of the person: texts that hold the id of one of the appointments, the id of the
// client, or the address or number itself.
type traces struct {
	ids     map[string]bool // of appointments and clients
	clients []string
	email   string // folded
	phone   string // digits
}

func tracesOf(p store.Person, found []personal) traces {
	t := traces{ids: map[string]bool{}, email: fold(p.Email), phone: digits(p.Phone)}
	clients := map[string]bool{}
	if p.Owner != "" {
		clients[p.Owner] = true
	}
	for _, f := range found {
		t.ids[f.appointmentID] = true
		if f.clientID != "" {
			clients[f.clientID] = true
		}
	}
	for c := range clients {
		t.ids[c] = true
		t.clients = append(t.clients, c)
	}
	slices.Sort(t.clients)
	return t
}

// in reports whether the text, usually JSON, speaks of the person. Ids are compared word by word, so one pass over a
// text is enough for any number of them.
func (t traces) in(text string) bool {
	if text == "" {
		return false
	}
	words := strings.FieldsFuncSeq(text, func(r rune) bool {
		return !(r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z')
	})
	for word := range words {
		if t.ids[word] {
			return true
		}
	}
	if t.email == "" && t.phone == "" {
		return false
	}
	return t.inValue(parsed(text))
}

// parsed undoes JSON's escapes; text that is not JSON is compared as it is.
func parsed(text string) any {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return text
	}
	return v
}

func (t traces) inValue(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for key, inner := range v {
			if t.inValue(key) || t.inValue(inner) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, t.inValue)
	case string:
		return t.email != "" && strings.Contains(fold(v), t.email) || t.phone != "" && digits(v) == t.phone
	}
	return false
}

func (t *tx) blankAppointments(found []personal, at time.Time, erased *store.Erased) error {
	for _, f := range found {
		n, err := t.exec(`
			UPDATE appointments SET client_id = '', overbook_reason = '', patient_name = '', patient_email = '',
				patient_phone = '', patient_birth_date = '', notes = '', patient_search = '', upstream_patient_id = '',
				cancel_reason = '', updated_at = ?, version = version + 1
			WHERE id = ?`, at, f.appointmentID)
		if err != nil {
			return err
		}
		erased.Appointments += int(n)
		if err := t.run(`UPDATE nonce_uses SET patient_id = '' WHERE appointment_id = ?`, f.appointmentID); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) blankSessions(traces traces, at time.Time, erased *store.Erased) error {
	for _, client := range traces.clients {
		n, err := t.exec(`
			UPDATE sessions SET client_id = '', outcome = '', updated_at = ?, version = version + 1
			WHERE client_id = ? AND client_id <> ''`, at, client)
		if err != nil {
			return err
		}
		erased.Sessions += int(n)
	}
	return nil
}

// blankOperations also names the operations that were already fulfilled, as far as the delivery log knows them: the
// queue keeps its copies for a while.
func (t *tx) blankOperations(ctx context.Context, traces traces, erased *store.Erased) error {
	var ids []string
	err := t.conn.query(ctx, func(r *row) {
		id, appointmentID, payload := r.text(), r.text(), r.text()
		if traces.ids[appointmentID] || traces.in(payload) {
			ids = append(ids, id)
		}
	}, `SELECT id, appointment_id, payload FROM outbox`)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := t.run(`UPDATE outbox SET payload = '{}', last_error = '' WHERE id = ?`, id); err != nil {
			return err
		}
	}
	erased.Operations = len(ids)
	erased.OperationIDs = ids
	for id := range traces.ids {
		delivered, err := list(ctx, t.reads, (*row).text, `SELECT operation_id FROM deliveries WHERE appointment_id = ?`, id)
		if err != nil {
			return err
		}
		erased.OperationIDs = append(erased.OperationIDs, delivered...)
	}
	return nil
}

func (t *tx) removeAnswers(ctx context.Context, traces traces, erased *store.Erased) error {
	var rowids []int64
	err := t.conn.query(ctx, func(r *row) {
		if rowid := r.int64(); traces.in(string(r.bytes())) {
			rowids = append(rowids, rowid)
		}
	}, `SELECT rowid, body FROM idempotency_records`)
	if err != nil {
		return err
	}
	for _, rowid := range rowids {
		if err := t.run(`DELETE FROM idempotency_records WHERE rowid = ?`, rowid); err != nil {
			return err
		}
	}
	erased.Answers = len(rowids)
	return nil
}

func (t *tx) blankAudit(ctx context.Context, traces traces, erased *store.Erased) error {
	var rowids []int64
	err := t.conn.query(ctx, func(r *row) {
		//lint:ignore SA4000 each call reads the next column
		if rowid := r.int64(); traces.in(r.text()) || traces.in(r.text()) || traces.in(r.text()) || traces.in(r.text()) {
			rowids = append(rowids, rowid)
		}
	}, `SELECT rowid, subject, reason, before, after FROM audit_entries`)
	if err != nil {
		return err
	}
	for _, rowid := range rowids {
		if err := t.run(`UPDATE audit_entries SET reason = '', before = NULL, after = NULL WHERE rowid = ?`, rowid); err != nil {
			return err
		}
	}
	erased.AuditEntries = len(rowids)
	return nil
}
