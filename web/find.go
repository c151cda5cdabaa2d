package web

import (
	"net/http"
	"strings"

	"holdfast/engine/booking"
	"holdfast/store"
)

// findBody is a search for free times, for example for a patient on the phone. A missing field does not restrict the
// search.
type findBody struct {
	clientBody
	SpecialistIDs []string `json:"specialistIds"`
	Place         string   `json:"place"`
	From          string   `json:"from"`
	Weekdays      []string `json:"weekdays"`
	Earliest      string   `json:"earliest"`
	Latest        string   `json:"latest"`
	Count         *int     `json:"count"`
}

// foundJSON is a free time and the specialists who can take it.
type foundJSON struct {
	Start         string   `json:"start"`
	End           string   `json:"end"`
	Available     int      `json:"available"`
	SpecialistIDs []string `json:"specialistIds"`
	Place         string   `json:"place,omitempty"` // of the first specialist
}

// findTimes is `POST /v1/appointment-types/{id}/find`. It changes nothing, so its response is not stored for a repeated
// request. A signed-in specialist finds only times in their own calendar.
func (s *Server) findTimes(c *call, b *findBody) error {
	c.once = nil
	m := &c.wrong
	r := booking.FindRequest{AppointmentTypeID: c.param("id"), SpecialistIDs: b.SpecialistIDs, Place: b.Place,
		Client: c.client, Count: 12}
	s.checkPlace(m, b.Place)
	if b.From != "" {
		r.From = m.parseDate("from", b.From)
	}
	r.Weekdays = m.weekdays("weekdays", b.Weekdays)
	r.Earliest, r.Latest = m.clock("earliest", b.Earliest), m.clock("latest", b.Latest)
	if b.Count != nil {
		if r.Count = *b.Count; r.Count < 1 || r.Count > booking.MaxFound {
			m.add("count", "must be from 1 to 50")
		}
	}
	if len(b.SpecialistIDs) > 200 {
		m.add("specialistIds", "at most 200 specialists")
	}
	if own := c.caller.specialistID; own != "" {
		r.SpecialistIDs = []string{own}
	}
	list, err := s.engine.Booking.FreeTimes(c.ctx(), r)
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, map[string]any{"times": foundOf(s.engine.Clinic.Current(), list)})
}

// weekdays parses at most 7 weekday names such as monday.
func (m *mistakes) weekdays(field string, names []string) (days []store.Weekday) {
	if len(names) > 7 {
		m.add(field, "at most 7 weekdays")
	}
	for i, name := range names {
		var day store.Weekday
		if day.UnmarshalText([]byte(name)) != nil {
			m.add(indexed(field, i), "must be a weekday like monday")
		}
		days = append(days, day)
	}
	return days
}

// clock parses a local time such as 09:00. An empty string means midnight.
func (m *mistakes) clock(field, s string) store.TimeOfDay {
	if s = strings.TrimSpace(s); s == "" {
		return 0
	}
	t, err := store.ParseTimeOfDay(s)
	if err != nil {
		m.add(field, "must be a time like 09:00")
	}
	return t
}
