package store

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Validate returns nil if p identifies a person in exactly one way, else an error that wraps ErrInvalid.
func (p Person) Validate() error {
	given := 0
	for _, s := range []string{p.Email, p.Phone, p.Owner} {
		if s != "" {
			given++
		}
	}
	if len(p.Of) > 0 {
		given++
	}
	switch {
	case given != 1:
		return fmt.Errorf(
			"%w: name the person to erase by an email address, a phone number, a client id or by spellings",
			ErrInvalid,
		)
	case slices.ContainsFunc(p.Of, func(i Identity) bool { return Fold(i.Name) == "" }):
		return fmt.Errorf("%w: a spelling needs a name", ErrInvalid)
	case len(p.Of) > 0:
		return nil
	case p.Owner == "" && Fold(p.Email) == "" && Digits(p.Phone) == "":
		return fmt.Errorf("%w: the value is neither an email address nor a phone number", ErrInvalid)
	}
	return nil
}

// Traces recognizes data about a person who is to be erased: strings that contain the id of one of their appointments,
// their owner, or their address or number.
type Traces struct {
	ids    map[string]bool // ids of appointments and owners
	owners []string
	emails []string // folded
	phones []string // digits
}

// TracesOf returns the traces of a person. The caller still has to add the person's appointments.
func TracesOf(p Person) Traces {
	t := Traces{ids: map[string]bool{}}
	t.Own(p)
	return t
}

// Own adds an address, a number or an owner that no other person has.
func (t *Traces) Own(p Person) {
	if email := Fold(p.Email); email != "" {
		t.emails = append(t.emails, email)
	}
	if phone := Digits(p.Phone); phone != "" {
		t.phones = append(t.phones, phone)
	}
	t.addOwner(p.Owner)
}

// Handles returns the addresses, numbers and owners of a person's appointments, each once.
func Handles(of []Identity, owners []string) (all []Person) {
	seen := make(map[[3]string]bool)
	add := func(email, phone, owner string) {
		key := [3]string{Fold(email), Digits(phone), owner}
		if key != [3]string{} && !seen[key] {
			seen[key] = true
			all = append(all, Person{Email: email, Phone: phone, Owner: owner})
		}
	}
	for i := range of {
		add(of[i].Email, "", "")
		add("", of[i].Phone, "")
	}
	for _, owner := range owners {
		add("", "", owner)
	}
	return all
}

// Add adds an appointment of the person and the client that booked it.
func (t *Traces) Add(appointmentID, owner string) {
	t.ids[appointmentID] = true
	t.addOwner(owner)
}

func (t *Traces) addOwner(id string) {
	if id != "" && !t.ids[id] {
		t.ids[id] = true
		t.owners = append(t.owners, id)
	}
}

// Owners returns the owners that belong to the person.
func (t Traces) Owners() []string { return t.owners }

// Has reports whether id is an appointment or an owner of the person.
func (t Traces) Has(id string) bool { return t.ids[id] }

// InOperation reports whether an outbound call contains data about the person. A webhook never counts: it reports the
// state of an appointment, and a calendar that depends on it must receive it even after an erasure. An unfinished
// email about several appointments does not count either if some belong to other people: the mailer writes it later,
// about those.
func (t Traces) InOperation(op *Operation) bool {
	return op.Kind != Webhook && !t.aboutOthers(op) && (t.Has(op.AppointmentID) || t.In(string(op.Payload)))
}

// aboutOthers reports whether an operation is an unfinished message that lists appointments, by id, that are not the
// person's.
func (t Traces) aboutOthers(op *Operation) bool {
	var mail struct{ Appointments []string }
	return op.Kind.IsMessage() && op.FinishedAt.IsZero() && json.Unmarshal(op.Payload, &mail) == nil &&
		slices.ContainsFunc(mail.Appointments, func(id string) bool { return !t.Has(id) })
}

// In reports whether the text, usually JSON, contains data about the person. It compares ids word by word, so one pass
// over the text is enough for any number of them.
func (t Traces) In(text string) bool {
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
	if len(t.emails) == 0 && len(t.phones) == 0 {
		return false
	}
	return t.inValue(parsed(text))
}

// parsed decodes JSON, so that its escapes do not matter; text that is not JSON stays unchanged.
func parsed(text string) any {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return text
	}
	return v
}

func (t Traces) inValue(v any) bool {
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
		folded, digits := "", ""
		if len(t.emails) > 0 {
			folded = Fold(v)
		}
		if len(t.phones) > 0 {
			digits = Digits(v)
		}
		return slices.ContainsFunc(t.emails, func(email string) bool { return strings.Contains(folded, email) }) ||
			slices.ContainsFunc(t.phones, func(phone string) bool { return digits == phone })
	}
	return false
}
