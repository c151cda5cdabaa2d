package redis

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"holdfast/holds"
	"holdfast/holds/node"
)

// Select implements holds.Selections.
func (b *Backend) Select(ctx context.Context, owner holds.Owner, s holds.Span) (holds.Selection, error) {
	return b.selectFor(ctx, b.under(), owner, s, holds.SelectionTTL)
}

// RestoreSelection implements holds.Restorer.
func (b *Backend) RestoreSelection(ctx context.Context, s holds.Selection) error {
	_, err := b.selectFor(ctx, b.under(), s.Owner, s.Span, max(time.Millisecond, time.Until(s.ExpiresAt)))
	return err
}

func (b *Backend) selectFor(ctx context.Context, under string, owner holds.Owner, s holds.Span,
	ttl time.Duration) (holds.Selection, error) {
	if err := plain(s.AppointmentTypeID, s.SpecialistID); err != nil {
		return holds.Selection{}, err
	}
	at := s.SlotStart.UTC()
	keys := []string{
		"client:" + owner.String() + ":selection",
		"selection:" + at.Format(time.DateOnly) + ":" + s.SpecialistID + ":" + at.Format("15:04"),
	}
	reply, err := b.changeUnder(ctx, under, selectScript, keys, owner.String(), s.AppointmentTypeID, s.SpecialistID,
		s.SlotStart.UnixMilli(),
		s.SlotEnd.UnixMilli(), s.BusyStart.UnixMilli(), s.BusyEnd.UnixMilli(), node.Milliseconds(ttl))
	if err != nil {
		return holds.Selection{}, err
	}
	return b.selection(text(reply, 0), number(reply, 1))
}

// selection reads one selection from a reply.
func (b *Backend) selection(text string, deadline int64) (holds.Selection, error) {
	x, err := node.ReadSelection(text, deadline)
	return x, b.translate(err)
}

// Deselect implements holds.Selections.
func (b *Backend) Deselect(ctx context.Context, owner holds.Owner) (bool, error) {
	return b.deselect(ctx, owner, "deselect")
}

// Renew implements holds.Selections.
func (b *Backend) Renew(ctx context.Context, owner holds.Owner) (bool, error) {
	return b.deselect(ctx, owner, "renew")
}

func (b *Backend) deselect(ctx context.Context, owner holds.Owner, how string) (bool, error) {
	keys := []string{"client:" + owner.String() + ":selection"}
	reply, err := b.change(ctx, deselectScript, keys, how, node.Milliseconds(holds.SelectionTTL))
	return number(reply, 0) == 1, err
}

// Selected implements holds.Selections.
func (b *Backend) Selected(ctx context.Context, from, to time.Time,
	specialistIDs ...string) ([]holds.Selection, error) {
	reply, err := b.run(ctx, selectedScript, keysOf(specialistIDs, "specialist:", ":selections", selectionsKey))
	if err != nil {
		return nil, err
	}
	all, err := b.selections(reply)
	if err != nil {
		return nil, err
	}
	list := slices.DeleteFunc(all, func(x holds.Selection) bool {
		return !x.SlotStart.Before(to) || !from.Before(x.SlotEnd)
	})
	sort.Slice(list, func(i, j int) bool {
		x, y := &list[i], &list[j]
		return cmp.Or(strings.Compare(x.SpecialistID, y.SpecialistID), x.SlotStart.Compare(y.SlotStart)) < 0
	})
	return list, nil
}

// selections reads several selections from a reply, each followed by its deadline.
func (b *Backend) selections(reply []any) (list []holds.Selection, err error) {
	for i := 0; i+1 < len(reply); i += 2 {
		deadline, err := strconv.ParseInt(text(reply, i+1), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%w: a selection's deadline: %w", holds.ErrUnavailable, err)
		}
		x, err := b.selection(text(reply, i), deadline)
		if err != nil {
			return nil, err
		}
		list = append(list, x)
	}
	return list, nil
}
