package token

import "time"

// A calendar token has the bytes of a manage token and a key of its own: who is shown an appointment by it can not pass for
// who may change the appointment.

// Calendar is what a calendar token says: its bearer may see this one appointment, until then.
type Calendar struct {
	AppointmentID string
	Serial        uint32    // which of the appointment's calendar addresses; that it was not ended is the caller's to check
	ExpiresAt     time.Time // UTC, whole seconds; refused from this instant on
}

// IssueCalendar makes the calendar token of c, by the rules of IssueManage.
func (k *Keyring) IssueCalendar(c Calendar, now time.Time) (string, error) {
	return k.issueLink(forCalendar, Manage{c.AppointmentID, c.Serial, c.ExpiresAt}, now)
}

// VerifyCalendar checks a calendar token as VerifyManage checks a manage token, and refuses it with the same errors.
func (k *Keyring) VerifyCalendar(token string, now time.Time) (Calendar, error) {
	m, err := k.verifyLink(forCalendar, token, now)
	return Calendar{m.AppointmentID, m.Version, m.ExpiresAt}, err
}
