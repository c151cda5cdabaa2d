package practice

import (
	"slices"

	"holdfast/engine/booking"
	"holdfast/engine/outbound"
	"holdfast/store"
)

// # The delivery log
//
// The delivery log of an appointment lists its upstream operations in the order of their changes. It remains after the
// queue has deleted an operation.

// isWrite reports whether a delivery wrote an appointment's time, as a booking or a move, or is about to do so.
func isWrite(d store.Delivery) bool {
	return d.Channel == "upstream" && d.State != outbound.DeliveryNotNeeded &&
		(d.Notice == NoticeOf(store.UpstreamBook) || d.Notice == NoticeOf(store.UpstreamReschedule))
}

// isFirst reports whether op, which has taken effect, is the first write to confirm an agent's booking. It returns
// false for a booking that was confirmed without the upstream.
func isFirst(a *store.Appointment, log []store.Delivery, op *store.Operation) bool {
	waited := false
	for _, d := range log {
		if isWrite(d) && d.State == outbound.DeliveryDelivered && d.OperationID != op.ID {
			return false
		}
		waited = waited || d.Channel == "upstream" && d.Notice == NoticeOf(store.UpstreamBook)
	}
	return waited && a.Source == store.SourceAgent
}

// decides reports whether the outcome of op determines the upstream state of its appointment. It returns false if a
// later change has replaced op, or if op cancels a time that the appointment was moved from.
func decides(a *store.Appointment, log []store.Delivery, op *store.Operation, p *payload) bool {
	switch {
	case op.Kind != store.UpstreamCancel:
		return isCurrent(a, p)
	case p.GUID != "":
		return false
	case a.Status == store.Cancelled:
		return true
	}
	// The appointment moved to a specialist who does not exist upstream.
	i := slices.IndexFunc(log, func(d store.Delivery) bool { return d.OperationID == op.ID })
	return !slices.ContainsFunc(log[i+1:], isWrite)
}

// goesOn reports whether a person has decided about op, so that a later operation of the same appointment, which waited
// for the decision, is delivered now.
func goesOn(log []store.Delivery, op *store.Operation) bool {
	if op.NeedsReview {
		return false
	}
	waits, isLater := false, false
	for _, d := range log {
		switch {
		case d.OperationID == op.ID:
			isLater = true
		case d.Channel != "upstream" || d.Notice == NoticeOf(store.UpstreamComment):
		case d.State == outbound.DeliveryReview:
			return false
		default:
			waits = waits || isLater && d.State == booking.DeliveryQueued
		}
	}
	return waits
}

// isConfirmed reports whether the current state of an appointment took effect upstream, and no cancellation other than
// op still waits for a person.
func isConfirmed(a *store.Appointment, log []store.Delivery, op *store.Operation) bool {
	isCancelled := false
	for _, d := range log {
		if d.Channel != "upstream" || d.Notice != NoticeOf(store.UpstreamCancel) || d.OperationID == op.ID {
			continue
		}
		isFailed := d.State == outbound.DeliveryFailed && d.Detail != outbound.GivenUp
		if isFailed || d.State == outbound.DeliveryReview ||
			a.Status == store.Cancelled && d.State == booking.DeliveryQueued {
			return false
		}
		isCancelled = isCancelled || d.State == outbound.DeliveryDelivered
	}
	if a.Status == store.Cancelled {
		return isCancelled
	}
	return isDelivered(log)
}

// isDelivered reports whether an appointment's last write took effect.
func isDelivered(log []store.Delivery) bool {
	for _, d := range slices.Backward(log) {
		if isWrite(d) {
			return d.State == outbound.DeliveryDelivered
		}
	}
	return false
}
