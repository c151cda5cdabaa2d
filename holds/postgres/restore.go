package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"holdfast/holds"
	"holdfast/holds/node"
)

var _ holds.ManyRestorer = (*Backend)(nil)

// Restore implements holds.Restorer. The hold keeps its id. The remaining time is computed on this node's clock, which
// has to agree with the server's clock as closely as the nodes' clocks agree with each other.
func (b *Backend) Restore(ctx context.Context, r holds.Remains) (holds.Hold, error) {
	pinned := int64(0)
	if r.Pinned {
		pinned = max(1, node.Milliseconds(time.Until(r.ExpiresAt)))
	}
	call := newCall()
	args := append([]any{r.ID, r.Owner.String()}, spanArgs(&r.Span)...)
	args = append(args, r.Seat, node.Milliseconds(time.Until(r.LapsesAt)), pinned,
		node.Milliseconds(time.Until(r.MaxExpiresAt)),
		node.Milliseconds(r.Life), r.Restarts, call, b.booked != nil, r.Resources.List())
	h, err := b.take(ctx,
		`SELECT word, until, COALESCE(hold::text, '') FROM holds_restore($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14,
		$15, $16, $17)`, args)
	if errors.Is(err, holds.ErrUnavailable) {
		if h, last, look := b.readBack(ctx, r.ID, err); look == nil && last == call {
			return h, nil
		}
	}
	return h, err
}

// remains is a hold in the format of holds_restore_all.
type remains struct {
	N          int      `json:"n"`
	ID         string   `json:"made"`
	Owner      string   `json:"own"`
	Type       string   `json:"kind"`
	Specialist string   `json:"whom"`
	SlotStart  int64    `json:"s"`
	SlotEnd    int64    `json:"e"`
	BusyStart  int64    `json:"bs"`
	BusyEnd    int64    `json:"be"`
	Seat       int      `json:"place"`
	Left       int64    `json:"left_"`
	Pinned     int64    `json:"pinned"`
	Maximum    int64    `json:"maximum"`
	Life       int64    `json:"life_"`
	Restarts   int      `json:"again"`
	Resources  []string `json:"also"`
}

// RestoreAll implements holds.ManyRestorer.
func (b *Backend) RestoreAll(ctx context.Context, all []holds.Remains) ([]holds.Restored, error) {
	return b.restoreAll(ctx, all, b.epoch.Load(), aChange)
}

// restoreAll restores holds under an epoch; 0 means none.
func (b *Backend) restoreAll(ctx context.Context, all []holds.Remains, epoch uint64,
	how int) ([]holds.Restored, error) {
	batch := make([]remains, len(all))
	for i := range all {
		r := &all[i]
		batch[i] = remains{
			N: i, ID: r.ID, Owner: r.Owner.String(), Type: r.AppointmentTypeID, Specialist: r.SpecialistID,
			SlotStart: r.SlotStart.UnixMilli(), SlotEnd: r.SlotEnd.UnixMilli(), BusyStart: r.BusyStart.UnixMilli(),
			BusyEnd: r.BusyEnd.UnixMilli(), Seat: r.Seat, Left: node.Milliseconds(time.Until(r.LapsesAt)),
			Maximum: node.Milliseconds(time.Until(r.MaxExpiresAt)), Life: node.Milliseconds(r.Life),
			Restarts: r.Restarts, Resources: r.Resources.List(),
		}
		if r.Pinned {
			batch[i].Pinned = max(1, node.Milliseconds(time.Until(r.ExpiresAt)))
		}
	}
	text, err := json.Marshal(batch)
	if err != nil {
		return nil, err
	}
	if b.closed.Load() {
		return nil, holds.ErrClosed
	}
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	restored := make([]holds.Restored, len(all))
	answers := 0
	query, args := `SELECT n, word, until, hold FROM holds_restore_all($1::json, $2, $3)`,
		[]any{string(text), newCall(), b.booked != nil}
	if epoch != 0 {
		query, args = under(query, args, epoch, how)
	}
	err = b.with(ctx, func(pg *pgconn.PgConn) error {
		return ask(ctx, pg, query, args, func(values [][]byte) error {
			var n int
			var word, hold string
			var until int64
			if err := read(values, []any{&n, &word, &until, &hold}); err != nil {
				return err
			}
			answers++
			if word == "held" {
				restored[n].Err = &holds.HeldError{Until: node.Instant(until)}
				return nil
			}
			restored[n].Hold, restored[n].Err = answered(word, hold)
			return nil
		})
	})
	if err == nil && answers != len(all) {
		err = holds.ErrUnavailable
	}
	return restored, err
}

// RestoreSelection implements holds.Restorer.
func (b *Backend) RestoreSelection(ctx context.Context, s holds.Selection) error {
	_, err := b.selectFor(ctx, s.Owner, s.Span, max(time.Millisecond, time.Until(s.ExpiresAt)))
	return err
}

// RestorePresent implements holds.Restorer.
func (b *Backend) RestorePresent(ctx context.Context, p holds.Present) error {
	return b.change(ctx, `SELECT holds_present_again($1, $2, $3, $4, $5) IS NULL`,
		[]any{p.SpecialistID, p.Online, p.Deactivated, node.Unix(p.HeartbeatAt), small(p.Max)}, new(bool))
}
