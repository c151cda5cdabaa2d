package token

import "time"

// A calendar token has the same layout as a manage token, but is signed with a different key. So its bearer can see an
// appointment, but cannot use the token to change it.

// Calendar is the content of a calendar token: its bearer is allowed to see this one appointment until an instant.
type Calendar struct {
	AppointmentID string
	// the number of the appointment's calendar address; the caller must check that the address has not been disabled
	Serial    uint32
	ExpiresAt time.Time // UTC, whole seconds; refused from this instant on
}

// IssueCalendar creates the calendar token for c, following the same rules as IssueManage.
func (k *Keyring) IssueCalendar(c Calendar, now time.Time) (string, error) {
	return k.issueLink(forCalendar, Manage{c.AppointmentID, c.Serial, c.ExpiresAt}, now)
}

// VerifyCalendar checks a calendar token in the same way that VerifyManage checks a manage token, and returns the same
// errors.
func (k *Keyring) VerifyCalendar(token string, now time.Time) (Calendar, error) {
	m, err := k.verifyLink(forCalendar, token, now)
	return Calendar{m.AppointmentID, m.Version, m.ExpiresAt}, err
}
