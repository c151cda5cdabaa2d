package web

import (
	"net/http"
	"strings"

	"holdfast/engine/person"
	"holdfast/engine/record"
	"holdfast/store"
)

// historyJSON is a person's past and future appointments, with the desk's notes.
type historyJSON struct {
	People    []identityJSON    `json:"people"`
	Coming    []appointmentJSON `json:"coming"`
	Past      []appointmentJSON `json:"past"`
	NoShows   int               `json:"noShows"`
	Cancelled int               `json:"cancelled"`
	Notes     []noteJSON        `json:"notes"`
	Links     []linkJSON        `json:"links"`
}

// identityJSON is one spelling of a person's name and contact details, as found in appointments.
type identityJSON struct {
	Name      string `json:"name"`
	Email     string `json:"email,omitempty"`
	Phone     string `json:"phone,omitempty"`
	BirthDate string `json:"birthDate,omitempty"`
}

type noteJSON struct {
	ID        string `json:"id"`
	Text      string `json:"text"`
	Author    string `json:"author"`
	CreatedAt string `json:"createdAt"`
}

type linkJSON struct {
	ID     string         `json:"id"`
	People []identityJSON `json:"people"`
}

// getHistory returns all appointments of the patient of an appointment. person.Viewer determines which of them a
// specialist gets.
func (s *Server) getHistory(c *call) error {
	if _, err := s.reachable(c); err != nil {
		return err
	}
	h, err := s.engine.Person.History(c.ctx(), c.param("id"),
		person.Viewer{SpecialistID: c.caller.specialistID, Actor: c.caller.actor})
	if err != nil {
		return err
	}
	j := historyJSON{
		Coming: each(h.Coming, deskAppointmentOf), Past: each(h.Past, deskAppointmentOf),
		NoShows: h.NoShows, Cancelled: h.Cancelled,
		People: []identityJSON{}, Notes: []noteJSON{}, Links: []linkJSON{},
	}
	for _, i := range h.Of {
		j.People = append(j.People, identityJSON(i))
	}
	for _, n := range h.Notes {
		j.Notes = append(j.Notes, noteJSON{n.ID, n.Text, s.authorOf(n.Author), httpTime(n.CreatedAt)})
	}
	for _, l := range h.Links {
		j.Links = append(j.Links, linkJSON{l.ID, []identityJSON{identityJSON(l.A), identityJSON(l.B)}})
	}
	return c.json(http.StatusOK, map[string]historyJSON{"history": j})
}

// authorOf returns the id of the user or the API key that wrote a note, without the kind of actor.
func (s *Server) authorOf(actor string) string {
	_, id, _ := strings.Cut(actor, ":")
	return id
}

type findPeopleBody struct {
	clientBody
	Q     string `json:"q"`
	Limit *int   `json:"limit"`
}

// foundPersonJSON is a search result. AppointmentID is the person's newest appointment, which identifies the person in
// further requests.
type foundPersonJSON struct {
	identityJSON
	AppointmentID string `json:"appointmentId"`
	Appointments  int    `json:"appointments"`
	Last          string `json:"last"`
}

// findPeople changes nothing, so its response is not stored for a repeated request. A signed-in specialist finds only
// the people in their own calendar.
func (s *Server) findPeople(c *call, b *findPeopleBody) error {
	c.once = nil
	limit := 12
	m := &c.wrong
	if b.Limit != nil {
		if limit = *b.Limit; limit < 1 || limit > person.MaxFound {
			m.add("limit", "must be from 1 to 50")
		}
	}
	if len(b.Q) > 200 {
		m.add("q",
			"must be at most 200 characters: a part of a name, a phone number, an email address or a date of birth")
	}
	list, err := s.engine.Person.Find(c.ctx(), b.Q, c.caller.specialistID, limit)
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, map[string]any{"people": foundPeople(list)})
}

func foundPeople(list []person.Found) []foundPersonJSON {
	return each(list, func(f *person.Found) foundPersonJSON {
		return foundPersonJSON{identityJSON(f.Identity), f.AppointmentID, f.Appointments, httpTime(f.Last)}
	})
}

type noteBody struct {
	clientBody
	Text string `json:"text"`
}

// addNote responds without the text of the note, so that no response stored under an idempotency key contains it.
func (s *Server) addNote(c *call, b *noteBody) error {
	if _, err := s.reachable(c); err != nil {
		return err
	}
	id := c.param("id")
	say := func(n *store.PersonNote) any {
		return map[string]any{"id": n.ID, "appointmentId": id, "createdAt": httpTime(n.CreatedAt)}
	}
	return answerChange(c, http.StatusCreated, say, func(once *record.Once) (store.PersonNote, error) {
		return s.engine.Person.AddNote(c.ctx(), id, b.Text, c.caller.actor, once)
	})
}

func (s *Server) deleteNote(c *call) error {
	return c.done(s.engine.Person.DeleteNote(c.ctx(), c.param("id"), c.caller.actor))
}

type personLinkBody struct {
	clientBody
	AppointmentID string `json:"appointmentId"`
}

func (s *Server) linkPeople(c *call, b *personLinkBody) error {
	id := c.param("id")
	say := func(l *store.PersonLink) any { return map[string]any{"id": l.ID, "appointmentId": id} }
	return answerChange(c, http.StatusCreated, say, func(once *record.Once) (store.PersonLink, error) {
		return s.engine.Person.Link(c.ctx(), id, b.AppointmentID, c.caller.actor, once)
	})
}

func (s *Server) unlinkPeople(c *call) error {
	return c.done(s.engine.Person.Unlink(c.ctx(), c.param("id"), c.caller.actor))
}
