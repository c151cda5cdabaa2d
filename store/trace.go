package store

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Validate returns nil if p names somebody in exactly one way, else an error that wraps ErrInvalid.
func (p Person) Validate() error {
	given := 0
	for _, s := range []string{p.Email, p.Phone, p.Owner} {
		if s != "" {
			given++
		}
	}
	switch {
	case given != 1:
		return fmt.Errorf("%w: a person to erase is named by an e-mail address, a phone number or a client id", ErrInvalid)
	case p.Owner == "" && Fold(p.Email) == "" && Digits(p.Phone) == "":
		return fmt.Errorf("%w: that is neither an e-mail address nor a phone number", ErrInvalid)
	}
	return nil
}

// Traces recognises what speaks of a person who is to be erased: texts that hold the id of one of the appointments, the id of
// the owner, or the address or number itself.
type Traces struct {
	ids    map[string]bool // of appointments and owners
	owners []string
	email  string // folded
	phone  string // digits
}

// TracesOf are those of a person whose appointments are still to be added.
func TracesOf(p Person) Traces {
	t := Traces{ids: map[string]bool{}, email: Fold(p.Email), phone: Digits(p.Phone)}
	t.addOwner(p.Owner)
	return t
}

// Add makes an appointment of the person known, and whoever booked it.
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

// Owners are those known to be the person.
func (t Traces) Owners() []string { return t.owners }

// Has reports whether id is that of an appointment or an owner known to be the person's.
func (t Traces) Has(id string) bool { return t.ids[id] }

// In reports whether the text, usually JSON, speaks of the person. Ids are compared word by word, so one pass over a text is
// enough for any number of them.
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
		return t.email != "" && strings.Contains(Fold(v), t.email) || t.phone != "" && Digits(v) == t.phone
	}
	return false
}
