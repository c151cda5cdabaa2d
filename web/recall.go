package web

import (
	"holdfast/engine/message"
	"holdfast/store"
)

type recallBody struct {
	Date string `json:"date"` // the clinic's local date
}

// recall sets the day on which an appointment's patient gets a message that it is time for the next visit.
func (s *Server) recall(c *call, b *recallBody) error {
	date := c.wrong.parseDate("date", b.Date)
	if err := c.wrong.err(); err != nil {
		return err
	}
	return s.setRecall(c, date)
}

// withdrawRecall withdraws the recall of an appointment.
func (s *Server) withdrawRecall(c *call) error { return s.setRecall(c, store.Date{}) }

func (s *Server) setRecall(c *call, date store.Date) error {
	id, version, err := s.change(c)
	if err != nil {
		return err
	}
	a, err := s.engine.Message.Recall(c.ctx(), message.RecallRequest{
		ID: id, Version: version, Date: date, ByPatient: c.caller.appointment != nil, Actor: c.caller.actor,
		Once: c.answering(s.renderAppointment(c)),
	})
	if err != nil {
		return err
	}
	return s.sayAppointment(c, &a)
}
