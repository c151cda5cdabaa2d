package clinic

import (
	"cmp"
	"strings"
	"time"

	"holdfast/store"
)

// How long a request that the desk approves keeps its time: the default, and the most a type may have.
const (
	DefaultApprovalHours = 48
	MaxApprovalHours     = 7 * 24
)

// AskedUntil is how long a request for a slot of a type keeps its time: as long as the desk has to approve it, never past the slot's
// start; for all other types as the settings say.
func (s *Settings) AskedUntil(t *store.AppointmentType, start, now time.Time) time.Time {
	if !t.Page.Approval {
		return now.Add(s.PublicBookings.Keeps())
	}
	until := now.Add(time.Duration(cmp.Or(t.Page.ApprovalHours, DefaultApprovalHours)) * time.Hour)
	if start.After(now) && start.Before(until) {
		return start.UTC()
	}
	return until
}

// VideoLink is where a remote appointment takes place; empty for all others.
func (s *Schedule) VideoLink(a *store.Appointment) string {
	t := s.TypeOf(a.AppointmentTypeID)
	if t == nil || !t.Page.Remote {
		return ""
	}
	return strings.ReplaceAll(t.Page.VideoLink, "{appointment}", a.ID)
}

// CancelTextIn is what a type's patients are told about cancelling, in a language.
func CancelTextIn(t *store.AppointmentType, language string) string {
	return cmp.Or(t.Page.Texts[language].CancelText, t.Page.CancelText)
}
