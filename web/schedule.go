package web

import (
	"net/http"

	"holdfast/store"
)

// schedulePattern is a route that needs a credential. Its response contains no secret and no patient data, so compress
// may compress it.
const schedulePattern = "/v1/schedule"

// scheduleJSON is the data that the desk loads first: the specialists with their hours, and the appointment types.
type scheduleJSON struct {
	Specialists      []specialistDetailsJSON `json:"specialists"`
	AppointmentTypes []appointmentTypeJSON   `json:"appointmentTypes"`
	Calendars        []calendarJSON          `json:"calendars"`
	Archived         archivedJSON            `json:"archived"`
}

// archivedJSON names the specialists and types that have been archived, because appointments still refer to them.
type archivedJSON struct {
	Specialists      []archivedSpecialistJSON `json:"specialists"`
	AppointmentTypes []archivedTypeJSON       `json:"appointmentTypes"`
}

type archivedSpecialistJSON struct {
	ID       string               `json:"id"`
	Name     string               `json:"name"`
	Kind     store.SpecialistKind `json:"kind,omitempty"`
	Timezone string               `json:"timezone"`
}

type archivedTypeJSON struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

func archivedOf(s *store.Schedule) archivedJSON {
	a := archivedJSON{[]archivedSpecialistJSON{}, []archivedTypeJSON{}}
	for i := range s.ArchivedSpecialists {
		p := &s.ArchivedSpecialists[i]
		a.Specialists = append(a.Specialists, archivedSpecialistJSON{p.ID, p.Name, p.Kind, p.Timezone})
	}
	for i := range s.ArchivedTypes {
		t := &s.ArchivedTypes[i]
		a.AppointmentTypes = append(a.AppointmentTypes, archivedTypeJSON{t.ID, t.Name})
	}
	return a
}

// calendarJSON is the working time of one specialist.
type calendarJSON struct {
	SpecialistID string         `json:"specialistId"`
	WeeklyHours  []hoursJSON    `json:"weeklyHours"`
	Overrides    []overrideJSON `json:"overrides"`
	Blocks       []blockJSON    `json:"blocks"`
}

// getSchedule returns in one response what a board of thirty columns would otherwise need ninety requests for. A
// signed-in specialist gets the times when a colleague is away, but not the reasons.
func (s *Server) getSchedule(c *call) error {
	now := s.engine.Clinic.Schedule()
	answer := scheduleJSON{Specialists: []specialistDetailsJSON{}, AppointmentTypes: s.appointmentTypesFor(now, true),
		Calendars: []calendarJSON{}, Archived: archivedOf(now)}
	for i := range now.Specialists {
		p := &now.Specialists[i]
		answer.Specialists = append(answer.Specialists, s.specialistDetailsOf(p))
		known := c.caller.reaches(p.ID)
		calendar := calendarJSON{SpecialistID: p.ID, WeeklyHours: hoursOf(now.WeeklyHours[p.ID]),
			Overrides: []overrideJSON{}, Blocks: []blockJSON{}}
		for j := range now.Overrides[p.ID] {
			calendar.Overrides = append(calendar.Overrides, overrideOf(&now.Overrides[p.ID][j]))
			if !known {
				calendar.Overrides[j].Reason = ""
			}
		}
		for j := range now.Blocks[p.ID] {
			calendar.Blocks = append(calendar.Blocks, blockOf(&now.Blocks[p.ID][j]))
			if !known {
				calendar.Blocks[j].Reason = ""
			}
		}
		answer.Calendars = append(answer.Calendars, calendar)
	}
	return c.json(http.StatusOK, answer)
}
