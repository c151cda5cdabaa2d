package web

import (
	"context"
	"errors"
	"math"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/booking"
	"holdfast/engine/group"
	"holdfast/engine/message"
	"holdfast/engine/presence"
	"holdfast/engine/record"
	"holdfast/engine/request"
	"holdfast/engine/rule"
	"holdfast/engine/waitlist"
	"holdfast/holds"
	"holdfast/store"
)

// problem is an RFC 9457 response to a request that was refused or failed. It implements error, so a handler can return
// a problem directly if no engine error fits. Its detail states what to do. It contains no secret and no personal data.
type problem struct {
	Type              string         `json:"type"`
	Title             string         `json:"title"`
	Status            int            `json:"status"`
	Detail            string         `json:"detail"`
	Code              string         `json:"code"`
	Errors            []problemField `json:"errors,omitempty"`
	Reason            string         `json:"reason,omitempty"`
	Until             string         `json:"until,omitempty"`
	AppointmentID     string         `json:"appointmentId,omitempty"` // the client's own conflicting appointment
	SlotStartDate     string         `json:"slotStartDate,omitempty"` // of that appointment
	RetryAfterSeconds int            `json:"retryAfterSeconds,omitempty"`
	// false, on routes whose successful responses contain ok: true
	OK *bool `json:"ok,omitempty"`
}

type problemField struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

func (p problem) Error() string { return p.Code + ": " + p.Detail }

// with returns the problem with a different detail.
func (p problem) with(detail string) problem {
	p.Detail = detail
	return p
}

// titled returns the problem with a different title.
func (p problem) titled(title string) problem {
	p.Title = title
	return p
}

// because returns the problem with a reason, which is a code for programs, and a different detail.
func (p problem) because(reason, detail string) problem {
	p.Reason, p.Detail = reason, detail
	return p
}

// again returns the problem with the time after which the caller can retry, in whole seconds and at least 1.
func (p problem) again(after time.Duration) problem {
	p.RetryAfterSeconds = max(1, int(math.Ceil(after.Seconds())))
	return p
}

var (
	problemType     = []string{"application/problem+json"}
	bearerChallenge = []string{`Bearer realm="holdfast"`}
)

// All problem codes. docs/errors.md has a section for each code.
var (
	errMalformedBody = problem{Status: 400, Code: "malformed_body", Title: "Malformed body"}
	errUnauthorized  = problem{
		Status: 401, Code: "unauthorized", Title: "Authentication required",
		Detail: "Send an API key as Authorization: Bearer hfk_….",
	}
	errForbidden = problem{
		Status: 403, Code: "forbidden", Title: "Not allowed", Detail: "This credential is not allowed to do this.",
	}
	errNotOwner = problem{
		Status: 403, Code: "not_owner", Title: "Another client's hold",
		Detail: "Only the client that created this hold can use it. Send the clientId that created it.",
	}
	errNotFound = problem{
		Status: 404, Code: "not_found", Title: "Not found",
		Detail: "No resource has this address or id. Check the spelling; /docs/api lists the routes.",
	}
	errNoSlots = problem{
		Status: 404, Code: "no_slots", Title: "No free time",
		Detail: "No time for this appointment type is free within its booking horizon. Try again later, or ask for " +
			"another specialist.",
	}
	errMethodNotAllowed = problem{Status: 405, Code: "method_not_allowed", Title: "Method not allowed"}
	errSlotTaken        = problem{
		Status: 409, Code: "slot_taken", Title: "The time is taken",
		Detail: "This time conflicts with a booked appointment. Choose another time.",
	}
	errSlotHeld = problem{
		Status: 409, Code: "slot_held", Title: "The time is held",
		Detail: "Another client is holding this time. Choose another time, or try again after the hold has expired.",
	}
	errNotBookable    = problem{Status: 409, Code: "not_bookable", Title: "This time cannot be booked"}
	errOperationState = problem{
		Status: 409, Code: "operation_state", Title: "Wrong state",
		Detail: "The operation's state does not allow this. Fetch the queue again, then decide.",
	}
	errIdempotencyInFlight = problem{
		Status: 409, Code: "idempotency_in_flight", Title: "The first request is still running",
		Detail: "A request with this Idempotency-Key is still being processed. Send the same request again in 1 " +
			"second.",
	}
	errHoldExpired = problem{
		Status: 410, Code: "hold_expired", Title: "The hold has expired",
		Detail: "This hold has expired or never existed. Take a new one; the time may still be free.", OK: new(bool),
	}
	errVersionMismatch = problem{
		Status: 412, Code: "version_mismatch", Title: "Changed since you read it",
		Detail: "This appointment has changed since you read it. Fetch it again and retry.",
	}
	errPayloadTooLarge      = problem{Status: 413, Code: "payload_too_large", Title: "The body is too large"}
	errUnsupportedMediaType = problem{
		Status: 415, Code: "unsupported_media_type", Title: "Not JSON",
		Detail: "Send the body as JSON in UTF-8, with Content-Type: application/json.",
	}
	errValidationFailed    = problem{Status: 422, Code: "validation_failed", Title: "Invalid fields"}
	errIdempotencyMismatch = problem{
		Status: 422, Code: "idempotency_mismatch", Title: "The key was used for another request",
		Detail: "This Idempotency-Key belongs to a request with a different body or path. Use a new key for a new " +
			"request.",
	}
	errQuotaExceeded = problem{
		Status: 429, Code: "quota_exceeded", Title: "Too many holds",
		Detail: "This client has reached its maximum number of holds. Release one of them first.",
	}
	errCooldownActive = problem{
		Status: 429, Code: "cooldown_active", Title: "Already booked",
		Detail: "This client has already booked this appointment type. Change that appointment, or book again after " +
			"the time in until.",
	}
	errRateLimited = problem{
		Status: 429, Code: "rate_limited", Title: "Too many requests",
		Detail: "Too many requests from this network. Wait for the time in Retry-After.",
	}
	errInternal = problem{
		Status: 500, Code: "internal", Title: "Internal error",
		Detail: "The server failed to process the request. Try again. If this keeps happening, tell your " +
			"administrator and include the request ID.",
	}
	errOverloaded = problem{
		Status: 503, Code: "overloaded", Title: "Overloaded",
		Detail: "Too many writes are waiting, so nothing was written. Try again in 1 second.",
	}.again(time.Second)
	errStorageUnavailable = problem{
		Status: 503, Code: "storage_unavailable", Title: "Storage unavailable",
		Detail: "The storage is currently unavailable. Try again in a few seconds. It is safe to repeat a booking " +
			"with the same Idempotency-Key.",
	}.again(3 * time.Second)
	errStorageFull = problem{
		Status: 507, Code: "storage_full", Title: "The disk is full",
		Detail: "The server's disk is full, so nothing can be saved. Reads still work.",
	}.again(30 * time.Second)
)

// notNow is the title of not_bookable problems that are not about a requested time.
const notNow = "Not possible now"

// sentinels maps the errors of lower-level packages to problems.
var sentinels = []struct {
	err error
	say problem
}{
	{record.ErrNoAppointmentType,
		errNotFound.with("No appointment type has this id. GET /v1/appointment-types lists them.")},
	{store.ErrNotFound, errNotFound},
	{store.ErrSlotTaken, errSlotTaken},
	{store.ErrVersion, errVersionMismatch},
	{store.ErrOverloaded, errOverloaded},
	{store.ErrFull, errStorageFull},
	{store.ErrUnavailable, errStorageUnavailable},
	{store.ErrClosed, errStorageUnavailable},
	{store.ErrInvalid,
		errValidationFailed.with(
			"The request refers to an object that does not exist or cannot be used here. Check the ids in the request.",
		)},
	{store.ErrDuplicate, errValidationFailed.with("This id is in use. Choose another.")},
	{holds.ErrNotFound, errHoldExpired},
	{holds.ErrNotOwner, errNotOwner},
	{holds.ErrQuota, errQuotaExceeded.again(30 * time.Second)}, // a hold expires by then, unless it is extended
	{holds.ErrRestarts,
		errQuotaExceeded.with("This hold can't be renewed again. Book it, or release it and take a new one.")},
	{holds.ErrDeactivated, errForbidden.because("deactivated",
		"This specialist is deactivated. An admin can activate the specialist again.")},
	{holds.ErrOffline, errNotBookable.titled(notNow).because(string(presence.ReasonNotOnline),
		"This specialist is offline. Go online first, then send heartbeats to stay online.")},
	{holds.ErrUnavailable, errStorageUnavailable},
	{holds.ErrClosed, errStorageUnavailable},
	{record.ErrNoSlots, errNoSlots},
	{record.ErrUnauthorized, errUnauthorized},
	{record.ErrForbidden, errForbidden},
	{record.ErrAsksDesk, errForbidden.because("asks_desk",
		"The clinic must approve these appointments. To change the time, call the clinic, or cancel this "+
			"appointment and send a new request.")},
	{record.ErrCutOff, errForbidden.because("cut_off", "It is too late to change this online. Call the clinic.")},
	{booking.ErrUndoLate, errNotBookable.titled(notNow).because("undo_late",
		"This change can no longer be undone: it is too old, another user made it, the appointment has changed "+
			"since, or others were notified.")},
	{message.ErrNoMail, errNotBookable.titled(notNow).because("no_mail",
		"The patient has no email address, or this server sends no email. Call the patient instead.")},
	{message.ErrRecallOff, errForbidden.because("recall_off",
		"This clinic does not take recalls online. Ask the clinic.")},
	{booking.ErrArrivalOff, errForbidden.because("arrival_off",
		"This clinic does not take arrivals online. Tell the desk that you have arrived.")},
	{waitlist.ErrOff, errForbidden.because("waitlist_closed",
		"The waiting list is not open online: only the desk can add entries, or this server sends no email. Call "+
			"the clinic.")},
	{waitlist.ErrFull, errQuotaExceeded.titled("The waiting list is full").because("waitlist_full",
		"The waiting list is full, or this person has the maximum number of entries. Remove another entry first.")},
	{waitlist.ErrOffered, errNotBookable.titled(notNow).because("offered",
		"This entry already has an open offer, or this time is offered to another entry. Wait for the answer.")},
	{group.ErrNoVisit,
		errNotBookable.titled(notNow).because("no_visit", "This appointment is not part of a group visit.")},
	{record.ErrVisit, errForbidden.because("part_of_a_visit",
		"This appointment is part of a group visit. Change or cancel it as part of the visit, or call the clinic.")},
	{group.ErrNoSeries,
		errNotBookable.titled(notNow).because("no_series", "This appointment is not part of a series.")},
	{record.ErrNotConfirmed, errNotBookable.because("cancelled", "This appointment is cancelled. Book a new one.")},
	{record.ErrOperationState, errOperationState},
	{record.ErrIdempotencyMismatch, errIdempotencyMismatch},
	{record.ErrIdempotencyInFlight, errIdempotencyInFlight},
	{context.DeadlineExceeded, errStorageUnavailable},
}

// ruleAgain is the delay after which a client can retry a booking that the clinic's rule could not check.
const ruleAgain = 10 * time.Second

// problemOf converts an error to an API problem.
func problemOf(err error, now time.Time) problem {
	var (
		already     problem
		invalid     *record.ValidationError
		notBookable *availability.NotBookableError
		cooling     *booking.CooldownError
		held        *holds.HeldError
		limit       *request.LimitError
		lapsed      *request.LapsedError
		conflict    *group.ConflictError
		ended       *waitlist.EndedError
		ruled       *rule.RefusedError
		arrival     *booking.ArrivalError
	)
	switch {
	case errors.As(err, &already):
		return already
	case errors.As(err, &invalid):
		p := errValidationFailed.with("Correct the fields listed in errors and send the request again.")
		for _, f := range invalid.Fields {
			p.Errors = append(p.Errors, problemField{f.Field, f.Message})
		}
		return p
	case errors.As(err, &ended):
		return endedProblem(ended)
	case errors.As(err, &arrival):
		return arrivalProblem(arrival, now)
	case errors.As(err, &conflict):
		return conflictOf(conflict)
	case errors.As(err, &notBookable):
		p := errNotBookable.because(string(notBookable.Reason), whyNot(notBookable.Reason))
		switch notBookable.Reason {
		case presence.ReasonAccepted, presence.ReasonEnded, presence.ReasonNotActive, presence.ReasonAtCapacity,
			presence.ReasonNotOnline:
			p.Title = notNow
		}
		return p
	case errors.As(err, &ruled) && ruled.Reason != "":
		return errNotBookable.titled("The clinic does not accept this booking").because("clinic_rule", ruled.Reason)
	case errors.As(err, &ruled):
		return errNotBookable.titled(notNow).again(ruleAgain).because("clinic_rule_unavailable",
			"The clinic could not check this booking. Try again in a moment, or call the clinic.")
	case errors.As(err, &cooling):
		p := errCooldownActive.again(cooling.Until.Sub(now))
		p.Until, p.AppointmentID, p.SlotStartDate = milliTime(cooling.Until), cooling.AppointmentID,
			optionalTime(cooling.SlotStart)
		return p
	case errors.As(err, &limit):
		return errRateLimited.again(limit.Until.Sub(now)).because("public_bookings",
			"There were too many online bookings from this connection in the last hour. Try again after the time in "+
				"Retry-After, or call the clinic.")
	case errors.As(err, &lapsed) && lapsed.Declined:
		return errHoldExpired.titled("Declined").because("declined",
			"The clinic declined this request, the patient cancelled it, or it expired. Choose another time.")
	case errors.As(err, &lapsed):
		return errHoldExpired.titled("The request has expired").because("lapsed",
			"This request expired before it was confirmed. Book again; the time may still be free.")
	case errors.As(err, &held) && held.Until.IsZero():
		return errSlotTaken // every seat is booked
	case errors.As(err, &held):
		p := errSlotHeld.again(held.Until.Sub(now))
		p.Until = milliTime(held.Until)
		return p
	}
	for _, s := range sentinels {
		if errors.Is(err, s.err) {
			return s.say
		}
	}
	return errInternal
}

// arrivalProblem is the response to a patient who cannot report the arrival.
func arrivalProblem(e *booking.ArrivalError, now time.Time) problem {
	p := errNotBookable.titled(notNow)
	switch {
	case !e.From.IsZero():
		p = p.again(e.From.Sub(now)).because("arrival_too_early",
			"It is too early to report the arrival. Try again from the time in until.")
		p.Until = httpTime(e.From)
		return p
	case e.Attendance != "":
		return p.because(string(e.Attendance), "The desk has already recorded this appointment as in progress, "+
			"completed or missed. Go to the desk if this is wrong.")
	}
	return p.because("arrival_over", "This appointment is over. Go to the desk.")
}

// whyNot returns the detail for a reason why something is not bookable.
func whyNot(r availability.Reason) string {
	switch r {
	case availability.ReasonInactive:
		return "This appointment type or specialist is deactivated. Choose another."
	case availability.ReasonTooSoon:
		return "This time is in the past or too soon. Choose a later one."
	case availability.ReasonTooFar:
		return "This time is beyond the booking window. Choose an earlier one."
	case availability.ReasonOverrideClosed:
		return "The specialist is away at this time. Choose another time."
	case availability.ReasonOutsideHours:
		return "This time is outside the opening hours. Choose one that GET /v1/appointment-types/{id}/timeslots lists."
	case availability.ReasonNotASlotStart:
		return "No slot starts at this time. Choose a start that GET /v1/appointment-types/{id}/timeslots lists."
	case availability.ReasonTaken:
		return "This time conflicts with a booked appointment. Choose another time."
	case presence.ReasonAccepted:
		return "Another specialist was first to accept this session."
	case presence.ReasonEnded:
		return "This session has ended. The client can request a new one."
	case presence.ReasonNotActive:
		return "This session is not active: it has not been accepted yet, or it has ended."
	case presence.ReasonAtCapacity:
		return "This specialist has reached maxSessions. End a session first, or raise maxSessions."
	case presence.ReasonNotOnline:
		return "This specialist is offline. Go online first."
	}
	return "This is not possible now. See reason."
}

// tooMany returns the problem for an address that sends too many requests. The address can retry after wait.
func tooMany(wait time.Duration) problem { return errRateLimited.again(wait) }
