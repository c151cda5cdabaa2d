package postgres

import (
	"cmp"
	"context"
	"errors"
	"math"
	"sort"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"holdfast/holds"
	"holdfast/holds/node"
)

// attend changes the presence of one specialist and reports whether the call changed anything.
func (b *Backend) attend(ctx context.Context, specialistID, what string, max int) (bool, error) {
	var changed int
	if err := b.change(ctx, `SELECT holds_attend($1, $2, $3)`, []any{specialistID, what, small(max)},
		&changed); err != nil {
		return false, err
	}
	switch changed {
	case -1:
		return false, holds.ErrDeactivated
	case -2:
		return false, holds.ErrOffline
	}
	return changed == 1, nil
}

// small clamps a number to the range of the integer columns. No real number of sessions is outside that range.
func small(n int) int { return max(math.MinInt32, min(n, math.MaxInt32)) }

// Online implements holds.Presence.
func (b *Backend) Online(ctx context.Context, specialistID string, max int) (bool, error) {
	return b.attend(ctx, specialistID, "online", max)
}

// Offline implements holds.Presence.
func (b *Backend) Offline(ctx context.Context, specialistID string) (bool, error) {
	return b.attend(ctx, specialistID, "offline", 0)
}

// OfflineUnheard implements holds.Presence.
func (b *Backend) OfflineUnheard(ctx context.Context, specialistID string, staleAfter time.Duration) (bool, error) {
	return b.attend(ctx, specialistID, "unheard", int(node.Milliseconds(staleAfter)))
}

// Deactivate implements holds.Presence.
func (b *Backend) Deactivate(ctx context.Context, specialistID string) (bool, error) {
	return b.attend(ctx, specialistID, "deactivate", 0)
}

// Activate implements holds.Presence.
func (b *Backend) Activate(ctx context.Context, specialistID string) (bool, error) {
	return b.attend(ctx, specialistID, "activate", 0)
}

// Beat implements holds.Presence. It updates one unlogged row and never touches the durable tables.
func (b *Backend) Beat(ctx context.Context, specialistID string) error {
	_, err := b.attend(ctx, specialistID, "beat", 0)
	return err
}

// SetMax implements holds.Presence.
func (b *Backend) SetMax(ctx context.Context, specialistID string, max int) error {
	_, err := b.attend(ctx, specialistID, "capacity", max)
	return err
}

// Load implements holds.Presence.
func (b *Backend) Load(ctx context.Context, specialistID string, delta int) (n int, err error) {
	err = b.change(ctx, `SELECT holds_load($1, $2)`, []any{specialistID, small(delta)}, &n)
	return n, err
}

// SetLoads implements holds.Presence.
func (b *Backend) SetLoads(ctx context.Context, loads map[string]int) error {
	ids, numbers := make([]string, 0, len(loads)), make([]int, 0, len(loads))
	for id, load := range loads {
		ids, numbers = append(ids, id), append(numbers, small(load))
	}
	return b.change(ctx, `SELECT holds_loads($1::text[], $2) IS NULL`, []any{ids, numbers}, new(bool))
}

// whole lists the holds_presence columns that form a holds.Present.
const whole = `SELECT specialist_id, online AND NOT deactivated, deactivated, heartbeat_at, load, capacity FROM holds_presence `

// Present implements holds.Presence.
func (b *Backend) Present(ctx context.Context, specialistID string) (holds.Present, error) {
	p := holds.Present{SpecialistID: specialistID}
	var at int64
	err := b.read(ctx, whole+`WHERE specialist_id = $1`, []any{specialistID}, &p.SpecialistID, &p.Online,
		&p.Deactivated, &at, &p.Load, &p.Max)
	if errors.Is(err, errNoRow) {
		err = nil
	}
	p.HeartbeatAt = node.Instant(at)
	return p, err
}

// Available implements holds.Presence.
func (b *Backend) Available(ctx context.Context, staleAfter time.Duration, limit int) ([]holds.Present, error) {
	list, err := b.present(ctx, whole+available, node.Milliseconds(staleAfter))
	sort.Slice(list, func(i, j int) bool {
		x, y := &list[i], &list[j]
		return cmp.Or(x.Load-y.Load, strings.Compare(x.SpecialistID, y.SpecialistID)) < 0
	})
	if limit > 0 && limit < len(list) {
		list = list[:limit]
	}
	return list, err
}

const available = `WHERE online AND NOT deactivated AND load < capacity AND ($1 = 0 OR heartbeat_at > (SELECT holds_clock()) - $1::bigint)`

// Everyone implements holds.Presence.
func (b *Backend) Everyone(ctx context.Context) ([]holds.Present, error) {
	return b.present(ctx, whole+`WHERE online AND NOT deactivated ORDER BY specialist_id`)
}

// Count implements holds.Presence.
func (b *Backend) Count(ctx context.Context, staleAfter time.Duration) (n int, err error) {
	err = b.read(ctx, `SELECT count(*) FROM holds_presence `+available, []any{node.Milliseconds(staleAfter)}, &n)
	return n, err
}

// present reads the rows returned by a query.
func (b *Backend) present(ctx context.Context, text string, args ...any) ([]holds.Present, error) {
	if b.closed.Load() {
		return nil, holds.ErrClosed
	}
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	var list []holds.Present
	err := b.with(ctx, func(pg *pgconn.PgConn) error {
		return ask(ctx, pg, text, args, func(values [][]byte) error {
			var p holds.Present
			var at int64
			err := read(values, []any{&p.SpecialistID, &p.Online, &p.Deactivated, &at, &p.Load, &p.Max})
			p.HeartbeatAt = node.Instant(at)
			list = append(list, p)
			return err
		})
	})
	return list, err
}

// Seed implements holds.Presence.
func (b *Backend) Seed(ctx context.Context, all []holds.Present) error {
	return b.change(ctx, seedText, seedArgs(all), new(bool))
}

const (
	seedText     = `SELECT holds_seed($1::text[], $2, $3, $4, $5, $6) IS NULL`
	rememberText = `SELECT holds_remember($1::text[], $2, $3, $4, $5, $6) IS NULL`
)

func seedArgs(all []holds.Present) []any {
	n := len(all)
	ids, online, deactivated := make([]string, n), make([]bool, n), make([]bool, n)
	heartbeats, loads, capacities := make([]int64, n), make([]int, n), make([]int, n)
	for i := range all {
		p := &all[i]
		ids[i], online[i], deactivated[i], heartbeats[i], loads[i], capacities[i] =
			p.SpecialistID, p.Online, p.Deactivated, node.Unix(p.HeartbeatAt), small(p.Load), small(p.Max)
	}
	return []any{ids, online, deactivated, heartbeats, loads, capacities}
}
