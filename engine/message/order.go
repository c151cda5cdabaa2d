package message

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/outbound"
	"holdfast/store"
)

// rests contains the addresses that were unreachable, and how long each of them is paused.
type rests struct {
	mu sync.Mutex
	of map[string]*outbound.Rest
}

// maxRests limits the memory used for addresses that have since been changed.
const maxRests = 1000

// left returns how much longer the address is paused, plus 1 ms, or 0 if it can be tried. The queue stores whole
// milliseconds. Without the extra millisecond, a waiting notice would be due before the pause is over, and the queue
// would take it out and put it back as fast as the disk allows.
func (r *rests) left(address string, now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.of[address]; known != nil {
		if wait := known.Until().Sub(now); wait > 0 {
			return wait + time.Millisecond
		}
	}
	return 0
}

// rest pauses the address and returns for how long. The pause gets longer with each call until wake is called.
func (r *rests) rest(address string, now time.Time, base time.Duration) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of == nil || len(r.of) >= maxRests {
		r.of = make(map[string]*outbound.Rest)
	}
	known := r.of[address]
	if known == nil {
		known = new(outbound.Rest)
		r.of[address] = known
	}
	known.Begin(now, base)
	return known.Until().Sub(now)
}

func (r *rests) wake(address string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.of, address)
}

func (r *rests) wakeAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.of = nil
}

// posting contains the webhook addresses with a call in progress, and the start of each call. A slow address delays
// only its own webhooks. The rest of the lane stays free for other addresses.
type posting struct {
	mu    sync.Mutex
	since map[string]time.Time
}

// maxPostingWait is the longest time that a webhook waits behind another before it checks again.
const maxPostingWait = 5 * time.Second

// begin claims the address and returns 0. If a call to the address is in progress, begin returns how long to wait: as
// long as that call has already taken, within limits. This prevents the queue from repeatedly taking out the webhooks
// behind a hung call. begin uses the system clock because the clinic's clock can be changed.
func (p *posting) begin(address string) (wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if since, busy := p.since[address]; busy {
		return min(max(time.Since(since), 50*time.Millisecond), maxPostingWait)
	}
	if p.since == nil {
		p.since = make(map[string]time.Time)
	}
	p.since[address] = time.Now()
	return 0
}

func (p *posting) end(address string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.since, address)
}

// behindNotice returns the outcome of an email or a webhook that must wait behind an earlier one about the same
// appointment to the same receiver; it returns nil if there is none. This ensures that notices arrive in the order of
// the decisions.
func (ms *Messages) behindNotice(ctx context.Context, op *store.Operation) *outbound.Outcome {
	if op.AppointmentID == "" {
		return nil
	}
	to := receiverOf(op)
	list, pending, err := ms.outbound.Earlier(ctx, op, func(o *store.Operation) bool {
		return !o.Status.Final() && o.Kind == op.Kind && receiverOf(o) == to && !ms.isEndedOffer(ctx, o)
	})
	switch {
	case err != nil:
		return &outbound.Outcome{End: outbound.Deferred, Wait: 10 * time.Second, Detail: op.LastError}
	case !pending && len(list) == 0:
		return nil
	}
	o := &outbound.Outcome{End: outbound.Deferred, Wait: time.Second, Detail: op.LastError}
	if !pending && list[0].Status == store.OperationPending && list[0].NextAttemptAt.After(ms.outbound.Now()) {
		o.At = list[0].NextAttemptAt.Add(time.Second)
	}
	return o
}

// isEndedOffer reports whether an operation waits to send an offer or a proposal that has ended, such as one that the
// patient has accepted. The message will not be sent, so no other message waits behind it. isEndedOffer returns false
// if the offer cannot be read.
func (ms *Messages) isEndedOffer(ctx context.Context, op *store.Operation) bool {
	var p mailPayload
	if op.Status != store.OperationPending || json.Unmarshal(op.Payload, &p) != nil ||
		p.Notice != MailOffer && p.Notice != MailProposal {
		return false
	}
	_, o, err := ms.waitingOf(ctx, op.AppointmentID, p.Notice)
	return err == nil && o.Status != store.OfferOpen
}

// undoableUntil returns the instant until which one of the last changes to these appointments can still be undone. A
// message about an earlier change waits until then: it would state the new time, and no other message would correct it
// after an undo.
func (ms *Messages) undoableUntil(ctx context.Context, list ...store.Appointment) (until time.Time, is bool) {
	now := ms.outbound.Now()
	for i := range list {
		before, err := ms.store.UndoState(ctx, list[i].ID, list[i].Version)
		if err == nil && before.ExpiresAt.After(now) && before.ExpiresAt.After(until) {
			until, is = before.ExpiresAt, true
		}
	}
	return until.Add(time.Second), is
}

// waitsForUndo is the user-facing reason why a message waits.
const waitsForUndo = "the last change can still be undone"

// alreadyReminded is the user-facing reason why a reminder is not sent.
const alreadyReminded = "the patient already got this reminder"

// isReminded reports whether another message like op, about the same appointment, has been sent, or might have been
// sent, since op was due. An appointment that was moved away and back has two reminders for the same time. A recall has
// two messages if the patient's contact data was changed back. isReminded returns false if the deliveries cannot be
// read.
func (ms *Messages) isReminded(ctx context.Context, op *store.Operation, p *mailPayload) bool {
	list, err := ms.store.Deliveries(ctx, op.AppointmentID)
	if err != nil {
		ms.log.Warn("failed to check whether a reminder was sent", "appointment", op.AppointmentID, "error", err)
	}
	return !p.Due.IsZero() && slices.ContainsFunc(list, func(d store.Delivery) bool {
		isSent := d.State == outbound.DeliveryDelivered || d.State == outbound.DeliveryReview
		return d.OperationID != op.ID && d.Channel == booking.ChannelOf(op.Kind) && d.Notice == p.Notice &&
			isSent && !d.UpdatedAt.Before(p.Due)
	})
}

// receiverOf returns a key for a notice's receiver. Notices with the same key wait for each other. A reminder or a
// recall that is waiting for its day must delay only others that are due at the same instant, and emails to the clinic
// and to an old address do not go to the patient. So each of these gets its own key.
func receiverOf(op *store.Operation) string {
	if op.Kind == store.Webhook {
		var p hookPayload
		_ = json.Unmarshal(op.Payload, &p) // an unreadable payload is refused at delivery
		return p.EndpointID
	}
	var p mailPayload
	_ = json.Unmarshal(op.Payload, &p)
	if (p.Notice == mailReminder || p.Notice == mailRecall) && !p.Due.IsZero() {
		return p.Notice + p.Due.UTC().Format(time.RFC3339Nano)
	}
	if p.Notice == mailReminder || toStaff(p.Notice) || p.Notice == mailOldAddress {
		return p.Notice + op.ID
	}
	return ""
}
