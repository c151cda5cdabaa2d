package clinic

import (
	"cmp"
	"strings"
	"time"

	"holdfast/store"
)

// How many hours a request can hold its time while it waits for the desk's approval: the default, and the maximum for a
// type.
const (
	DefaultApprovalHours = 48
	MaxApprovalHours     = 7 * 24
)

// AskedUntil returns the instant until which a request for a slot of a type holds its time. If the type needs approval,
// the desk has the type's approval period to decide, but only until the start of the slot. For all other types, the
// settings decide.
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

// VideoLink returns the video link of a remote appointment, or an empty string if there is none.
func (s *Schedule) VideoLink(a *store.Appointment) string {
	t := s.TypeOf(a.AppointmentTypeID)
	if t == nil || !t.Page.Remote {
		return ""
	}
	return strings.ReplaceAll(t.Page.VideoLink, "{appointment}", a.ID)
}

// CancelTextIn returns a type's cancellation policy for patients, in a given language.
func CancelTextIn(t *store.AppointmentType, language string) string {
	return cmp.Or(t.Page.Texts[language].CancelText, t.Page.CancelText)
}
