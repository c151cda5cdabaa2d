package web

import (
	"net/http"
	"strconv"

	"holdfast/engine/availability"
	"holdfast/engine/booking"
	"holdfast/engine/group"
	"holdfast/web/instant"
)

// Every page requests the timeslots frequently, so their JSON is written without reflection. Slots without holds are
// encoded only once: encodedLists caches them for each list.

func (s *Server) timeslots(c *call) error {
	q := c.query()
	if q.text("people") != "" || q.text("with") != "" {
		return s.visitSlots(c, q)
	}
	r := booking.TimeslotsRequest{
		AppointmentTypeID: c.param("id"), SpecialistID: q.id("specialistId"), Place: s.place(q), From: q.date("from"),
		To: q.date("to"), Client: q.client(c), MayHold: s.mayHold(c),
	}
	if err := q.err(); err != nil {
		return err
	}
	if err := s.visible(c, r.AppointmentTypeID); err != nil {
		return err
	}
	var err error
	if r.Moving, err = s.moving(c); err != nil {
		return err
	}
	answer, err := s.engine.Booking.List(c.ctx(), r)
	if err != nil {
		return err
	}
	head := make([]byte, 0, 256)
	head = append(head, `{"appointmentTypeId":"`...)
	head = append(head, answer.AppointmentTypeID...)
	head = append(head, `","timezone":"`...)
	head = append(head, answer.Timezone...)
	head = append(head, `","from":"`...)
	head = append(head, answer.From.String()...)
	head = append(head, `","to":"`...)
	head = append(head, answer.To.String()...)
	head = append(head, `","generation":`...)
	head = strconv.AppendUint(head, answer.Generation, 10)
	head = append(head, `,"slots":[`...)
	parts := s.slotParts(&answer)
	if len(parts) > 0 {
		parts[0] = parts[0][1:] // without the first comma
	}
	return s.sayParts(c, head, parts, "]}")
}

// appendTimeslot appends a comma and one slot. Ids need no escaping.
func appendTimeslot(b []byte, s *booking.Timeslot) []byte {
	b = append(b, `,{"start":"`...)
	b = instant.Append(b, s.Start)
	b = append(b, `","end":"`...)
	b = instant.Append(b, s.End)
	b = append(b, `","available":`...)
	b = strconv.AppendInt(b, int64(s.Available), 10)
	b = append(b, `,"held":`...)
	b = strconv.AppendInt(b, int64(s.Held), 10)
	b = append(b, `,"ownHold":`...)
	b = strconv.AppendBool(b, s.OwnHold)
	b = append(b, `,"specialistIds":[`...)
	for i, id := range s.SpecialistIDs {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '"')
		b = append(b, id...)
		b = append(b, '"')
	}
	return append(b, `]}`...)
}

// timeslotJSON has the same fields as the output of appendTimeslot, for responses with few slots.
type timeslotJSON struct {
	Start         string   `json:"start"`
	End           string   `json:"end"`
	Available     int      `json:"available"`
	Held          int      `json:"held"`
	OwnHold       bool     `json:"ownHold"`
	SpecialistIDs []string `json:"specialistIds"`
}

func (s *Server) nextAvailable(c *call) error {
	q := c.query()
	after, people := q.instant("after"), visitTypes(c, q)
	r := booking.TimeslotsRequest{AppointmentTypeID: c.param("id"), SpecialistID: q.id("specialistId"),
		Place: s.place(q), Client: q.client(c), MayHold: s.mayHold(c)}
	if err := q.err(); err != nil {
		return err
	}
	if err := s.visible(c, append(people, c.param("id"))...); err != nil {
		return err
	}
	var slot booking.Timeslot
	var err error
	if people == nil {
		if r.Moving, err = s.moving(c); err != nil {
			return err
		}
		slot, err = s.engine.Booking.NextAvailable(c.ctx(), r, after)
	} else {
		visit := group.SlotsRequest{AppointmentTypeIDs: people, SpecialistID: r.SpecialistID, Client: r.Client}
		if visit.Moving, err = s.movingVisit(c); err != nil {
			return err
		}
		slot, err = s.engine.Group.Visit.NextAvailable(c.ctx(), visit, after)
	}
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, map[string]timeslotJSON{"slot": {
		httpTime(slot.Start), httpTime(slot.End), slot.Available, slot.Held, slot.OwnHold, slot.SpecialistIDs,
	}})
}

// explanationJSON states whether a specialist can take an appointment at a start and, if not, why.
type explanationJSON struct {
	SpecialistID string              `json:"specialistId"`
	Bookable     bool                `json:"bookable"`
	Reason       availability.Reason `json:"reason,omitempty"`
	HeldUntil    string              `json:"heldUntil,omitempty"`
}

func (s *Server) explain(c *call) error {
	q := c.query()
	start, specialistID, client := q.instant("slotStartDate"), q.id("specialistId"), q.client(c)
	if err := q.err(); err != nil {
		return err
	}
	if err := s.visible(c, c.param("id")); err != nil {
		return err
	}
	list, err := s.engine.Booking.Explain(c.ctx(), c.param("id"), specialistID, start, client)
	if err != nil {
		return err
	}
	said := make([]explanationJSON, len(list))
	for i, x := range list {
		said[i] = explanationJSON{x.SpecialistID, x.Bookable, x.Reason, ""}
		if !x.HeldUntil.IsZero() {
			said[i].HeldUntil = milliTime(x.HeldUntil)
		}
	}
	return c.json(http.StatusOK, map[string]any{
		"appointmentTypeId": c.param("id"), "slotStartDate": httpTime(start), "specialists": said,
	})
}
