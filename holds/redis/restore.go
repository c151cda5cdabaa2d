package redis

import (
	"context"
	"strconv"
	"time"

	"holdfast/holds"
	"holdfast/holds/node"
)

var _ holds.Restorer = (*Backend)(nil)

// RestorePresent implements holds.Restorer.
func (b *Backend) RestorePresent(ctx context.Context, p holds.Present) error {
	keys := []string{onlineKey, deactivatedKey, "specialist:capacity:" + p.SpecialistID, "specialist:heartbeat:" +
		p.SpecialistID}
	_, err := b.change(ctx, presentAgainScript, keys, p.SpecialistID, p.Online, p.Deactivated, node.Unix(p.HeartbeatAt),
		p.Max)
	return err
}

// Restore implements holds.Restorer. The hold keeps its id. The remaining time is computed on this node's clock, which
// has to agree with Redis's clock as closely as the nodes' clocks agree with each other.
func (b *Backend) Restore(ctx context.Context, r holds.Remains) (holds.Hold, error) {
	return b.restore(ctx, b.under(), r)
}

func (b *Backend) restore(ctx context.Context, under string, r holds.Remains) (holds.Hold, error) {
	if err := plain(append(r.Resources.List(), r.ID, r.AppointmentTypeID, r.SpecialistID)...); err != nil {
		return holds.Hold{}, err
	}
	key := holdKey(&r.Span)
	if r.Seat > 0 {
		key += ":" + strconv.Itoa(r.Seat)
	}
	pinned := int64(0)
	if r.Pinned {
		pinned = max(1, node.Milliseconds(time.Until(r.ExpiresAt)))
	}
	reply, err := b.changeUnder(ctx, under, restoreScript, []string{"specialist:" +
		r.SpecialistID + ":holds", "hold-id:" + r.ID, key},
		r.ID, r.Owner.String(), r.AppointmentTypeID, r.SpecialistID, r.SlotStart.UnixMilli(), r.SlotEnd.UnixMilli(),
		r.BusyStart.UnixMilli(), r.BusyEnd.UnixMilli(), r.Seat, node.Milliseconds(time.Until(r.LapsesAt)), pinned,
		node.Milliseconds(time.Until(r.MaxExpiresAt)), node.Milliseconds(r.Life), r.Restarts, newCall(),
		b.booked != nil, string(r.Resources))
	if err != nil {
		return holds.Hold{}, err
	}
	if text(reply, 0) == "held" {
		return holds.Hold{}, &holds.HeldError{Until: node.Instant(number(reply, 1))}
	}
	return b.answered(reply)
}
