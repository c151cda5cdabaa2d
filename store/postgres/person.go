package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"holdfast/store"
)

// personal is one appointment of the person: its id and the client that booked it.
type personal struct{ appointmentID, clientID string }

// appointmentsOf finds those of a person whose rows were added after the given one.
func appointmentsOf(ctx context.Context, r reads, p store.Person, after int64) ([]personal, error) {
	scan := func(r *row) personal { return personal{r.text(), r.text()} }
	switch {
	case p.Owner != "":
		return list(ctx, r, scan,
			`SELECT id, client_id FROM appointments WHERE client_id = $1 AND client_id <> '' AND row_number > $2`, p.Owner, after)
	case p.Email != "":
		return list(ctx, r, scan,
			`SELECT id, client_id FROM appointments WHERE row_number > $1 AND strpos(patient_search, $2) > 0`, after, "\n"+fold(p.Email)+"\n")
	}
	line := "\n" + digits(p.Phone)
	return list(ctx, r, scan,
		`SELECT id, client_id FROM appointments WHERE row_number > $1 AND right(patient_search, $2::int) = $3`, after, len(line), line)
}

// named says whether p names somebody in exactly one way.
func named(p store.Person) error {
	given := 0
	for _, s := range []string{p.Email, p.Phone, p.Owner} {
		if s != "" {
			given++
		}
	}
	switch {
	case given != 1:
		return fmt.Errorf("%w: a person to erase is named by an e-mail address, a phone number or a client id", store.ErrInvalid)
	case p.Owner == "" && fold(p.Email) == "" && digits(p.Phone) == "":
		return fmt.Errorf("%w: that is neither an e-mail address nor a phone number", store.ErrInvalid)
	}
	return nil
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
	t.add(found)
	t.client(p.Owner)
	return t
}

func (t *traces) add(found []personal) {
	for _, f := range found {
		t.ids[f.appointmentID] = true
		t.client(f.clientID)
	}
}

func (t *traces) client(id string) {
	if id != "" && !t.ids[id] {
		t.ids[id] = true
		t.clients = append(t.clients, id)
	}
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
