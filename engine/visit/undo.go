package visit

import (
	"context"
	"slices"
	"sort"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/booking"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// undoing is one appointment, and what it was before the change that is taken back.
type undoing struct {
	is  store.Appointment
	was booking.Undone
}

// Undo takes back the last change of an appointment and of all of its visit that were changed with it, all or none. One that was
// changed alone is taken back alone. It answers the appointment that is named.
//
// Errors: those of booking.Undo.
func (v *Visits) Undo(ctx context.Context, r booking.UndoRequest) (store.Appointment, error) {
	named, err := v.booking.Appointment(ctx, r.ID)
	if err != nil {
		return named, err
	}
	if r.Version != 0 && r.Version != named.Version {
		return named, store.ErrVersion
	}
	list, err := v.together(ctx, &named, r.Actor)
	if err != nil {
		return named, err
	}
	if len(list) < 2 {
		return v.booking.Undo(ctx, r)
	}
	h, err := v.claimAgain(ctx, list)
	if err != nil {
		return named, err
	}
	at := now()
	all := make([]changed, len(list))
	err = v.store.Write(ctx, func(tx store.Tx) error {
		for i := range list {
			was := &list[i].was
			t := v.clinic.Current().Types[was.AppointmentTypeID]
			rooms := (&slot{types: []*store.AppointmentType{t}}).resourcesOf(0, h.Resources)
			all[i] = changed{list[i].is, list[i].is}
			if err := v.booking.TakeBack(ctx, tx, &all[i].after, was, availability.SpanOf(t, was.SpecialistID, was.SlotStartDate), rooms, at); err != nil {
				return err
			}
		}
		back, _, err := v.commit(ctx, tx, booking.Change{Kind: booking.ChangeUndone, Actor: r.Actor, Silent: true, At: at}, inTurn(all))
		if err != nil {
			return err
		}
		named = back[slices.IndexFunc(back, func(a store.Appointment) bool { return a.ID == r.ID })]
		return r.Once.Remember(ctx, tx, named, at)
	})
	if err != nil {
		v.letGo(ctx, &h, false, err)
		return named, err
	}
	v.booking.Confirm(ctx, h, named)
	return named, nil
}

// together lists those that were changed with an appointment, itself among them, by their old start. booking.ErrUndoLate if one of them
// was changed since: half a visit is not taken back.
func (v *Visits) together(ctx context.Context, named *store.Appointment, actor record.Actor) ([]undoing, error) {
	first, err := v.booking.LastChange(ctx, named, actor)
	if err != nil || first.VisitID == "" {
		return nil, err
	}
	ids, err := v.booking.ChangedWith(ctx, &first, actor)
	if err != nil {
		return nil, err
	}
	var list []undoing
	for _, id := range ids {
		a, err := v.store.Appointment(ctx, id)
		if err != nil {
			return nil, err
		}
		was, err := v.booking.LastChange(ctx, &a, actor)
		if err != nil {
			return nil, err
		}
		if !was.At.Equal(first.At) || was.Action != first.Action {
			return nil, booking.ErrUndoLate
		}
		list = append(list, undoing{a, was})
	}
	sort.Slice(list, func(i, j int) bool { return list[i].was.SlotStartDate.Before(list[j].was.SlotStartDate) })
	return list, nil
}

// claimAgain takes back the time that they had, by one hold.
func (v *Visits) claimAgain(ctx context.Context, list []undoing) (holds.Hold, error) {
	s := v.clinic.Current()
	ids, rule := make([]string, len(list)), rules{true, make(map[string]bool)}
	for i := range list {
		ids[i], rule.moving[list[i].is.ID] = list[i].was.AppointmentTypeID, true
	}
	w, err := slotOfAny(s, ids)
	if err != nil {
		return holds.Hold{}, err
	}
	first, last := &list[0].was, &list[len(list)-1].was
	// One that was cancelled alone before has left a gap, so the time is as long as it was and not as long as the types are.
	stretched := *w.AppointmentType
	stretched.DurationMinutes = int(last.SlotEndDate.Sub(first.SlotStartDate) / time.Minute)
	k, found, err := v.free(ctx, s, &slot{&stretched, w.types, w.at}, first.SpecialistID, first.SlotStartDate, &rule)
	if err != nil {
		return holds.Hold{}, err
	}
	var times []holds.Span
	for i := range list {
		was := &list[i].was
		times = append(times, was.Times(availability.SpanOf(w.types[i], was.SpecialistID, was.SlotStartDate))...)
	}
	defer v.booking.BeforeUndo(ctx, times...)()
	return v.claimPinned(ctx, k, &found, first.SlotStartDate, record.NewOwner(), false)
}
