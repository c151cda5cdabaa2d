package practice

import (
	"context"
	"time"

	"holdfast/store"
)

// # After startup
//
// The queue and the outbox show what the previous process was doing. Package outbound calls these functions before its
// first delivery.

// RememberLastWrite makes the pacer resume after the last write that an earlier process or another node could have
// sent.
func (pr *Practice) RememberLastWrite(ctx context.Context, now time.Time) error {
	if !pr.IsConnected() {
		return nil
	}
	var last time.Time
	at := func(t time.Time) {
		if t.After(last) {
			last = t
		}
	}
	recent := now.Add(-pr.Options.AgentBound - 2*pr.Options.Pacer.Spacing())
	entries, _, err := pr.store.Audit(ctx, store.AuditFilter{From: recent, Action: "appointment.upstream.", Limit: 500})
	if err != nil {
		return err
	}
	for _, entry := range entries {
		at(entry.At)
	}
	err = pr.outbound.EachPending(ctx, func(op store.Operation) error {
		at(op.AttemptedAt)
		return nil
	})
	if err != nil {
		return err
	}
	for op, err := range store.AllOutbox(ctx, pr.store) {
		if err != nil {
			return err
		}
		if op.Unknown && op.CreatedAt.Before(pr.outbound.Started()) {
			at(op.CreatedAt.Add(pr.Options.AgentBound))
		}
	}
	pr.Options.Pacer.Restart(last)
	return nil
}

// forgotten changes an operation whose copy in the queue was lost: either of its writes may have been sent.
func forgotten(op *store.Operation) {
	if p := payloadOf(op); !op.Status.Final() && !p.isBlank() {
		p.Step, p.Doubt = stepForgotten, true
		op.Unknown, op.Payload = true, p.json()
	}
}

// interrupted changes an operation whose attempt was cut short by the end of its process: the outcome is unknown, so
// the operation waits for the quarantine.
func (pr *Practice) interrupted(op *store.Operation) {
	op.NextAttemptAt = op.AttemptedAt.Add(pr.outbound.Options.Limits.Quarantine)
	if p := payloadOf(op); p.Step != "" {
		p.Doubt = true
		op.Payload = p.json()
	}
}
