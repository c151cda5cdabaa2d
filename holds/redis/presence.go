package redis

import (
	"cmp"
	"context"
	"sort"
	"strings"
	"time"

	"holdfast/holds"
	"holdfast/holds/node"
)

const (
	onlineKey      = "specialists:online"
	deactivatedKey = "specialists:deactivated"
	loadKey        = "specialists:load"
)

// attend changes the presence of one specialist and reports whether the call changed anything.
func (b *Backend) attend(ctx context.Context, specialistID, what string, more int64) (bool, error) {
	keys := []string{onlineKey, deactivatedKey, "specialist:capacity:" + specialistID, "specialist:heartbeat:" +
		specialistID}
	reply, err := b.change(ctx, attendScript, keys, specialistID, what, more)
	if err != nil {
		return false, err
	}
	switch number(reply, 0) {
	case -1:
		return false, holds.ErrDeactivated
	case -2:
		return false, holds.ErrOffline
	}
	return number(reply, 0) == 1, nil
}

// OfflineUnheard implements holds.Presence.
func (b *Backend) OfflineUnheard(ctx context.Context, specialistID string, staleAfter time.Duration) (bool, error) {
	return b.attend(ctx, specialistID, "unheard", node.Milliseconds(staleAfter))
}

// Online implements holds.Presence.
func (b *Backend) Online(ctx context.Context, specialistID string, max int) (bool, error) {
	return b.attend(ctx, specialistID, "online", int64(max))
}

// Offline implements holds.Presence.
func (b *Backend) Offline(ctx context.Context, specialistID string) (bool, error) {
	return b.attend(ctx, specialistID, "offline", 0)
}

// Deactivate implements holds.Presence.
func (b *Backend) Deactivate(ctx context.Context, specialistID string) (bool, error) {
	return b.attend(ctx, specialistID, "deactivate", 0)
}

// Activate implements holds.Presence.
func (b *Backend) Activate(ctx context.Context, specialistID string) (bool, error) {
	return b.attend(ctx, specialistID, "activate", 0)
}

// Beat implements holds.Presence.
func (b *Backend) Beat(ctx context.Context, specialistID string) error {
	_, err := b.attend(ctx, specialistID, "beat", 0)
	return err
}

// SetMax implements holds.Presence.
func (b *Backend) SetMax(ctx context.Context, specialistID string, max int) error {
	_, err := b.attend(ctx, specialistID, "capacity", int64(max))
	return err
}

// Load implements holds.Presence.
func (b *Backend) Load(ctx context.Context, specialistID string, delta int) (int, error) {
	reply, err := b.change(ctx, loadScript, []string{loadKey}, specialistID, delta)
	return int(number(reply, 0)), err
}

// SetLoads implements holds.Presence.
func (b *Backend) SetLoads(ctx context.Context, loads map[string]int) error {
	args := make([]any, 0, 2*len(loads))
	for id, load := range loads {
		args = append(args, id, load)
	}
	_, err := b.change(ctx, loadsScript, []string{loadKey}, args...)
	return err
}

// Present implements holds.Presence.
func (b *Backend) Present(ctx context.Context, specialistID string) (holds.Present, error) {
	list, err := b.present(ctx, "one", specialistID)
	if err != nil || len(list) == 0 {
		return holds.Present{SpecialistID: specialistID}, err
	}
	return list[0], nil
}

// Available implements holds.Presence.
func (b *Backend) Available(ctx context.Context, staleAfter time.Duration, limit int) ([]holds.Present, error) {
	list, err := b.present(ctx, "available", node.Milliseconds(staleAfter))
	sort.Slice(list, func(i, j int) bool {
		x, y := &list[i], &list[j]
		return cmp.Or(x.Load-y.Load, strings.Compare(x.SpecialistID, y.SpecialistID)) < 0
	})
	if limit > 0 && limit < len(list) {
		list = list[:limit]
	}
	return list, err
}

// Everyone implements holds.Presence.
func (b *Backend) Everyone(ctx context.Context) ([]holds.Present, error) {
	list, err := b.present(ctx, "everyone", "")
	sort.Slice(list, func(i, j int) bool { return list[i].SpecialistID < list[j].SpecialistID })
	return list, err
}

// Count implements holds.Presence.
func (b *Backend) Count(ctx context.Context, staleAfter time.Duration) (int, error) {
	list, err := b.present(ctx, "available", node.Milliseconds(staleAfter))
	return len(list), err
}

func (b *Backend) present(ctx context.Context, whom string, arg any) ([]holds.Present, error) {
	reply, err := b.run(ctx, presentScript, []string{onlineKey}, whom, arg)
	if err != nil {
		return nil, err
	}
	return presentOf(reply), nil
}

// presentOf reads the specialists that a script returns.
func presentOf(reply []any) []holds.Present {
	list := make([]holds.Present, 0, len(reply))
	for i := range reply {
		row, _ := reply[i].([]any)
		list = append(list, holds.Present{
			SpecialistID: text(row, 0), Online: number(row, 1) == 1, Deactivated: number(row, 2) == 1,
			HeartbeatAt: node.Instant(number(row, 3)), Load: int(number(row, 4)), Max: int(number(row, 5)),
		})
	}
	return list
}

// Seed implements holds.Presence.
func (b *Backend) Seed(ctx context.Context, all []holds.Present) error {
	return b.seed(ctx, b.under(), all)
}

func (b *Backend) seed(ctx context.Context, under string, all []holds.Present) error {
	args := make([]any, 0, 6*len(all))
	for i := range all {
		p := &all[i]
		args = append(args, p.SpecialistID, p.Online, p.Deactivated, node.Unix(p.HeartbeatAt), p.Load, p.Max)
	}
	_, err := b.changeUnder(ctx, under, seedScript, []string{onlineKey, deactivatedKey, loadKey}, args...)
	return err
}
