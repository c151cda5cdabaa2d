package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"holdfast/engine/agent"
	"holdfast/engine/record"
	"holdfast/store"
)

// The routes of voice and chat agents. Their field names follow the wire format that such agents already use. Every
// response contains llm_guidance.

// principal returns the key id and the scope of the calling program.
func (c *call) principal() record.Principal {
	return record.Principal{KeyID: c.caller.keyID, Scope: c.caller.scope}
}

// refusedAgentJSON is the response to a request that changed nothing.
type refusedAgentJSON struct {
	Success   bool           `json:"success"`
	ErrorType string         `json:"error_type"`
	Message   string         `json:"message"`
	Guidance  agent.Guidance `json:"llm_guidance"`
}

type agentPatientBody struct {
	FirstName   string `json:"firstName"`
	LastName    string `json:"lastName"`
	BirthDate   string `json:"birthDate"`
	Phone       string `json:"phone"`
	Email       string `json:"email"`
	SessionID   string `json:"sessionId"`
	UUI         string `json:"uui"`
	PatientGUID string `json:"patientGUID"`
}

type agentPatientJSON struct {
	Success          bool           `json:"success"`
	PatientGUID      string         `json:"patientGUID"`
	BookingAuthToken string         `json:"bookingAuthToken"`
	ExpiresAt        string         `json:"expiresAt"`
	Guidance         agent.Guidance `json:"llm_guidance"`
}

func (s *Server) agentPatient(c *call, b *agentPatientBody) error {
	a, err := s.engine.Agent.Identify(c.ctx(), c.principal(), agent.Patient(*b))
	switch {
	case err != nil:
		return err
	case a.Success:
		return c.json(http.StatusOK, agentPatientJSON{true, a.PatientGUID, a.BookingAuthToken, httpTime(a.ExpiresAt),
			a.Guidance})
	}
	return c.unavailable(a.ErrorType, a.Message, a.Guidance)
}

// unavailable responds to a request that the practice-management system refused or could not complete.
func (c *call) unavailable(errorType, message string, g agent.Guidance) error {
	status := http.StatusServiceUnavailable
	switch errorType {
	case agent.PatientRefused:
		status = http.StatusUnprocessableEntity
	case agent.PatientNotFound:
		status = http.StatusNotFound
	case agent.PatientAmbiguous:
		status = http.StatusConflict
	}
	return c.json(status, refusedAgentJSON{false, errorType, message, g})
}

type agentSlotsBody struct {
	AppointmentTypeGUID string          `json:"appointmentTypeGUID"`
	AppointmentTypeID   string          `json:"appointmentTypeId"`
	From                string          `json:"from"`
	Days                json.RawMessage `json:"days"`
	Count               json.RawMessage `json:"count"`
	PartOfDay           string          `json:"partOfDay"`
	Place               string          `json:"place"`
}

type agentSlotJSON struct {
	SlotStartDate       string `json:"slotStartDate"`
	Spoken              string `json:"spoken"`
	StartTime           string `json:"startTime"`
	Minutes             int    `json:"minutes"`
	BookingToken        string `json:"bookingToken"`
	ScheduleViewGUID    string `json:"scheduleViewGUID"`
	ScheduleColumnGUID  string `json:"scheduleColumnGUID"`
	AppointmentTypeGUID string `json:"appointmentTypeGUID"`

	Place *agentPlaceJSON `json:"place,omitempty"`
}

// agentPlaceJSON is one of the clinic's places, with its name in the language of the clinic's agents.
type agentPlaceJSON struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

func agentSlotsOf(list []agent.Slot) []agentSlotJSON {
	slots := make([]agentSlotJSON, len(list))
	for i, x := range list {
		slots[i] = agentSlotJSON{
			httpTime(x.Start), x.Spoken, x.StartTime, x.Minutes, x.BookingToken, x.ScheduleViewGUID,
			x.ScheduleColumnGUID, x.AppointmentTypeGUID, (*agentPlaceJSON)(x.Place),
		}
	}
	return slots
}

func (s *Server) agentSlots(c *call, b *agentSlotsBody) error {
	m := &c.wrong
	r := agent.SlotsRequest{
		AppointmentTypeID: b.AppointmentTypeID, AppointmentTypeGUID: b.AppointmentTypeGUID, PartOfDay: b.PartOfDay,
		Place: b.Place, Days: m.number("days", b.Days), Count: m.number("count", b.Count),
	}
	if b.From != "" {
		r.From = m.day("from", b.From)
	}
	a, err := s.engine.Agent.Slots(c.ctx(), r)
	switch {
	case err != nil:
		return err
	case a.ErrorType != "":
		return c.unavailable(a.ErrorType, a.Message, a.Guidance)
	}
	return c.json(http.StatusOK, struct {
		Success  bool            `json:"success"`
		Slots    []agentSlotJSON `json:"slots"`
		Guidance agent.Guidance  `json:"llm_guidance"`
	}{true, agentSlotsOf(a.Slots), a.Guidance})
}

// day parses a local date in the form 2026-11-23 or in the American form 11/23/2026.
func (m *mistakes) day(field, s string) store.Date {
	if t, err := time.Parse("1/2/2006", s); err == nil {
		s = t.Format(time.DateOnly)
	}
	return m.parseDate(field, s)
}

// number parses a whole number of at least 1, which an agent may have put in quotes. It returns 0 if the number is
// missing.
func (m *mistakes) number(field string, raw json.RawMessage) int {
	s := string(bytes.Trim(raw, `"`))
	if s == "" || s == "null" {
		return 0
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		m.add(field, "must be a whole number of at least 1, or left out")
	}
	return n
}

type agentBookBody struct {
	PatientGUID         string          `json:"patientGUID"`
	BookingAuthToken    string          `json:"bookingAuthToken"`
	StartTime           string          `json:"startTime"`
	ScheduleViewGUID    string          `json:"scheduleViewGUID"`
	ScheduleColumnGUID  string          `json:"scheduleColumnGUID"`
	AppointmentTypeGUID string          `json:"appointmentTypeGUID"`
	Minutes             json.RawMessage `json:"minutes"`
	ChildName           string          `json:"childName"`
	Note                string          `json:"note"`
	UUI                 string          `json:"uui"`
	SessionID           string          `json:"sessionId"`
	BookingToken        string          `json:"bookingToken"`
}

func (s *Server) agentBook(c *call, b *agentBookBody) error {
	m := &c.wrong
	minutes := m.number("minutes", b.Minutes)
	// Refuse invalid fields here: for other mistakes, the engine returns the next step of the conversation and no list
	// of fields.
	if err := m.err(); err != nil {
		return err
	}
	a, err := s.engine.Agent.Book(c.ctx(), c.principal(), agent.BookRequest{
		PatientGUID: b.PatientGUID, BookingAuthToken: b.BookingAuthToken, StartTime: b.StartTime,
		ScheduleViewGUID: b.ScheduleViewGUID, ScheduleColumnGUID: b.ScheduleColumnGUID,
		AppointmentTypeGUID: b.AppointmentTypeGUID, Minutes: minutes, ChildName: b.ChildName, Note: b.Note, UUI: b.UUI,
		SessionID: b.SessionID, BookingToken: b.BookingToken, Client: agent.ClientOf(c.principal(), b.SessionID),
	})
	if err != nil {
		return err
	}
	return c.json(agentStatus(a.Outcome), agentAnswerOf(&a))
}

func agentStatus(o agent.Outcome) int {
	switch o {
	case agent.Confirmed:
		return http.StatusOK
	case agent.Queued:
		return http.StatusAccepted
	case agent.Rejected:
		return http.StatusUnauthorized
	case agent.Refused:
		return http.StatusConflict
	}
	return http.StatusUnprocessableEntity
}

// agentAnswerJSON is the response of agentBook. Its field names are those of createAppt in the agents' wire format.
type agentAnswerJSON struct {
	Success         bool            `json:"success"`
	AppointmentGUID *string         `json:"appointmentGUID,omitempty"`
	Queued          bool            `json:"queued,omitempty"`
	OperationID     string          `json:"operationId,omitempty"`
	ErrorType       string          `json:"error_type,omitempty"`
	Message         string          `json:"message"`
	NoteAdded       *bool           `json:"noteAdded,omitempty"`
	Alternatives    []agentSlotJSON `json:"alternatives,omitempty"`
	Debug           map[string]any  `json:"_debug,omitempty"`
	Guidance        agent.Guidance  `json:"llm_guidance"`
}

func agentAnswerOf(a *agent.Answer) agentAnswerJSON {
	j := agentAnswerJSON{ErrorType: a.ErrorType, Message: a.Message, Guidance: a.Guidance, Debug: agentDebugOf(a)}
	switch a.Outcome {
	case agent.Confirmed:
		j.Success, j.AppointmentGUID, j.NoteAdded = true, &a.AppointmentGUID, &a.NoteAdded
	case agent.Queued:
		j.Queued, j.OperationID = true, a.OperationID
	case agent.Refused:
		j.Alternatives = agentSlotsOf(a.Alternatives)
	}
	return j
}

// agentDebugOf returns details for the developers of an agent. The agent must not read them out to a patient.
func agentDebugOf(a *agent.Answer) map[string]any {
	d := a.Debug
	if d == nil {
		return nil
	}
	j := map[string]any{"timestamp": d.Timestamp.UTC().Format(time.RFC3339Nano)}
	switch a.Outcome {
	case agent.Confirmed:
		j["cloud9_result"], j["cloud9_status"], j["attempts"], j["retried"] = a.Message, "Success", d.Attempts,
			d.Attempts > 1
		j["spacing_wait_ms"], j["note_result"], j["auth_method"] = d.SpacingWait.Milliseconds(), d.NoteResult, d.Method
	case agent.Queued:
		j["error_type"], j["sync_attempts"], j["last_error"] = a.ErrorType, d.Attempts, d.LastError
	default:
		j["error_type"], j["received_patientGUID"] = a.ErrorType, d.ReceivedPatientGUID
		if d.LastError != "" {
			j["last_error"] = d.LastError
		}
	}
	return j
}

func (s *Server) agentOperation(c *call) error {
	o, err := s.engine.Agent.Operation(c.ctx(), c.param("id"))
	if errors.Is(err, store.ErrNotFound) {
		return errNotFound.with("No booking is queued under this operationId; the clinic may have given it up.")
	}
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, struct {
		Success         bool           `json:"success"` // the appointment is booked
		ErrorType       string         `json:"error_type,omitempty"`
		Status          string         `json:"status"`
		NeedsReview     bool           `json:"needsReview,omitempty"`
		AppointmentGUID string         `json:"appointmentGUID,omitempty"`
		Guidance        agent.Guidance `json:"llm_guidance"`
	}{o.ErrorType == "", o.ErrorType, string(o.Status), o.NeedsReview, o.AppointmentGUID, o.Guidance})
}
