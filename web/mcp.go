package web

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"holdfast/engine/agent"
	"holdfast/engine/booking"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
	"holdfast/web/instant"
)

// The Model Context Protocol (MCP) offers tools that a language model can call. They use the same engine and the same
// tokens as the agent routes. The protocol is stateless here: sessionId connects the calls of one conversation.

// postMCP is `POST /mcp`, the streamable HTTP transport.
func (s *Server) postMCP(c *call) error {
	p := record.Principal{KeyID: c.caller.keyID, Scope: c.caller.scope}
	s.answerMCP(p).ServeHTTP(&c.rw, c.r.WithContext(c.ctx()))
	return nil
}

// answerMCP returns the handler that serves MCP for one principal.
func (s *Server) answerMCP(p record.Principal) http.Handler {
	server := s.mcpServer(p)
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, MaxRequestBodyBytes: maxBody,
		// The key authorizes these requests, and a proxy can use any host name.
		DisableLocalhostProtection: true,
	})
}

func (s *Server) mcpServer(p record.Principal) *mcp.Server {
	t := mcpTools{s, p}
	server := mcp.NewServer(&mcp.Implementation{Name: "holdfast", Title: "Holdfast appointments",
		Version: s.options.Version},
		&mcp.ServerOptions{Instructions: t.instructions(), Capabilities: &mcp.ServerCapabilities{}})
	reading, repeatable := &mcp.ToolAnnotations{ReadOnlyHint: true}, &mcp.ToolAnnotations{IdempotentHint: true}
	server.AddReceivingMiddleware(t.speak)
	addTool(t, server, "find_slots", "Find free times of an appointment type. Without a type, lists the types.",
		reading, t.findSlots)
	addTool(t, server, "hold_slot", "Hold one found time for five minutes while the caller decides.", nil, t.holdSlot)
	addTool(t, server, "book", "Book one found time for a patient.", repeatable, t.book)
	addTool(t, server, "booking_status", "Look up the outcome of a booking.", reading, t.status)
	addTool(t, server, "reschedule", "Move a booked appointment to another found time.", nil, t.reschedule)
	addTool(t, server, "cancel", "Cancel a booked appointment.", repeatable, t.cancel)
	return server
}

// addTool adds a tool with the schemas of its input and output.
func addTool[In, Out any](t mcpTools, server *mcp.Server, name, description string, hints *mcp.ToolAnnotations,
	h mcp.ToolHandlerFor[In, Out]) {
	mcp.AddTool(server, &mcp.Tool{
		Name: name, Description: description, Annotations: hints, InputSchema: schemaOf[In](t),
		OutputSchema: schemaOf[Out](t),
	}, h)
}

// mcpTools implements the tools for one principal.
type mcpTools struct {
	*Server
	principal record.Principal
}

// failedTool is the error of a tool, with the problem that a web client would get.
type failedTool struct {
	problem
	cause error
}

func said(err error) error { return failedTool{problemOf(err, time.Now()), err} }

// failedOut is the text of a failed tool's result. As in the other results, only message is for the caller.
type failedOut struct {
	Message string         `json:"message"` // in the language of the clinic's agents
	Code    string         `json:"code"`
	Detail  string         `json:"detail"` // tells the model what to do instead
	Errors  []problemField `json:"errors,omitempty"`
}

// speak replaces the text of a failed tool's result with a failedOut. The text of package mcp about invalid arguments
// becomes the detail of a validation error. The result has no structured content: clients check it against the schema
// of the tool's output.
func (t mcpTools) speak(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		answer, err := next(ctx, method, r)
		result, isCall := answer.(*mcp.CallToolResult)
		if err != nil || !isCall || result == nil || !result.IsError {
			return answer, err
		}
		failed := failedTool{problem: errValidationFailed}
		if cause := result.GetError(); cause != nil && !errors.As(cause, &failed) {
			failed.Detail = cause.Error()
		}
		out := failedOut{t.engine.Agent.ProblemSentence(failed.of()), failed.Code, failed.Detail, failed.Errors}
		text, err := json.Marshal(out)
		if err != nil {
			return nil, err
		}
		result.Content = []mcp.Content{&mcp.TextContent{Text: string(text)}}
		return result, nil
	}
}

// of returns which problem an agent speaks of.
func (f failedTool) of() agent.Problem {
	switch {
	case errors.Is(f.cause, record.ErrCutOff), errors.Is(f.cause, record.ErrAsksDesk),
		errors.Is(f.cause, record.ErrNotConfirmed), errors.Is(f.cause, record.ErrVisit):
		return agent.ProblemNoChange
	case f.Code == errSlotTaken.Code, f.Code == errSlotHeld.Code, f.Code == errNotBookable.Code:
		return agent.ProblemTaken
	case f.Status == http.StatusTooManyRequests, f.Code == errOverloaded.Code:
		return agent.ProblemBusy
	case f.Status >= http.StatusInternalServerError:
		return agent.ProblemOpen
	}
	return agent.ProblemRequest
}

type findIn struct {
	AppointmentTypeID string `json:"appointmentTypeId,omitempty" jsonschema:"id of the appointment type; leave it out to list the types"`
	From              string `json:"from,omitempty" jsonschema:"first day, as 2026-11-23, on the clinic's calendar; default today"`
	Days              int    `json:"days,omitempty" jsonschema:"number of days to search, 1 to 31; default 7"`
	PartOfDay         string `json:"partOfDay,omitempty" jsonschema:"part of the day; default any"`
	Count             int    `json:"count,omitempty" jsonschema:"number of times to return, 1 to 50; default 5"`
	Place             string `json:"place,omitempty" jsonschema:"id of one of the clinic's places; default any"`
	ManageToken       string `json:"manageToken,omitempty" jsonschema:"of the appointment to move: finds times that overlap it"`
}

type findOut struct {
	AppointmentTypes []mcpType  `json:"appointmentTypes,omitempty"`
	Places           []mcpPlace `json:"places,omitempty" jsonschema:"the clinic's places, if it has several"`
	Slots            []mcpSlot  `json:"slots,omitempty"`
	Clinic           string     `json:"clinic" jsonschema:"the clinic's name"`
	Timezone         string     `json:"timezone" jsonschema:"the clinic's time zone; from and spoken use it"`
	Today            string     `json:"today" jsonschema:"the clinic's date today"`
	Message          string     `json:"message"`
}

type mcpType struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Minutes int    `json:"minutes"`
}

type mcpSlot struct {
	Start        string `json:"slotStartDate"`
	Spoken       string `json:"spoken"`
	Minutes      int    `json:"minutes"`
	BookingToken string `json:"bookingToken"`

	Place *agentPlaceJSON `json:"place,omitempty" jsonschema:"where the appointment is; say its name with the time"`
}

func mcpSlotsOf(list []agent.Slot) (slots []mcpSlot) {
	for _, x := range list {
		slots = append(slots, mcpSlot{httpTime(x.Start), x.Spoken, x.Minutes, x.BookingToken,
			(*agentPlaceJSON)(x.Place)})
	}
	return slots
}

type mcpPlace struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Address string `json:"address,omitempty"`
}

func (t mcpTools) findSlots(ctx context.Context, _ *mcp.CallToolRequest,
	in findIn) (*mcp.CallToolResult, findOut, error) {
	out := findOut{Clinic: t.engine.Clinic.Schedule().Clinic.Name, Timezone: t.engine.Clinic.Zone().String(),
		Today: t.today()}
	if in.AppointmentTypeID == "" {
		for _, kind := range t.engine.Clinic.Schedule().AppointmentTypes {
			if kind.Active && !kind.Page.DeskOnly && !kind.Page.Approval {
				out.AppointmentTypes = append(out.AppointmentTypes, mcpType{kind.ID,
					t.engine.Agent.TypeName(&kind), kind.DurationMinutes})
			}
		}
		for _, p := range t.engine.Agent.Places() {
			out.Places = append(out.Places, mcpPlace{p.Place.ID, p.Place.Name, p.Address})
		}
		out.Message = "Choose an appointment type and call find_slots with its id."
		return nil, out, nil
	}
	r := agent.SlotsRequest{AppointmentTypeID: in.AppointmentTypeID, Days: in.Days, Count: in.Count,
		PartOfDay: in.PartOfDay, Place: in.Place}
	if in.From != "" {
		day, err := store.ParseDate(in.From)
		if err != nil {
			return nil, out, said(fieldError("from", "must be a date that exists, like 2026-11-23"))
		}
		r.From = day
	}
	var err error
	if r.Moving, err = t.moving(ctx, in.ManageToken); err != nil {
		return nil, out, err
	}
	found, err := t.engine.Agent.Slots(ctx, r)
	if err != nil {
		return nil, out, said(err)
	}
	out.Slots = mcpSlotsOf(found.Slots)
	out.Message = found.Guidance.VoiceResponse
	return nil, out, nil
}

type holdIn struct {
	BookingToken string `json:"bookingToken" jsonschema:"the token of a time that find_slots returned, copied exactly"`
	SessionID    string `json:"sessionId" jsonschema:"any id of this conversation; use the same one in book"`
	ManageToken  string `json:"manageToken,omitempty" jsonschema:"for reschedule: the manageToken of the appointment"`
}

type holdOut struct {
	HoldID        string `json:"holdId"`
	Spoken        string `json:"spoken"`
	HoldExpiresAt string `json:"holdExpiresAt"`
}

func (t mcpTools) holdSlot(ctx context.Context, _ *mcp.CallToolRequest,
	in holdIn) (*mcp.CallToolResult, holdOut, error) {
	if in.SessionID == "" {
		return nil, holdOut{}, said(fieldError("sessionId",
			"add the id of the conversation that holds the time; use the same id in book"))
	}
	moving, err := t.moving(ctx, in.ManageToken)
	if err != nil {
		return nil, holdOut{}, err
	}
	h, err := t.engine.Agent.HoldToMove(ctx, in.BookingToken, agent.ClientOf(t.principal, in.SessionID), moving)
	if err != nil {
		return nil, holdOut{}, said(err)
	}
	return nil, holdOut{h.ID, t.engine.Agent.Spoken(h.SlotStart), string(instant.AppendMilli(nil, h.ExpiresAt))}, nil
}

type bookIn struct {
	BookingToken string `json:"bookingToken" jsonschema:"the token of a time that find_slots returned, copied exactly"`
	FirstName    string `json:"firstName" jsonschema:"of the patient, or of the parent who books for a child"`
	LastName     string `json:"lastName"`
	BirthDate    string `json:"birthDate,omitempty" jsonschema:"as 1980-03-31"`
	Phone        string `json:"phone,omitempty"`
	Email        string `json:"email,omitempty"`
	ChildName    string `json:"childName,omitempty" jsonschema:"for a child: its name, to say in place of {childName}"`
	Note         string `json:"note,omitempty"`
	SessionID    string `json:"sessionId,omitempty" jsonschema:"the id of this conversation, as in hold_slot"`
}

type bookingOut struct {
	Status        string `json:"status" jsonschema:"confirmed, queued (received, not yet confirmed), refused, cancelled or failed"`
	Message       string `json:"message"`
	Spoken        string `json:"spoken,omitempty"`
	SlotStartDate string `json:"slotStartDate,omitempty"`
	AppointmentID string `json:"appointmentId,omitempty"`
	OperationID   string `json:"operationId,omitempty"`
	ManageToken   string `json:"manageToken,omitempty" jsonschema:"keep it for booking_status, reschedule and cancel; never read it out"`

	Place      *agentPlaceJSON `json:"place,omitempty" jsonschema:"which of the clinic's places the appointment is at"`
	Address    string          `json:"address,omitempty" jsonschema:"say it if the caller wants the address"`
	Directions string          `json:"directions,omitempty" jsonschema:"say it if the caller asks for the way"`

	Alternatives []mcpSlot `json:"alternatives,omitempty"`
}

func (t mcpTools) book(ctx context.Context, _ *mcp.CallToolRequest,
	in bookIn) (*mcp.CallToolResult, bookingOut, error) {
	patient, err := t.engine.Agent.Identify(ctx, t.principal, agent.Patient{
		FirstName: in.FirstName, LastName: in.LastName, BirthDate: in.BirthDate, Phone: in.Phone, Email: in.Email,
		SessionID: in.SessionID,
	})
	if err != nil {
		return nil, bookingOut{}, said(err)
	}
	if !patient.Success {
		return nil, bookingOut{Status: "refused", Message: patient.Guidance.VoiceResponse + " " +
			strings.Join(patient.Guidance.RecoverySteps, " ")}, nil
	}
	booked, err := t.engine.Agent.Book(ctx, t.principal, agent.BookRequest{
		PatientGUID: patient.PatientGUID, BookingAuthToken: patient.BookingAuthToken, BookingToken: in.BookingToken,
		ChildName: in.ChildName, Note: in.Note, SessionID: in.SessionID,
		Client: agent.ClientOf(t.principal, in.SessionID),
	})
	if err != nil {
		return nil, bookingOut{}, said(err)
	}
	// The sentence for the caller is in the language of the clinic's agents, like the one that find_slots returns.
	out := bookingOut{Status: string(booked.Outcome), Message: booked.Guidance.VoiceResponse,
		OperationID: booked.OperationID}
	if booked.Outcome != agent.Confirmed && booked.Outcome != agent.Queued {
		out.Status = "refused"
		out.Alternatives = mcpSlotsOf(booked.Alternatives)
		return nil, out, nil
	}
	a, err := t.engine.Agent.Booked(ctx, in.BookingToken)
	if err != nil {
		return nil, out, said(err)
	}
	t.describe(&out, &a)
	return nil, out, nil
}

func (t mcpTools) describe(out *bookingOut, a *store.Appointment) {
	out.AppointmentID, out.SlotStartDate, out.Spoken, out.ManageToken = a.ID, httpTime(a.SlotStart),
		t.engine.Agent.Spoken(a.SlotStart), t.engine.Booking.ManageToken(a)
	if a.Status == store.Confirmed {
		at := t.engine.Agent.Where(a)
		out.Place, out.Address, out.Directions = (*agentPlaceJSON)(at.Place), at.Address, at.Directions
	}
}

type statusIn struct {
	ManageToken string `json:"manageToken" jsonschema:"the manageToken that book or reschedule returned, copied exactly"`
}

// managed returns the appointment for a manageToken. It refuses a token that is no longer valid, as it would an expired
// link.
func (t mcpTools) managed(ctx context.Context, token string) (store.Appointment, error) {
	a, err := t.engine.Booking.Managed(ctx, token)
	switch {
	case errors.Is(err, record.ErrUnauthorized), errors.Is(err, store.ErrNotFound):
		return a, said(errDeadToken)
	case err != nil:
		return a, said(err)
	}
	return a, nil
}

// moving returns the appointment for an optional manageToken, or nil without one.
func (t mcpTools) moving(ctx context.Context, token string) (*store.Appointment, error) {
	if token == "" {
		return nil, nil
	}
	a, err := t.managed(ctx, token)
	return &a, err
}

// errDeadToken is errDeadLink with a sentence that states which response contains the newest token.
var errDeadToken = errDeadLink.with(errDeadLink.Detail +
	" The newest manageToken is in the answer of the last book or reschedule.")

func (t mcpTools) status(ctx context.Context, _ *mcp.CallToolRequest,
	in statusIn) (*mcp.CallToolResult, bookingOut, error) {
	a, err := t.managed(ctx, in.ManageToken)
	if err != nil {
		return nil, bookingOut{}, err
	}
	out := bookingOut{Status: "confirmed", Message: t.engine.Agent.StateSentence(&a)}
	switch {
	case a.Status == store.Cancelled:
		out.Status = "cancelled"
	case a.UpstreamState == store.UpstreamPending:
		out.Status = "queued"
	case a.UpstreamState == store.UpstreamFailed || a.UpstreamState == store.UpstreamReview:
		out.Status = "failed"
	}
	t.describe(&out, &a)
	return nil, out, nil
}

type moveIn struct {
	ManageToken  string `json:"manageToken" jsonschema:"the manageToken of the appointment, copied exactly"`
	BookingToken string `json:"bookingToken" jsonschema:"the token of the new time, from find_slots"`
	SessionID    string `json:"sessionId,omitempty" jsonschema:"the id of this conversation, as in hold_slot"`
}

// reschedule moves an appointment. The move replaces the manageToken, so the response is committed with the move: if
// the assistant did not receive the response and repeats the call, it gets the same response with the new token.
func (t mcpTools) reschedule(ctx context.Context, _ *mcp.CallToolRequest,
	in moveIn) (*mcp.CallToolResult, bookingOut, error) {
	once := t.onceMoved(in)
	a, err := t.managed(ctx, in.ManageToken)
	if err != nil {
		return t.movedBefore(ctx, once, err)
	}
	client := agent.ClientOf(t.principal, in.SessionID)
	if client == "" {
		client = agent.ClientOf(t.principal, "move "+a.ID)
	}
	h, err := t.engine.Agent.HoldToMove(ctx, in.BookingToken, client, &a)
	if err != nil {
		return t.movedBefore(ctx, once, said(err))
	}
	moved, err := t.engine.Booking.Reschedule(ctx, booking.RescheduleRequest{ID: a.ID,
		HoldID: h.ID, Client: client, Actor: t.principal.Actor(), CutOff: true, Once: once})
	if err != nil {
		if _, releaseErr := t.engine.Booking.ReleaseHold(ctx, h.ID, client); releaseErr != nil &&
			!errors.Is(releaseErr, holds.ErrNotOwner) {
			t.log.Warn("failed to release the hold of an agent; it expires on its own", "error", releaseErr)
		}
		return t.movedBefore(ctx, once, said(err))
	}
	return nil, t.movedOut(&moved), nil
}

func (t mcpTools) movedOut(a *store.Appointment) bookingOut {
	out := bookingOut{Status: "confirmed", Message: t.engine.Agent.MovedSentence(a)}
	t.describe(&out, a)
	return out
}

// onceMoved identifies a call of reschedule by its caller and its two tokens, of which only a hash is stored.
func (t mcpTools) onceMoved(in moveIn) *record.Once {
	scope := sha256.Sum256([]byte("mcp reschedule\x00" + string(t.principal.Actor())))
	key := sha256.Sum256([]byte(in.ManageToken + "\x00" + in.BookingToken))
	return &record.Once{Scope: hex.EncodeToString(scope[:]), Key: hex.EncodeToString(key[:]), Fingerprint: key,
		Answer: func(result any) (int, []byte) {
			a := result.(store.Appointment)
			return rendered(http.StatusOK, t.movedOut(&a))
		}}
}

// movedBefore returns the response to an earlier, identical call to reschedule, or the refusal if there was none.
func (t mcpTools) movedBefore(ctx context.Context, once *record.Once,
	refusal error) (*mcp.CallToolResult, bookingOut, error) {
	before, err := t.engine.Record.Recall(ctx, once)
	if err != nil || before == nil {
		return nil, bookingOut{}, refusal
	}
	var out bookingOut
	if err := json.Unmarshal(before.Body, &out); err != nil {
		return nil, out, said(err)
	}
	return nil, out, nil
}

type cancelIn struct {
	ManageToken string `json:"manageToken" jsonschema:"the manageToken of the appointment, copied exactly"`
	Reason      string `json:"reason,omitempty"`
}

func (t mcpTools) cancel(ctx context.Context, _ *mcp.CallToolRequest,
	in cancelIn) (*mcp.CallToolResult, bookingOut, error) {
	a, err := t.managed(ctx, in.ManageToken)
	if err != nil {
		return nil, bookingOut{}, err
	}
	cancelled, err := t.engine.Booking.Cancel(ctx, booking.CancelRequest{ID: a.ID,
		Reason: in.Reason, Actor: t.principal.Actor(), CutOff: true})
	if err != nil {
		return nil, bookingOut{}, said(err)
	}
	out := bookingOut{Status: "cancelled", Message: t.engine.Agent.StateSentence(&cancelled)}
	t.describe(&out, &cancelled)
	return nil, out, nil
}
