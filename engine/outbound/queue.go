package outbound

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/record"
	"holdfast/store"
)

// # The queue for people
//
// A person can have a waiting operation attempted immediately, retry a failed one, decide about one with an unknown
// outcome, and give up on any operation that is not being attempted. Giving up ends only the operation, never the
// appointment.

// QueueFilter selects the operations that Status lists. The zero value selects all states.
type QueueFilter struct {
	Status store.OperationStatus
	Kinds  []store.OperationKind // if empty, all kinds
	After  string                // id of the last operation already seen; requires Status
	Limit  int                   // 1..500; 0 means 100
	Names  bool                  // list the patients' names too
	By     string                // only operations that result from this API key's calls; if empty, all
}

// QueueStatus counts the queue's operations by state and lists them.
type QueueStatus struct {
	store.OperationCounts                   // Pending excludes Scheduled
	Scheduled             int               // emails for a later instant, such as reminders; not listed
	Operations            []QueuedOperation // attempts in progress first, then failed, waiting and completed operations
}

// QueuedOperation is one operation for display.
type QueuedOperation struct {
	store.Operation
	NextRetryAt time.Time // zero unless it waits
	ChildName   string    // the name of the child or patient; empty unless names were requested
}

// Status counts the operations and lists the first ones. It counts operations that are scheduled for later separately.
func (out *Outbound) Status(ctx context.Context, f QueueFilter) (QueueStatus, error) {
	if out.Queue == nil {
		return QueueStatus{}, nil
	}
	if f.By != "" {
		return out.ownQueueStatus(ctx, f)
	}
	var s QueueStatus
	var err error
	if s.OperationCounts, err = out.Queue.Counts(ctx, f.Kinds...); err != nil {
		return s, err
	}
	now := out.Now()
	if len(f.Kinds) == 0 || slices.ContainsFunc(f.Kinds, store.OperationKind.IsMessage) {
		if s.Scheduled, err = out.Queue.Scheduled(ctx, now, f.Kinds...); err != nil {
			return s, err
		}
		s.Pending = max(0, s.Pending-s.Scheduled)
	}
	states := shownStates
	if f.Status != "" {
		states = []store.OperationStatus{f.Status}
	} else {
		f.After = ""
	}
	limit := min(f.Limit, 500)
	if limit <= 0 {
		limit = 100
	}
	for _, status := range states {
		if len(s.Operations) >= limit {
			break
		}
		selected := store.OperationFilter{Status: status, Kinds: f.Kinds, After: f.After,
			Limit: limit - len(s.Operations)}
		if status == store.OperationPending {
			selected.Due = now
		}
		list, err := out.Queue.Operations(ctx, selected)
		if err != nil {
			return s, err
		}
		for _, op := range list {
			s.Operations = append(s.Operations, out.queued(ctx, op, f.Names))
		}
	}
	return s, nil
}

// shownStates are the states of operations, in the order in which QueueStatus lists them.
var shownStates = []store.OperationStatus{store.OperationProcessing, store.OperationFailed, store.OperationPending,
	store.OperationCompleted}

// ownQueueStatus counts and lists the operations that result from one API key's calls. It has to read the operations to
// count them; Status without By does not. It reads them once, by id: if it read one state after the other, it would
// count an operation twice, or not at all, that changes its state in between.
func (out *Outbound) ownQueueStatus(ctx context.Context, f QueueFilter) (s QueueStatus, err error) {
	limit := min(cmp.Or(f.Limit, 100), 500)
	count := map[store.OperationStatus]*int{store.OperationProcessing: &s.Processing, store.OperationFailed: &s.Failed,
		store.OperationPending: &s.Pending, store.OperationCompleted: &s.Completed}
	listed := map[store.OperationStatus][]store.Operation{}
	for after := ""; ; {
		list, err := out.Queue.Operations(ctx, store.OperationFilter{After: after, Limit: 500})
		if err != nil {
			return s, err
		}
		for i := range list {
			op := &list[i]
			after = op.ID
			if decidedBy(op) != f.By || len(f.Kinds) > 0 && !slices.Contains(f.Kinds, op.Kind) {
				continue
			}
			if n := count[op.Status]; n != nil {
				*n++
			}
			if len(listed[op.Status]) < limit && (f.Status == "" || f.Status == op.Status && op.ID > f.After) {
				listed[op.Status] = append(listed[op.Status], *op)
			}
		}
		if len(list) < 500 {
			break
		}
	}
	for _, status := range shownStates {
		for _, op := range listed[status][:min(len(listed[status]), limit-len(s.Operations))] {
			s.Operations = append(s.Operations, out.queued(ctx, op, f.Names))
		}
	}
	return s, nil
}

// decidedBy returns the API key of the caller whose decision led to an operation, or an empty string if it was not an
// API key.
func decidedBy(op *store.Operation) string {
	var p struct {
		By string `json:"by"`
	}
	_ = json.Unmarshal(op.Payload, &p) // an unreadable payload was blanked
	return p.By
}

// queued converts an operation for display.
func (out *Outbound) queued(ctx context.Context, op store.Operation, names bool) QueuedOperation {
	q := QueuedOperation{Operation: op}
	if op.Status == store.OperationPending {
		q.NextRetryAt = op.NextAttemptAt
		if l := out.laneOf(op.Kind); l != nil && l.rest.Until().After(q.NextRetryAt) {
			q.NextRetryAt = l.rest.Until()
		}
	}
	if names && op.AppointmentID != "" {
		if a, err := out.store.Appointment(ctx, op.AppointmentID); err == nil {
			if q.ChildName = ChildOf(a.Patient.Notes); q.ChildName == "" || a.Source != store.SourceAgent {
				q.ChildName = a.Patient.Name
			}
		}
	}
	return q
}

// EachSince calls do with every operation created at or after since, by id.
func (out *Outbound) EachSince(ctx context.Context, since time.Time, do func(QueuedOperation)) error {
	if out.Queue == nil {
		return nil
	}
	const page = 500
	for after := sinceID(since); ; {
		list, err := out.Queue.Operations(ctx, store.OperationFilter{After: after, Limit: page})
		if err != nil {
			return err
		}
		for _, op := range list {
			after = op.ID
			do(out.queued(ctx, op, false))
		}
		if len(list) < page {
			return nil
		}
	}
}

// Operation returns one operation for display. Error: store.ErrNotFound.
func (out *Outbound) Operation(ctx context.Context, id string, names bool) (QueuedOperation, error) {
	if out.Queue == nil || !record.ValidID(id) {
		return QueuedOperation{}, store.ErrNotFound
	}
	op, err := out.Queue.Operation(ctx, id)
	if err != nil {
		return QueuedOperation{}, err
	}
	return out.queued(ctx, op, names), nil
}

// Retry retries a failed operation from the beginning, or a waiting one immediately. It resends a completed webhook
// under the same id. An operation with an unknown outcome still waits for the end of its quarantine. Errors:
// store.ErrNotFound, record.ErrOperationState.
func (out *Outbound) Retry(ctx context.Context, actor record.Actor, id string) error {
	return out.withOperation(ctx, id, func(op store.Operation) error {
		switch {
		case op.NeedsReview:
			return fmt.Errorf("%w: the outcome of the operation is unknown; resolve it with "+
				"review", record.ErrOperationState)
		case op.Status == store.OperationFailed:
			return out.reopen(ctx, actor, op)
		case op.Status == store.OperationCompleted && op.Kind == store.Webhook && len(op.Payload) > 0:
			op.Result = "" // otherwise the lane would consider it delivered
			return out.reopen(ctx, actor, op)
		case op.Status != store.OperationPending:
			return fmt.Errorf("%w: the operation is %s", record.ErrOperationState, op.Status)
		}
		if !op.Unknown {
			op.NextAttemptAt = out.Now()
		}
		switch err := out.Queue.Change(ctx, op, "retried", "by hand"); {
		case anothers(err):
			return fmt.Errorf("%w: the operation is running", record.ErrOperationState)
		case err != nil:
			return err
		}
		out.WakeFor(op.Kind)
		return nil
	})
}

// Decision is a person's decision about an operation that needs review.
type Decision string

const (
	DecisionExists Decision = "exists"  // the operation took effect
	DecisionResend Decision = "resend"  // it did not take effect: send it again
	DecisionGiveUp Decision = "give_up" // end it without another attempt
)

// Review applies a person's decision to an operation that needs review. Errors: store.ErrNotFound,
// record.ErrOperationState, *ValidationError.
func (out *Outbound) Review(ctx context.Context, actor record.Actor, id string, d Decision) error {
	switch d {
	case DecisionExists, DecisionResend, DecisionGiveUp:
	default:
		return record.Invalid("decision", "must be exists, resend or give_up")
	}
	return out.decide(ctx, id, func(op store.Operation) error {
		if !op.NeedsReview {
			return fmt.Errorf("%w: the operation needs no review", record.ErrOperationState)
		}
		switch d {
		case DecisionResend:
			return out.reopen(ctx, actor, op)
		case DecisionGiveUp:
			return out.giveUp(ctx, actor, op)
		}
		delivered := ended{op, Outcome{End: Delivered, Result: out.nameOf(ctx, &op)}}
		_, changes, err := out.conclude(ctx, []ended{delivered},
			func(tx store.Tx) error {
				return record.Audit(ctx, tx, out.Now(), actor, record.ActionOperationExists, "operation:"+op.ID, "",
					nil,
					map[string]string{"kind": string(op.Kind)})
			})
		for _, c := range changes {
			out.Enqueue(c.Calls...)
		}
		return err
	})
}

// decide runs a person's decision about an operation. If the operation needed review, it then resumes the operations
// that waited for the decision.
func (out *Outbound) decide(ctx context.Context, id string, decision func(store.Operation) error) error {
	var before store.Operation
	err := out.withOperation(ctx, id, func(op store.Operation) error {
		before = op
		return decision(op)
	})
	if err == nil && before.NeedsReview {
		out.resumeLater(ctx, &before)
	}
	return err
}

// resumeLater makes the upstream operations of an appointment due that wait for a person's decision about op. Without
// it, they would wait until their next check, which can be after their deadline.
func (out *Outbound) resumeLater(ctx context.Context, op *store.Operation) {
	if booking.ChannelOf(op.Kind) != "upstream" {
		return
	}
	list, err := out.Queue.Operations(ctx, store.OperationFilter{AppointmentID: op.AppointmentID,
		Status: store.OperationPending, Limit: 500})
	if err != nil {
		return // as after any failure here, the operations are checked again within 5 minutes
	}
	for i := range list {
		if booking.ChannelOf(list[i].Kind) != "upstream" {
			continue
		}
		_ = out.withOperation(ctx, list[i].ID, func(later store.Operation) error {
			now := out.Now()
			if later.Status != store.OperationPending || later.Unknown || !later.NextAttemptAt.After(now) {
				return nil
			}
			later.NextAttemptAt = now
			return out.Queue.Change(ctx, later, "changed", "a person decided about an earlier operation")
		})
	}
}

// nameOf returns the remote id of an operation that took effect, as found by a person.
func (out *Outbound) nameOf(ctx context.Context, op *store.Operation) string {
	if find := out.delivery(op.Kind).Find; find != nil {
		return find(ctx, op)
	}
	return DoneWithoutName
}

// GivenUp is the user-facing reason why an operation ended that a person gave up.
const GivenUp = "given up by hand"

// GiveUp ends an operation that is not being attempted, without carrying it out. The appointment remains. Errors:
// store.ErrNotFound, record.ErrOperationState.
func (out *Outbound) GiveUp(ctx context.Context, actor record.Actor, id string) error {
	return out.decide(ctx, id, func(op store.Operation) error { return out.giveUp(ctx, actor, op) })
}

func (out *Outbound) giveUp(ctx context.Context, actor record.Actor, op store.Operation) error {
	if op.Status == store.OperationProcessing {
		return fmt.Errorf("%w: the operation is running", record.ErrOperationState)
	}
	if op.Status != store.OperationCompleted {
		now, c := out.Now(), (*booking.Change)(nil)
		op.Status, op.NeedsReview, op.LastError = store.OperationFailed, false, GivenUp
		err := out.store.Write(ctx, func(tx store.Tx) error {
			var err error
			if err = tx.Fulfil(ctx, op.ID); err != nil {
				return err
			}
			if err = PutDelivery(ctx, tx, &op, DeliveryFailed, now); err != nil {
				return err
			}
			if err = record.Audit(ctx, tx, now, actor, record.ActionOperationGivenUp, "operation:"+op.ID, "", nil,
				map[string]string{"kind": string(op.Kind)}); err != nil {
				return err
			}
			ended := out.delivery(op.Kind).Ended
			if c = nil; ended == nil {
				return nil
			}
			if c, err = ended(ctx, tx, &op); err != nil || c == nil {
				return err
			}
			c.At, c.Silent = now, true
			return out.booking.Record(ctx, tx, c)
		})
		if err != nil {
			return err
		}
		if c != nil {
			out.Enqueue(c.Calls...)
		}
	}
	return out.Queue.Remove(context.WithoutCancel(ctx), op.ID)
}

// reopen makes a failed operation pending, as if it were new.
func (out *Outbound) reopen(ctx context.Context, actor record.Actor, op store.Operation) error {
	now, c := out.Now(), (*booking.Change)(nil)
	op.Status, op.NeedsReview, op.Unknown, op.Attempts, op.Lookups = store.OperationPending, false, false, 0, 0
	op.NextAttemptAt, op.FinishedAt, op.MaxAttempts = now, time.Time{}, out.Options.Limits.MaxAttempts
	if IsTooLate(&op, now) {
		op.Deadline = time.Time{} // a person has decided to retry it anyway
	}
	err := out.store.Write(ctx, func(tx store.Tx) error {
		c = nil
		if err := errors.Join(tx.Fulfil(ctx, op.ID), tx.Promise(ctx, op),
			PutDelivery(ctx, tx, &op, booking.DeliveryQueued, now)); err != nil {
			return err
		}
		err := record.Audit(ctx, tx, now, actor, record.ActionOperationRetried, "operation:"+op.ID, "", nil,
			map[string]string{"kind": string(op.Kind)})
		reopened := out.delivery(op.Kind).Reopened
		if err != nil || reopened == nil {
			return err
		}
		if c, err = reopened(ctx, tx, &op, actor, now); err != nil || c == nil {
			return err
		}
		return out.booking.Record(ctx, tx, c)
	})
	if err != nil {
		return err
	}
	if c != nil {
		out.Enqueue(c.Calls...)
	}
	out.WakeFor(op.Kind)
	out.keep(ctx, op, "retried", op.LastError)
	return nil
}

// withOperation carries out a person's decision about an operation and keeps the lanes from touching it in the
// meantime.
func (out *Outbound) withOperation(ctx context.Context, id string, decide func(store.Operation) error) error {
	if out.Queue == nil || !record.ValidID(id) {
		return store.ErrNotFound
	}
	if !out.Outbox.claimAlone(id) {
		return fmt.Errorf("%w: the operation is running", record.ErrOperationState)
	}
	defer func() {
		out.Outbox.Release(id)
		out.ringLanes()
	}()
	if u := out.unsaved.get(id); u != nil { // a person decides about the outcome, not about the attempt before it
		if err := out.saveOutcome(ctx, u); err != nil {
			return err
		}
	}
	op, err := out.Queue.Operation(ctx, id)
	if err != nil {
		return err
	}
	return decide(op)
}

// ChildOf returns the child's name from a note that begins with "child:", or an empty string.
func ChildOf(note string) string {
	if len(note) < 6 || !strings.EqualFold(note[:6], "child:") {
		return ""
	}
	name, _, _ := strings.Cut(note[6:], "|")
	return strings.TrimSpace(name)
}
