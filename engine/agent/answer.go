package agent

import (
	"context"
	"errors"
	"time"

	"holdfast/engine/outbound"
	"holdfast/engine/practice"
	"holdfast/engine/record"
	"holdfast/engine/upstream"
	"holdfast/store"
)

// agentBooked returns the Answer for a completed booking in a clinic without an upstream.
func (ag *Agent) agentBooked(a *store.Appointment, noted bool) Answer {
	return Answer{
		Outcome: Confirmed, Message: "Appointment GUID Added: " + a.ID, AppointmentGUID: a.ID, NoteAdded: noted,
		Guidance: ag.guideBooked(a),
	}
}

// agentAttempted returns the Answer for a booking after its upstream write was attempted.
func (ag *Agent) agentAttempted(ctx context.Context, slot *agentSlot, a store.Appointment, f *fence,
	r practice.Attempted) Answer {
	debug := &Debug{Attempts: r.Attempts, SpacingWait: r.Waited, NoteResult: r.NoteResult, LastError: r.Detail}
	var answer Answer
	switch {
	case r.End == outbound.Delivered:
		answer = Answer{
			Outcome: Confirmed, Message: "Appointment GUID Added: " + r.Guid, AppointmentGUID: r.Guid,
			NoteAdded: r.NoteAdded, Guidance: ag.guideBooked(&a),
		}
		if r.Guid == "" {
			answer.Message = "Appointment successfully created"
		}
	case r.End == outbound.Refused && (r.Reason == upstream.SlotTaken || r.Reason == upstream.AlreadyBooked):
		answer = ag.agentRefused(ctx, slot, sayTaken, errorSlotUnavailable,
			"The practice system refused the slot: it is not available.", time.Now().Add(practice.CallReserve))
	case r.End == outbound.Refused && r.Reason == upstream.PatientUnknown:
		ag.forgetPatient(ctx, a.UpstreamPatientID)
		answer = ag.agentRefused(ctx, slot, sayNoPatient, PatientNotFound,
			"The practice system has no record of this patient.", time.Now().Add(practice.CallReserve))
	case r.End == outbound.Refused:
		answer = Answer{
			Outcome: Refused, ErrorType: errorNotAccepted, Message: "The practice system did not accept the booking.",
			Guidance: ag.guide(sayNotAccepted, a.SlotStart),
		}
	default:
		answer = ag.agentQueued(&a, f.call.ID, r.ErrorType)
	}
	answer.Debug = debug
	return answer
}

// agentUnknown returns the Answer for a valid token of a patient whose details are not stored here: the person was
// erased after the token was issued, or the database was restored from a backup made before that. The appointment would
// have no name.
func (ag *Agent) agentUnknown() Answer {
	return Answer{
		Outcome: Refused, ErrorType: PatientNotFound, Message: "The details of this patient are no longer stored.",
		Guidance: ag.guide(sayNoPatient, time.Time{}),
	}
}

// agentQueued returns the Answer for a booking that the queue will deliver.
func (ag *Agent) agentQueued(a *store.Appointment, operationID, errorType string) Answer {
	if errorType == "" {
		errorType = practice.ErrorRateLimitedQueued
	}
	return Answer{
		Outcome: Queued, ErrorType: errorType, OperationID: operationID,
		Message: "The booking was received and is not yet confirmed. It will be delivered as soon as the practice " +
			"system accepts it.",
		Guidance: ag.guide(sayQueued, a.SlotStart),
	}
}

// agentRefused returns the Answer for a booking that the upstream refused or whose slot is not available, with
// alternatives.
func (ag *Agent) agentRefused(ctx context.Context, slot *agentSlot, say, errorType, message string,
	deadline time.Time) Answer {
	answer := Answer{Outcome: Refused, ErrorType: errorType, Message: message, Guidance: ag.guide(say, slot.start)}
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	from := slot.start
	if now := time.Now(); from.Before(now) {
		from = now
	}
	list, err := ag.Slots(ctx, SlotsRequest{AppointmentTypeID: slot.kind.ID,
		From: store.DateOf(from.In(ag.clinic.Zone())), Days: 7, Count: 3})
	if err == nil {
		answer.Alternatives = list.Slots
	}
	return answer
}

// firstAnswer returns the Answer to a repeated request: the patient already has this slot, or the bookingToken was just
// used for the patient.
func (ag *Agent) firstAnswer(ctx context.Context, b *BookRequest, slot *agentSlot, refusal error) (Answer, bool) {
	patient := upstream.CanonicalGUID(b.PatientGUID)
	switch {
	case errors.Is(refusal, store.ErrDuplicate) && slot.nonce != nil:
		use, err := ag.store.NonceUse(ctx, slot.nonce.Nonce)
		if err != nil || use.PatientID != patient {
			return Answer{}, false
		}
		a, err := ag.store.Appointment(ctx, use.AppointmentID)
		if err != nil || !sameChild(a.Patient.Notes, b.Note) {
			return Answer{}, false
		}
		return ag.agentKnown(ctx, &a), true
	case errors.Is(refusal, store.ErrSlotTaken):
		list, _, err := ag.store.Appointments(ctx, store.AppointmentFilter{
			From: slot.start, To: slot.start.Add(time.Minute), SpecialistID: slot.specialist.ID,
			Status: store.Confirmed,
		})
		if err != nil {
			return Answer{}, false
		}
		for i := range list {
			if a := &list[i]; a.SlotStart.Equal(slot.start) && a.AppointmentTypeID == slot.kind.ID &&
				a.Source == store.SourceAgent &&
				a.UpstreamPatientID == patient && patient != "" && a.Patient.Notes == b.Note {
				return ag.agentKnown(ctx, a), true
			}
		}
	}
	return Answer{}, false
}

// agentKnown returns the Answer for an earlier booking, based on its current state.
func (ag *Agent) agentKnown(ctx context.Context, a *store.Appointment) Answer {
	switch {
	case a.Status == store.Cancelled:
		return Answer{
			Outcome: Refused, ErrorType: errorSlotUnavailable, Message: "This booking was cancelled.",
			Guidance: ag.guide(sayCancelled, a.SlotStart),
		}
	case a.UpstreamState == store.UpstreamNone:
		return ag.agentBooked(a, a.Patient.Notes != "")
	case a.UpstreamState == store.UpstreamConfirmed:
		answer := ag.agentBooked(a, a.Patient.Notes != "")
		answer.AppointmentGUID, answer.Message = a.UpstreamID, "Appointment GUID Added: "+a.UpstreamID
		if a.UpstreamID == "" {
			answer.Message = "Appointment successfully created"
		}
		return answer
	case a.UpstreamState == store.UpstreamFailed && a.UpstreamID == "":
		return Answer{
			Outcome: Refused, ErrorType: errorBookingFailed,
			Message:  "The booking could not be completed. The clinic has been notified.",
			Guidance: ag.guide(sayFailed, a.SlotStart),
		}
	}
	id, errorType := "", practice.ErrorRateLimitedQueued
	if list, err := ag.store.Deliveries(ctx, a.ID); err == nil {
		for _, d := range list {
			if d.Channel == "upstream" && d.Notice == practice.NoticeOf(store.UpstreamBook) {
				id = d.OperationID
			}
		}
	}
	if op, err := ag.bookingOperation(ctx, id); err == nil && (op.Unknown || op.NeedsReview) {
		errorType = practice.ErrorUnknownQueued
	}
	answer := ag.agentQueued(a, id, errorType)
	// UpstreamFailed means that a later move of the appointment failed
	if a.UpstreamState == store.UpstreamReview || a.UpstreamState == store.UpstreamFailed {
		answer.Guidance = ag.guide(sayReview, a.SlotStart)
		answer.Message = "The clinic is reviewing the booking."
	}
	return answer
}

// Operation is the progress of a queued booking.
type Operation struct {
	Status          store.OperationStatus
	NeedsReview     bool
	ErrorType       string // empty when the appointment is booked
	AppointmentGUID string
	Guidance        Guidance
}

// Operation returns the progress of a queued booking. Errors: store.ErrNotFound.
func (ag *Agent) Operation(ctx context.Context, id string) (Operation, error) {
	op, err := ag.bookingOperation(ctx, id)
	if err != nil {
		return Operation{}, err
	}
	a, err := ag.store.Appointment(ctx, op.AppointmentID)
	if err != nil {
		return Operation{}, err
	}
	answer := Operation{Status: op.Status, NeedsReview: op.NeedsReview}
	say := sayStillQueued
	answer.ErrorType = practice.ErrorRateLimitedQueued
	if op.Unknown {
		answer.ErrorType = practice.ErrorUnknownQueued
	}
	switch {
	case a.Status == store.Cancelled:
		say, answer.ErrorType = sayCancelled, errorBookingCancelled
	case op.NeedsReview:
		say, answer.ErrorType = sayReview, errorBookingReview
	case op.Status == store.OperationFailed &&
		(a.UpstreamState == store.UpstreamConfirmed || a.UpstreamState == store.UpstreamNone):
		// the write failed, and the desk has since moved the appointment
		answer.Status, answer.AppointmentGUID, say, answer.ErrorType = store.OperationCompleted, a.UpstreamID,
			sayConfirmed, ""
	case op.Status == store.OperationFailed && a.UpstreamState == store.UpstreamPending:
		// the write failed, and a later move of the appointment is queued
		answer.Status = store.OperationPending
	case op.Status == store.OperationFailed:
		say, answer.ErrorType = sayFailed, errorBookingFailed
	case op.Status == store.OperationCompleted:
		answer.AppointmentGUID, say, answer.ErrorType = a.UpstreamID, sayConfirmed, ""
	}
	if answer.Guidance = ag.guide(say, a.SlotStart); say == sayConfirmed {
		answer.Guidance = ag.guideBooked(&a)
	}
	return answer, nil
}

// bookingOperation finds the operation of a booking in the queue, or in the outbox if it has not reached the queue yet.
func (ag *Agent) bookingOperation(ctx context.Context, id string) (store.Operation, error) {
	if ag.outbound.Queue == nil || !record.ValidID(id) {
		return store.Operation{}, store.ErrNotFound
	}
	op, err := ag.outbound.Queue.Operation(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		var promised bool
		if op, promised, err = ag.outbound.FindPromise(ctx, id); err == nil && !promised {
			err = store.ErrNotFound
		}
		if ag.outbound.Outbox.Claimed(id) {
			op.Status = store.OperationProcessing
		}
	}
	if err == nil && op.Kind != store.UpstreamBook && op.Kind != store.UpstreamReschedule {
		err = store.ErrNotFound
	}
	return op, err
}
