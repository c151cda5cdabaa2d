package booking

import (
	"context"
	"time"

	"holdfast/holds"
	"holdfast/store"
)

// Hooks are functions of higher-level packages, called when an appointment changes. All of them are required.
type Hooks struct {
	// MarkUpstream sets the upstream state of after if the change must be sent to the practice-management system.
	// before is nil for a new appointment.
	MarkUpstream func(before, after *store.Appointment, kind string)
	// Operations returns the outbound operations that the change requires. Record writes them in the change's
	// transaction.
	Operations func(c *Change) []Promise
	// Withdraw removes, within a transaction, the operations required by the change that was made to an appointment at
	// the given instant. It returns false if one of them has already been sent. With unsent, it also returns false if
	// the outbox contains no other operation that writes the appointment to the practice-management system as it was
	// before that change. If Withdraw returns false, the caller must roll the transaction back.
	Withdraw func(ctx context.Context, tx store.Tx, appointmentID string, at time.Time, unsent bool) (bool, error)
	// Enqueue passes committed operations to the queue. It does not block.
	Enqueue func(calls ...Promise)
	// BeforeUndo runs before an undo reclaims these times for specialists and rooms. It withdraws waiting-list offers
	// for them that have not been emailed yet, and prevents new offers until the caller calls done.
	BeforeUndo func(ctx context.Context, times ...holds.Span) (done func())
}

// MarkUpstream calls the hook of the same name, for packages that change several appointments in one transaction.
func (bk *Booking) MarkUpstream(before, after *store.Appointment, kind string) {
	bk.hooks.MarkUpstream(before, after, kind)
}

// Enqueue passes committed operations to the queue. It does not block.
func (bk *Booking) Enqueue(calls ...Promise) { bk.hooks.Enqueue(calls...) }

// BeforeUndo calls the hook of the same name, for packages that undo changes to several appointments.
func (bk *Booking) BeforeUndo(ctx context.Context, times ...holds.Span) (done func()) {
	return bk.hooks.BeforeUndo(ctx, times...)
}
