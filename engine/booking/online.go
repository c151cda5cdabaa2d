package booking

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"holdfast/store"
)

// OnlineChange is a booking, a move or a cancellation made by a patient, an agent, another program or the server, not
// by staff.
type OnlineChange struct {
	ID          string // id of the audit entry, or of the appointment if Kind is ChangeCreated
	Kind        string // ChangeCreated, ChangeRescheduled or ChangeCancelled
	At          time.Time
	Appointment store.Appointment // in its current state
	From        Gap               // the time that a move or a cancellation freed
}

// Gap is a time at which a specialist has become free.
type Gap struct {
	SpecialistID       string
	SlotStart, SlotEnd time.Time
}

// maxOnlineScan is the maximum number of audit entries per action that OnlineChanges reads.
const maxOnlineScan = 500

// OnlineChanges lists the online bookings, moves and cancellations since an instant, newest first, for one specialist
// or, if none is named, for all. It leaves out cancellations that were undone.
func (bk *Booking) OnlineChanges(
	ctx context.Context, since time.Time, specialistID string, limit int,
) ([]OnlineChange, error) {
	booked, err := bk.store.BookedOnline(ctx, since, specialistID, limit)
	if err != nil {
		return nil, err
	}
	var all []OnlineChange
	for i := range booked {
		all = append(all, OnlineChange{booked[i].ID, ChangeCreated, booked[i].CreatedAt, booked[i], Gap{}})
	}
	for _, kind := range []string{ChangeRescheduled, ChangeCancelled} {
		some, err := bk.changedOnline(ctx, kind, since, specialistID, limit)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	slices.SortStableFunc(all, func(a, b OnlineChange) int {
		return cmp.Or(b.At.Compare(a.At), strings.Compare(b.ID, a.ID))
	})
	return all[:min(limit, len(all))], nil
}

// changedOnline returns the changes of one kind, read from the audit log.
func (bk *Booking) changedOnline(
	ctx context.Context, kind string, since time.Time, specialistID string, limit int,
) (all []OnlineChange, err error) {
	entries, _, err := bk.store.Audit(ctx, store.AuditFilter{
		From: since, Action: "appointment." + kind, Limit: maxOnlineScan,
	})
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		var before appointmentAudit
		// An erasure deletes the old state. The desk cannot act on such an entry.
		if strings.HasPrefix(e.Actor, "user:") || e.Before == nil || json.Unmarshal(e.Before, &before) != nil {
			continue
		}
		a, err := bk.store.Appointment(ctx, strings.TrimPrefix(e.Subject, "appointment:"))
		if err != nil {
			return nil, err
		}
		if kind == ChangeCancelled && a.Status != store.Cancelled ||
			specialistID != "" && specialistID != a.SpecialistID && specialistID != before.SpecialistID {
			continue
		}
		from := Gap{before.SpecialistID, before.SlotStartDate, before.SlotEndDate}
		if all = append(all, OnlineChange{e.ID, kind, e.At, a, from}); len(all) == limit {
			break
		}
	}
	return all, nil
}
