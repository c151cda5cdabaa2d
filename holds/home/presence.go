package home

import (
	"context"
	"time"

	"holdfast/holds"
)

// Presence is always in the home of live state, so every node has the changes that reached any node.

func (b *Backend) attend(ctx context.Context, call func(at holds.Homely) (bool, error)) (changed bool, err error) {
	err = b.do(ctx, func(at holds.Homely) (err error) { changed, err = call(at); return err })
	return changed, err
}

// Online implements holds.Presence.
func (b *Backend) Online(ctx context.Context, specialistID string, max int) (bool, error) {
	return b.attend(ctx, func(at holds.Homely) (bool, error) { return at.Online(ctx, specialistID, max) })
}

// Offline implements holds.Presence.
func (b *Backend) Offline(ctx context.Context, specialistID string) (bool, error) {
	return b.attend(ctx, func(at holds.Homely) (bool, error) { return at.Offline(ctx, specialistID) })
}

// OfflineUnheard implements holds.Presence.
func (b *Backend) OfflineUnheard(ctx context.Context, specialistID string, staleAfter time.Duration) (bool, error) {
	return b.attend(ctx, func(at holds.Homely) (bool, error) {
		return at.OfflineUnheard(ctx, specialistID, staleAfter)
	})
}

// Deactivate implements holds.Presence.
func (b *Backend) Deactivate(ctx context.Context, specialistID string) (bool, error) {
	return b.attend(ctx, func(at holds.Homely) (bool, error) { return at.Deactivate(ctx, specialistID) })
}

// Activate implements holds.Presence.
func (b *Backend) Activate(ctx context.Context, specialistID string) (bool, error) {
	return b.attend(ctx, func(at holds.Homely) (bool, error) { return at.Activate(ctx, specialistID) })
}

// Beat implements holds.Presence.
func (b *Backend) Beat(ctx context.Context, specialistID string) error {
	return b.do(ctx, func(at holds.Homely) error { return at.Beat(ctx, specialistID) })
}

// SetMax implements holds.Presence.
func (b *Backend) SetMax(ctx context.Context, specialistID string, max int) error {
	return b.do(ctx, func(at holds.Homely) error { return at.SetMax(ctx, specialistID, max) })
}

// Load implements holds.Presence.
func (b *Backend) Load(ctx context.Context, specialistID string, delta int) (n int, err error) {
	err = b.do(ctx, func(at holds.Homely) (err error) { n, err = at.Load(ctx, specialistID, delta); return err })
	return n, err
}

// SetLoads implements holds.Presence.
func (b *Backend) SetLoads(ctx context.Context, loads map[string]int) error {
	return b.do(ctx, func(at holds.Homely) error { return at.SetLoads(ctx, loads) })
}

// Present implements holds.Presence.
func (b *Backend) Present(ctx context.Context, specialistID string) (p holds.Present, err error) {
	err = b.do(ctx, func(at holds.Homely) (err error) { p, err = at.Present(ctx, specialistID); return err })
	return p, err
}

// Available implements holds.Presence.
func (b *Backend) Available(ctx context.Context, staleAfter time.Duration,
	limit int) (list []holds.Present, err error) {
	err = b.do(ctx, func(at holds.Homely) (err error) { list, err = at.Available(ctx, staleAfter, limit); return err })
	return list, err
}

// Everyone implements holds.Presence.
func (b *Backend) Everyone(ctx context.Context) (list []holds.Present, err error) {
	err = b.do(ctx, func(at holds.Homely) (err error) { list, err = at.Everyone(ctx); return err })
	return list, err
}

// Count implements holds.Presence.
func (b *Backend) Count(ctx context.Context, staleAfter time.Duration) (n int, err error) {
	err = b.do(ctx, func(at holds.Homely) (err error) { n, err = at.Count(ctx, staleAfter); return err })
	return n, err
}

// Seed implements holds.Presence.
func (b *Backend) Seed(ctx context.Context, all []holds.Present) error {
	return b.do(ctx, func(at holds.Homely) error { return at.Seed(ctx, all) })
}
