package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"holdfast/engine/presence"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
	"holdfast/web/instant"
	"holdfast/web/stream"
)

// presenceJSON is the presence of one specialist.
type presenceJSON struct {
	SpecialistID    string `json:"specialistId"`
	Name            string `json:"name,omitempty"` // only in lists
	Online          bool   `json:"online"`
	Deactivated     bool   `json:"deactivated"`
	LastHeartbeatAt string `json:"lastHeartbeatAt,omitempty"`
	LastOnlineAt    string `json:"lastOnlineAt,omitempty"`
	LastOfflineAt   string `json:"lastOfflineAt,omitempty"`
	LastChange      string `json:"lastChange,omitempty"`
	Load            int    `json:"load"`
	MaxSessions     int    `json:"maxSessions"`
}

func presenceOf(p *presence.Status) presenceJSON {
	return presenceJSON{
		SpecialistID: p.SpecialistID, Online: p.Online, Deactivated: p.Deactivated,
		LastHeartbeatAt: optionalTime(p.HeartbeatAt), LastOnlineAt: optionalTime(p.LastOnlineAt),
		LastOfflineAt: optionalTime(p.LastOfflineAt), LastChange: p.LastChange, Load: p.Load, MaxSessions: p.Max,
	}
}

// ownSwitch refuses a member of staff who tries to change a colleague's presence.
func (c *call) ownSwitch() error {
	if !c.caller.reaches(c.param("id")) {
		return errForbidden.with("You can change only your own online status.")
	}
	return nil
}

func (s *Server) goOnline(c *call) error { return c.throwSwitch(s.engine.Presence.GoOnline) }

func (s *Server) goOffline(c *call) error { return c.throwSwitch(s.engine.Presence.GoOffline) }

func (c *call) throwSwitch(to func(context.Context, string) (presence.Status, error)) error {
	if err := c.ownSwitch(); err != nil {
		return err
	}
	p, err := to(c.ctx(), c.param("id"))
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, map[string]presenceJSON{"presence": presenceOf(&p)})
}

// heartbeat records a heartbeat. It is called every few seconds for each specialist who is online, and uses no database
// operation.
func (s *Server) heartbeat(c *call) error {
	if err := c.ownSwitch(); err != nil {
		return err
	}
	if err := s.engine.Presence.Beat(c.ctx(), c.param("id")); err != nil {
		return err
	}
	c.status, c.out = http.StatusOK, okBody
	return nil
}

var okBody = []byte(`{"ok":true}`)

func (s *Server) getPresence(c *call) error {
	p, err := s.engine.Presence.Of(c.ctx(), c.param("id"))
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, map[string]presenceJSON{"presence": presenceOf(&p)})
}

// getBeacon reports to patients' pages how many specialists are available. The number is at most 10 seconds old.
func (s *Server) getBeacon(c *call) error {
	n, err := s.engine.Presence.Beacon(c.ctx())
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, map[string]any{"available": n > 0, "count": n})
}

func (s *Server) listAvailable(c *call) error {
	q := c.query()
	limit := q.whole("limit", 1, 10_000, 0)
	if err := q.err(); err != nil {
		return err
	}
	list, err := s.engine.Presence.Available(c.ctx(), limit)
	return s.listPresence(c, list, err)
}

func (s *Server) listOnline(c *call) error {
	list, err := s.engine.Presence.Online(c.ctx())
	return s.listPresence(c, list, err)
}

func (s *Server) listPresence(c *call, list []holds.Present, err error) error {
	if err != nil {
		return err
	}
	b := make([]byte, 0, 64+192*len(list))
	b = append(b, `{"specialists":[`...)
	for i := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = s.appendPresent(b, &list[i])
	}
	b = append(b, `],"count":`...)
	c.status, c.out = http.StatusOK, append(strconv.AppendInt(b, int64(len(list)), 10), '}')
	return nil
}

// appendPresent writes a presenceJSON without reflection, because clients fetch a large clinic's list frequently. It
// uses only the live state and the schedule.
func (s *Server) appendPresent(b []byte, p *holds.Present) []byte {
	b = append(b, `{"specialistId":"`...)
	b = append(append(b, p.SpecialistID...), '"')
	if known, err := s.engine.Clinic.Specialist(p.SpecialistID); err == nil { // not archived since then
		name, _ := json.Marshal(known.Name) // encoding a string cannot fail
		b = append(append(b, `,"name":`...), name...)
	}
	b = append(b, `,"online":`...)
	b = strconv.AppendBool(b, p.Online)
	b = append(b, `,"deactivated":`...)
	b = strconv.AppendBool(b, p.Deactivated)
	if !p.HeartbeatAt.IsZero() {
		b = append(b, `,"lastHeartbeatAt":"`...)
		b = append(instant.Append(b, p.HeartbeatAt), '"')
	}
	b = append(b, `,"load":`...)
	b = strconv.AppendInt(b, int64(p.Load), 10)
	b = append(b, `,"maxSessions":`...)
	return append(strconv.AppendInt(b, int64(p.Max), 10), '}')
}

// sessionJSON is one on-demand consultation, without its client.
type sessionJSON struct {
	ID           string `json:"id"`
	Status       string `json:"status"`
	SpecialistID string `json:"specialistId,omitempty"`
	Outcome      string `json:"outcome,omitempty"`
	RequestedAt  string `json:"requestedAt"`
	AcceptedAt   string `json:"acceptedAt,omitempty"`
	EndedAt      string `json:"endedAt,omitempty"`
	ExpiresAt    string `json:"expiresAt"`

	AppointmentTypeID string `json:"appointmentTypeId,omitempty"`

	// only for specialists and the front desk
	Reason   string              `json:"reason,omitempty"`
	Patient  *sessionPatientJSON `json:"patient,omitempty"`
	Declined []string            `json:"declined,omitempty"`
}

// sessionPatientJSON is the patient who requested a session.
type sessionPatientJSON struct {
	Name  string `json:"name,omitempty"`
	Phone string `json:"phone,omitempty"`
}

func sessionOf(x *store.Session) sessionJSON {
	return sessionJSON{
		ID: x.ID, Status: string(x.Status), SpecialistID: x.SpecialistID, Outcome: x.Outcome,
		RequestedAt: httpTime(x.RequestedAt), AcceptedAt: optionalTime(x.AcceptedAt), EndedAt: optionalTime(x.EndedAt),
		ExpiresAt: httpTime(x.ExpiresAt), AppointmentTypeID: x.AppointmentTypeID,
	}
}

// sessionFor returns a session with the fields that the caller may see. A specialist sees the patients of their own
// sessions, and of requests that no specialist has accepted. The front desk and programs with an unbound presence key
// see the patients of all sessions. Clients see no patients.
func sessionFor(by caller, x *store.Session) sessionJSON {
	hideOutcome(by, x)
	answer := sessionOf(x)
	if !by.may(presenceKey) || by.specialistID != "" && x.SpecialistID != "" && by.specialistID != x.SpecialistID {
		return answer
	}
	answer.Reason, answer.Declined = x.Reason, strings.Fields(x.Declined)
	if x.PatientName != "" || x.PatientPhone != "" {
		answer.Patient = &sessionPatientJSON{x.PatientName, x.PatientPhone}
	}
	return answer
}

func (c *call) answerSession(x store.Session, err error) error {
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, sessionAnswer(&x))
}

func sessionAnswer(x *store.Session) any { return map[string]sessionJSON{"session": sessionOf(x)} }

// changingSession returns the context for a change whose response is the session.
func (c *call) changingSession() context.Context { return committing(c, http.StatusOK, sessionAnswer) }

type sessionBody struct {
	clientBody
}

type sessionRequestBody struct {
	clientBody
	AppointmentTypeID string             `json:"appointmentTypeId"`
	Reason            string             `json:"reason"`
	Patient           sessionPatientJSON `json:"patient"`
}

func (s *Server) requestSession(c *call, b *sessionRequestBody) error {
	if err := s.admitSession(c); err != nil {
		return err
	}
	return answerChange(c, http.StatusCreated, sessionAnswer, func(once *record.Once) (store.Session, error) {
		return s.engine.Presence.RequestSession(c.ctx(), c.client, presence.SessionRequest{
			AppointmentTypeID: b.AppointmentTypeID, Reason: b.Reason, PatientName: b.Patient.Name,
			PatientPhone: b.Patient.Phone,
		}, once)
	})
}

var sessionStatuses = []string{
	string(store.SessionRequested), string(store.SessionActive), string(store.SessionPendingPayment),
	string(store.SessionEnded), string(store.SessionExpired), string(store.SessionCancelled),
}

func (s *Server) listSessions(c *call) error {
	q := c.query()
	f := store.SessionFilter{SpecialistID: q.id("specialistId"), Limit: q.whole("limit", 1, 500, 100)}
	for _, status := range q.several("status", sessionStatuses) {
		f.Statuses = append(f.Statuses, store.SessionStatus(status))
	}
	if err := q.err(); err != nil {
		return err
	}
	list, err := s.engine.Presence.Sessions(c.ctx(), f)
	if err != nil {
		return err
	}
	answer := each(list, func(x *store.Session) sessionJSON { return sessionFor(c.caller, x) })
	return c.json(http.StatusOK, map[string]any{"sessions": answer})
}

// getSession returns a session to the client that requested it and to the specialists. hideOutcome determines whether
// the response contains the outcome.
func (s *Server) getSession(c *call) error {
	q := c.query()
	if q.client(c) == "" && !c.caller.may(presenceKey) {
		q.add("clientId", "send the client that requested this session, in the header Holdfast-Client")
	}
	if err := q.err(); err != nil {
		return err
	}
	x, err := s.engine.Presence.Session(c.ctx(), c.param("id"))
	if err != nil {
		return err
	}
	if !c.caller.may(presenceKey) && x.Owner != c.client.Owner().String() {
		return errNotOwner.titled("Another client's session").with(
			"Only the client that requested this session can see it. Send the clientId that requested it.")
	}
	return c.json(http.StatusOK, map[string]sessionJSON{"session": sessionFor(c.caller, &x)})
}

// hideOutcome removes the outcome of a session, unless the caller is the front desk or the specialist of the session.
func hideOutcome(by caller, x *store.Session) {
	if !by.may(frontDesk) && !(by.may(desk) && by.specialistID != "" && by.specialistID == x.SpecialistID) {
		x.Outcome = ""
	}
}

func (s *Server) cancelSession(c *call, _ *sessionBody) error {
	x, err := s.engine.Presence.CancelSession(c.changingSession(), c.param("id"), c.client)
	if errors.Is(err, holds.ErrNotOwner) {
		return errNotOwner.titled("Another client's session").with(
			"Only the client that requested this session can cancel it. Send the clientId that requested it.")
	}
	hideOutcome(c.caller, &x) // a session that has already ended has one
	return c.answerSession(x, err)
}

type acceptBody struct {
	SpecialistID string `json:"specialistId"`
}

// acceptSession accepts a session for the named specialist, or for the signed-in one.
func (s *Server) acceptSession(c *call, b *acceptBody) error {
	if b.SpecialistID == "" {
		b.SpecialistID = c.caller.specialistID
	}
	if !c.caller.reaches(b.SpecialistID) {
		return errForbidden.with("You can accept sessions only for yourself.")
	}
	return c.answerSession(s.engine.Presence.AcceptSession(c.changingSession(), c.param("id"), b.SpecialistID))
}

// declineSession declines a session for the named specialist, or for the signed-in one. Without either, it declines for
// the clinic.
func (s *Server) declineSession(c *call, b *acceptBody) error {
	if b.SpecialistID == "" {
		b.SpecialistID = c.caller.specialistID
	}
	if b.SpecialistID != "" && !c.caller.reaches(b.SpecialistID) {
		return errForbidden.with("You can decline sessions only for yourself.")
	}
	return c.answerSession(s.engine.Presence.DeclineSession(c.changingSession(), c.param("id"), b.SpecialistID))
}

type endBody struct {
	Outcome string `json:"outcome"`
}

func (s *Server) endSession(c *call, b *endBody) error {
	if err := s.ownSession(c); err != nil {
		return err
	}
	return c.answerSession(s.engine.Presence.EndSession(c.changingSession(), c.param("id"), b.Outcome))
}

func (s *Server) rerouteSession(c *call, b *acceptBody) error {
	if err := s.ownSession(c); err != nil {
		return err
	}
	return c.answerSession(s.engine.Presence.RerouteSession(c.changingSession(), c.param("id"), b.SpecialistID))
}

type paymentBody struct {
	Pending *bool `json:"pending"`
}

func (s *Server) setSessionPayment(c *call, b *paymentBody) error {
	if err := s.ownSession(c); err != nil {
		return err
	}
	if b.Pending == nil {
		c.wrong.add("pending", "send true if the payment is pending, false if it has arrived")
	}
	return c.answerSession(s.engine.Presence.SetSessionPayment(c.changingSession(), c.param("id"),
		b.Pending != nil && *b.Pending))
}

// ownSession refuses a specialist who tries to change a colleague's session.
func (s *Server) ownSession(c *call) error {
	if c.caller.specialistID == "" {
		return nil
	}
	x, err := s.engine.Presence.Session(c.ctx(), c.param("id"))
	if err == nil && x.SpecialistID != "" && !c.caller.reaches(x.SpecialistID) {
		err = errForbidden.with("This session belongs to a colleague.")
	}
	return err
}

// presenceStream is `GET /v1/presence/stream`. It sends all changes of presence and of sessions to the desk and to the
// specialists' apps.
func (s *Server) presenceStream(c *call) error {
	q := c.query()
	lease := q.lease()
	if err := q.err(); err != nil {
		return err
	}
	return s.openStream(c, stream.Request{Topic: stream.Presence, Lease: lease})
}
