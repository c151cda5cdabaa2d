package web

import (
	"fmt"
	"net/http"
	"time"

	"holdfast/engine/person"
	"holdfast/holds"
	"holdfast/store"
)

// erasePersonBody identifies a person by exactly one of the first four fields. ClientID is the client to erase, not the
// client of the caller.
type erasePersonBody struct {
	Email         string `json:"email"`
	Phone         string `json:"phone"`
	ClientID      string `json:"clientId"`
	AppointmentID string `json:"appointmentId"`
	// Also lists appointments of other people, who are erased together with the person of AppointmentID.
	Also []string `json:"also"`
	// Everybody erases all people who share the address or the number.
	Everybody bool `json:"everybody"`
}

// maxErased is the maximum length of Also: the erasure reads every appointment for each person.
const maxErased = 20

type erasePlanBody struct {
	clientBody
	AppointmentID string `json:"appointmentId"`
}

// erasureJSON lists the data that erasing a person removes, and the other people with the same email address or phone
// number.
type erasureJSON struct {
	People  []identityJSON    `json:"people"`
	Coming  int               `json:"coming"`
	Past    int               `json:"past"`
	Notes   int               `json:"notes"`
	Links   int               `json:"links"`
	Sharing []foundPersonJSON `json:"sharing"`
}

// planErasure changes nothing, so its response is not stored for a repeated request.
func (s *Server) planErasure(c *call, b *erasePlanBody) error {
	c.once = nil
	x, err := s.engine.Person.PlanErasure(c.ctx(), b.AppointmentID)
	if err != nil {
		return err
	}
	j := erasureJSON{
		People: each(x.Of, func(of *store.Identity) identityJSON { return identityJSON(*of) }),
		Coming: x.Coming, Past: x.Past, Notes: x.Notes, Links: x.Links, Sharing: foundPeople(x.Sharing),
	}
	return c.json(http.StatusOK, map[string]erasureJSON{"erasure": j})
}

// alone refuses an email address or a phone number that several people share, unless Everybody is set: a caller who
// wants to erase only one of them must not erase the others.
func (s *Server) alone(c *call, b *erasePersonBody) error {
	if b.Everybody || b.Email == "" && b.Phone == "" {
		return nil
	}
	holders, err := s.engine.Person.Holders(c.ctx(), store.Person{Email: b.Email, Phone: b.Phone})
	if err != nil || len(holders) < 2 {
		return err
	}
	field := "phone"
	if b.Email != "" {
		field = "email"
	}
	return fieldError(field,
		fmt.Sprintf("is shared by %d people: identify one of them by appointmentId, or send everybody to erase all "+
			"of them",
			len(holders)))
}

// erasedJSON counts the blanked records.
type erasedJSON struct {
	Appointments int `json:"appointments"`
	Operations   int `json:"operations"`
	Answers      int `json:"answers"`
	AuditEntries int `json:"auditEntries"`
	Sessions     int `json:"sessions"`
	Requests     int `json:"requests"`
	Waitlist     int `json:"waitlist"`
	Notes        int `json:"notes"`
	Links        int `json:"links"`
	MailFiles    int `json:"mailFiles"`
}

// remainsJSON lists the copies of the data that the erasure did not change.
type remainsJSON struct {
	Copies    []copyJSON `json:"copies"`
	MailFiles []string   `json:"mailFiles"`
}

// copyJSON is a backup, or another copy of the data, that was made before the erasure.
type copyJSON struct {
	Name    string `json:"name"`
	MadeAt  string `json:"madeAt"`
	AgeDays int    `json:"ageDays"`
}

func (s *Server) erasePerson(c *call, b *erasePersonBody) error {
	answer := func(n *person.Erased) any {
		remains := remainsJSON{Copies: []copyJSON{}, MailFiles: append([]string{}, n.MailFilesLeft...)}
		for _, k := range n.Copies {
			remains.Copies = append(remains.Copies, copyJSON{k.Name,
				httpTime(k.MadeAt), int(time.Since(k.MadeAt).Hours() / 24)})
		}
		return map[string]any{
			"erased": erasedJSON{n.Appointments, n.Operations, n.Answers, n.AuditEntries, n.Sessions, n.Requests,
				n.Waitlist, n.Notes, n.Links, n.MailFiles}, "remains": remains,
		}
	}
	ctx := committing(c, http.StatusOK, answer)
	var n person.Erased
	var err error
	switch byName := b.Email+b.Phone+b.ClientID != ""; {
	case byName && (b.AppointmentID != "" || len(b.Also) > 0):
		return fieldError("appointmentId",
			"cannot be combined with email, phone or clientId; identify the person by exactly one of them")
	case b.Everybody && b.Email+b.Phone == "":
		return fieldError("everybody", "applies only to an email or a phone that several people share")
	case !byName && b.AppointmentID == "" && len(b.Also) > 0:
		return fieldError("also", "can only be sent with an appointmentId")
	case len(b.Also) > maxErased:
		return fieldError("also", fmt.Sprintf("must have at most %d ids; erase the others afterwards", maxErased))
	}
	if b.AppointmentID != "" {
		n, err = s.engine.Person.EraseOf(ctx, c.caller.actor, append([]string{b.AppointmentID}, b.Also...)...)
	} else {
		if err := s.alone(c, b); err != nil {
			return err
		}
		n, err = s.engine.Person.Erase(ctx, c.caller.actor,
			store.Person{Email: b.Email, Phone: b.Phone, Owner: holds.ClientID(b.ClientID).Owner().String()})
	}
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, answer(&n))
}
