// Package agent serves voice and chat agents: it identifies the patient (patient.go), lists free slots (slot.go),
// books (agent.go), and reports the outcome of a booking (answer.go).
//
// # A booking
//
// Book authorizes the request (session.go) and reserves the time here with a confirmed appointment, so that no visitor
// can take it (fence.go). The appointment is then written upstream while the caller waits. Book returns within the time
// limit: confirmed, rejected, queued or refused.
//
// # Words
//
// The instructions to an agent consist of constant text and the clinic's own settings, with one entry per outcome
// (guidance.go). Text from callers appears in typed fields only, never inside an instruction.
//
// # Tokens
//
// A bookingAuthToken identifies the patient, and a bookingToken identifies the offered slot. Both are opaque and
// signed, and both expire. A bookingToken works only once. See package engine/token.
package agent

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/outbound"
	"holdfast/engine/practice"
	"holdfast/engine/record"
	"holdfast/engine/rule"
	"holdfast/engine/token"
	"holdfast/engine/upstream"
	"holdfast/holds"
	"holdfast/store"
)

// Agent serves voice and chat agents. It is safe for concurrent use.
type Agent struct {
	store    store.Store
	holds    holds.Backend
	log      *slog.Logger
	clinic   *clinic.Clinic
	booking  *booking.Booking
	outbound *outbound.Outbound
	practice *practice.Practice
	rule     *rule.Rule
	options  Options

	lookups lookups
}

// Options are the parameters of New.
type Options struct {
	Store    store.Store
	Holds    holds.Backend
	Logger   *slog.Logger
	Clinic   *clinic.Clinic
	Booking  *booking.Booking
	Outbound *outbound.Outbound
	Practice *practice.Practice
	Rule     *rule.Rule // called before every booking

	AllowLegacy  bool // a bare patientGUID is enough to book, without a token
	DebugReplies bool // responses contain _debug
}

// New returns an Agent.
func New(o Options) *Agent {
	return &Agent{
		lookups: lookups{pacer: upstream.NewPacer(lookupSpacing)},
		store:   o.Store, holds: o.Holds, log: o.Logger, clinic: o.Clinic, booking: o.Booking, outbound: o.Outbound,
		practice: o.Practice, rule: o.Rule, options: o,
	}
}

// BookRequest is the createAppt request, with the field names of the wire format.
type BookRequest struct {
	PatientGUID         string
	BookingAuthToken    string
	StartTime           string // clinic time, "01/20/2026 10:00 AM"
	ScheduleViewGUID    string
	ScheduleColumnGUID  string
	AppointmentTypeGUID string
	Minutes             int // 0 means the length of the type
	ChildName           string
	Note                string
	UUI                 string
	SessionID           string
	BookingToken        string

	Client holds.ClientID // the client of the conversation, whose hold the booking takes over; empty means none
}

// Outcome is the kind of an Answer.
type Outcome string

const (
	Confirmed Outcome = "confirmed"
	Rejected  Outcome = "rejected" // not authorized for this patient
	Queued    Outcome = "queued"   // received, not yet confirmed
	Refused   Outcome = "refused"  // the slot is not available
	Invalid   Outcome = "invalid"  // the bookingToken is invalid or has expired
)

// Answer is the result of a booking, for the agent.
type Answer struct {
	Outcome         Outcome
	ErrorType       string // empty when confirmed
	Message         string
	AppointmentGUID string // set when confirmed, unless the upstream returned none
	NoteAdded       bool
	OperationID     string // set when queued
	Alternatives    []Slot // set when refused
	Guidance        Guidance
	Debug           *Debug // nil unless debug replies are on
}

// Debug contains details for agent developers. It contains no secrets.
type Debug struct {
	Method              string // how the booking was authorized
	ReceivedPatientGUID string
	Attempts            int
	SpacingWait         time.Duration
	NoteResult          string
	LastError           string
	Timestamp           time.Time
}

// Error types of an Answer, in addition to those of package token.
const (
	errorSlotUnavailable  = "SLOT_UNAVAILABLE"
	PatientNotFound       = "PATIENT_NOT_FOUND"
	errorNotAccepted      = "BOOKING_NOT_ACCEPTED"
	errorBookingFailed    = "BOOKING_FAILED"
	errorBookingReview    = "BOOKING_REVIEW"
	errorBookingCancelled = "BOOKING_CANCELLED"
	errorTokenUsed        = "BOOKING_TOKEN_USED"
)

// tokenUsedMessage is the message of errorTokenUsed. A child of the patient counts as another patient.
const tokenUsedMessage = "This bookingToken was used for another patient; ask for slots again."

// tokenBookedMessage is the message if the patient is not known yet, as for a hold.
const tokenBookedMessage = "An appointment was already booked with this bookingToken; for another one, ask for slots " +
	"again."

// Book books an appointment for an agent. Repeating a call is safe: a call with the same slot, patient and child, or
// with the same bookingToken, patient and child, returns the first Answer again.
//
// The error is *ValidationError for an invalid request, or a storage error. Every other result is an Answer.
func (ag *Agent) Book(ctx context.Context, p record.Principal, b BookRequest) (Answer, error) {
	now := time.Now()
	deadline := now.Add(ag.practice.Options.AgentBound)
	received := b.PatientGUID
	method, session, err := ag.authorizeBooking(ctx, p.KeyID, &b, now)
	answer := func(a Answer) (Answer, error) {
		if !ag.options.DebugReplies {
			a.Debug = nil
			return a, nil
		}
		if a.Debug == nil {
			a.Debug = &Debug{}
		}
		a.Debug.Method, a.Debug.ReceivedPatientGUID, a.Debug.Timestamp = method, received, time.Now().UTC()
		return a, nil
	}
	var refusal token.Error
	if errors.As(err, &refusal) {
		return answer(Answer{
			Outcome: Rejected, ErrorType: refusal.Code(), Message: refusal.Error(),
			Guidance: ag.guide(sayRejected, time.Time{}),
		})
	}
	if err != nil {
		return Answer{}, err
	}
	slot, bad, err := ag.agentSlot(ctx, &b, now)
	switch {
	case err != nil:
		return Answer{}, err
	case bad != nil:
		return answer(*bad)
	}
	if method != authLegacy && session.Patient.Name == "" && b.ChildName == "" && !ag.upstreamDecides(slot) {
		return answer(ag.agentUnknown())
	}
	a, f, err := ag.fenceSlot(ctx, p, &b, slot, session.Patient)
	if err == nil && f.direct() {
		return answer(ag.agentAttempted(ctx, slot, a, f, ag.practice.TryNow(f.call.Operation, deadline)))
	}
	if err == nil {
		return answer(ag.agentBooked(&a, b.Note != ""))
	}
	if first, ok := ag.firstAnswer(ctx, &b, slot, err); ok {
		return answer(first)
	}
	ag.booking.CountRefusal(booking.ActBook, err)
	var held *holds.HeldError
	var closed *availability.NotBookableError
	var ruled *rule.RefusedError
	switch {
	case errors.As(err, &ruled):
		return answer(Answer{
			Outcome: Refused, ErrorType: errorNotAccepted,
			Message:  cmp.Or(ruled.Reason, "The clinic's booking rule did not answer."),
			Guidance: ag.guide(sayNotAccepted, slot.start),
		})
	case errors.Is(err, store.ErrDuplicate):
		return answer(Answer{
			Outcome: Refused, ErrorType: errorTokenUsed, Message: tokenUsedMessage,
			Guidance: ag.guide(sayOfferLapsed, time.Time{}),
		})
	case errors.Is(err, store.ErrSlotTaken), errors.As(err, &held), errors.As(err, &closed):
		return answer(ag.agentRefused(ctx, slot, sayTaken, errorSlotUnavailable, "The slot is no longer available.",
			deadline))
	}
	return Answer{}, err
}

// agentSlot is the slot that an agent wants to book.
type agentSlot struct {
	kind       *store.AppointmentType
	specialist *store.Specialist
	start      time.Time
	minutes    int
	nonce      *store.NonceUse // nonce of the bookingToken, if there is one
}

// agentSlot finds the slot of a request. If there is nothing to book, it returns an Answer instead; otherwise the
// Answer is nil.
func (ag *Agent) agentSlot(ctx context.Context, b *BookRequest, now time.Time) (*agentSlot, *Answer, error) {
	s := ag.clinic.Current()
	var m record.Mistakes
	record.CheckText(&m, "childName", b.ChildName, 200, false)
	record.CheckText(&m, "note", b.Note, 2000, true)
	for field, value := range map[string]string{"uui": b.UUI, "sessionId": b.SessionID} {
		record.CheckText(&m, field, value, 256, false)
	}
	b.Note = composeNote(b.ChildName, b.Note)
	if b.BookingToken != "" {
		if err := m.Err(); err != nil {
			return nil, nil, err
		}
		return ag.offeredSlot(ctx, s, b, now)
	}
	slot := &agentSlot{minutes: b.Minutes}
	var err error
	if slot.start, err = upstream.ParseTime(b.StartTime, s.Zone); err != nil {
		m.Add("startTime", "must be a clinic time like 01/20/2026 10:00 AM; or send the bookingToken of a slot")
	}
	if slot.specialist = specialistByGUID(s, b.ScheduleColumnGUID); slot.specialist == nil {
		m.Add("scheduleColumnGUID", "must belong to a slot that was offered; or send the bookingToken of that slot")
	} else if v := slot.specialist.UpstreamScheduleViewID; b.ScheduleViewGUID != "" &&
		!upstream.EqualGUID(v, b.ScheduleViewGUID) && b.ScheduleViewGUID != slot.specialist.ID {
		m.Add("scheduleViewGUID", "does not match this scheduleColumnGUID; send both values from the same slot")
	}
	slot.kind = typeByGUID(s, b.AppointmentTypeGUID, slot.specialist)
	switch {
	case slot.kind == nil && isDeskType(s, b.AppointmentTypeGUID):
		m.Add("appointmentTypeGUID", notForAgents)
	case slot.kind == nil:
		m.Add("appointmentTypeGUID", "must belong to an appointment type of this clinic")
	case slot.minutes == 0:
		slot.minutes = slot.kind.DurationMinutes
	}
	if slot.minutes < 0 || slot.minutes > 1440 {
		m.Add("minutes", "must be from 1 to 1440, or left out")
	}
	if err := m.Err(); err != nil {
		return nil, nil, err
	}
	return slot, nil, slot.checkLength(ag)
}

// checkLength refuses a length other than the type's, unless the upstream decides the length of the appointment.
func (slot *agentSlot) checkLength(e *Agent) error {
	if slot.minutes != slot.kind.DurationMinutes && !e.upstreamDecides(slot) {
		return record.Invalid("minutes", "must be %d, the length of this appointment type, or left out",
			slot.kind.DurationMinutes)
	}
	return nil
}

// upstreamDecides reports whether the upstream decides about the opening hours of a slot.
func (ag *Agent) upstreamDecides(slot *agentSlot) bool {
	return ag.practice.Options.Upstream != nil && slot.kind.UpstreamTypeID != "" &&
		slot.specialist.UpstreamColumnID != "" && slot.specialist.UpstreamScheduleViewID != ""
}

// upstreamHours returns the rules for a slot. If the upstream decides about the opening hours, blocks and the hours of
// rooms still apply, because the upstream does not have them.
func upstreamHours(decides bool) availability.Rules {
	return availability.Rules{IgnoreHours: decides, KeepBlocks: decides}
}

// offeredSlot returns the slot that a bookingToken offers.
func (ag *Agent) offeredSlot(ctx context.Context, s *clinic.Schedule, b *BookRequest,
	now time.Time) (*agentSlot, *Answer, error) {
	refuse := func(outcome Outcome, errorType, message string) (*agentSlot, *Answer, error) {
		return nil, &Answer{
			Outcome: outcome, ErrorType: errorType, Message: message, Guidance: ag.guide(sayOfferLapsed, time.Time{}),
		}, nil
	}
	offered, err := ag.booking.Keys().VerifyBooking(b.BookingToken, now)
	if err != nil && err != token.BookingTokenExpired {
		return refuse(Invalid, token.BookingTokenInvalid.Code(), token.BookingTokenInvalid.Error())
	}
	slot := &agentSlot{start: offered.Start, minutes: offered.Minutes}
	slot.nonce = &store.NonceUse{
		Nonce: offered.Nonce, PatientID: upstream.CanonicalGUID(b.PatientGUID), ExpiresAt: offered.ExpiresAt,
	}
	used, useErr := ag.store.NonceUse(ctx, offered.Nonce)
	switch {
	case useErr == nil && used.PatientID == slot.nonce.PatientID:
		a, err := ag.store.Appointment(ctx, used.AppointmentID)
		if err != nil {
			return nil, nil, err
		}
		if !sameChild(a.Patient.Notes, b.Note) {
			return refuse(Refused, errorTokenUsed, tokenUsedMessage)
		}
		first := ag.agentKnown(ctx, &a)
		return nil, &first, nil
	case useErr == nil && b.PatientGUID == "":
		return refuse(Refused, errorTokenUsed, tokenBookedMessage)
	case useErr == nil:
		return refuse(Refused, errorTokenUsed, tokenUsedMessage)
	case !errors.Is(useErr, store.ErrNotFound):
		return nil, nil, useErr
	case err != nil:
		return refuse(Invalid, token.BookingTokenExpired.Code(), token.BookingTokenExpired.Error())
	}
	for i := range s.AppointmentTypes {
		if t := &s.AppointmentTypes[i]; !t.Page.DeskOnly && !t.Page.Approval &&
			token.AppointmentTypeHash(t.ID) == offered.AppointmentType {
			if slot.kind != nil {
				return refuse(Invalid, token.BookingTokenInvalid.Code(),
					"The bookingToken fits two appointment types; ask for slots again.")
			}
			slot.kind = t
		}
	}
	for i := range s.Specialists {
		if p := &s.Specialists[i]; token.SpecialistHash(p.ID) == offered.Specialist {
			if slot.specialist != nil {
				return refuse(Invalid, token.BookingTokenInvalid.Code(),
					"The bookingToken fits two specialists; ask for slots again.")
			}
			slot.specialist = p
		}
	}
	if slot.kind == nil || slot.specialist == nil {
		return refuse(Refused, errorSlotUnavailable, "The offered slot no longer exists; ask for slots again.")
	}
	return slot, nil, nil
}

// specialistByGUID finds a specialist by the GUID of the schedule column or by id.
func specialistByGUID(s *clinic.Schedule, guid string) *store.Specialist {
	for i := range s.Specialists {
		if p := &s.Specialists[i]; guid != "" && (upstream.EqualGUID(p.UpstreamColumnID, guid) || p.ID == guid) {
			return p
		}
	}
	return nil
}

// typeByGUID finds an appointment type by GUID or id. If several types share the GUID, it prefers one that the
// specialist offers.
func typeByGUID(s *clinic.Schedule, guid string, p *store.Specialist) *store.AppointmentType {
	var found *store.AppointmentType
	for i := range s.AppointmentTypes {
		t := &s.AppointmentTypes[i]
		if t.Page.DeskOnly || t.Page.Approval || !isType(t, guid) {
			continue
		}
		serves := p != nil && t.IsServedBy(p.ID)
		if found == nil || serves {
			found = t
		}
		if serves {
			break
		}
	}
	return found
}

// isType reports whether the GUID or id is that of the type.
func isType(t *store.AppointmentType, guid string) bool {
	return guid != "" && (upstream.EqualGUID(t.UpstreamTypeID, guid) || t.ID == guid)
}

// notForAgents tells an agent why it cannot book a type that exists.
const notForAgents = "is a type that agents do not offer: only the desk books or approves it. Choose another type, " +
	"or hand the call over to the desk"

// isDeskType reports whether the GUID or id is that of a type that only the desk books or approves.
func isDeskType(s *clinic.Schedule, guid string) bool {
	return slices.ContainsFunc(s.AppointmentTypes, func(t store.AppointmentType) bool {
		return (t.Page.DeskOnly || t.Page.Approval) && isType(&t, guid)
	})
}

// composeNote returns a note that names the patient's child: "Child: <name> | …".
func composeNote(child, note string) string {
	child, note = strings.Join(strings.Fields(child), " "), strings.TrimSpace(note)
	switch {
	case child == "" || strings.HasPrefix(strings.ToLower(note), "child:"):
		return note
	case note == "":
		return "Child: " + child
	}
	return "Child: " + child + " | " + note
}

// sameChild reports whether two notes of composeNote name the same child, or both none. Siblings share a patient, so a
// bookingToken that was used for one of them must not answer that another one is booked.
func sameChild(one, other string) bool { return foldName(childOf(one)) == foldName(childOf(other)) }

// childOf returns the name of the child in a note of composeNote, or an empty string.
func childOf(note string) string {
	label, name, found := strings.Cut(note, ":")
	if !found || !strings.EqualFold(label, "child") {
		return ""
	}
	name, _, _ = strings.Cut(name, " | ")
	return name
}
