package home

import (
	"context"
	"errors"
	"time"

	"holdfast/holds"
)

// Presence is always stored with the rest of the live state, so every node sees the changes that reached any node. If
// the home loses its state, each node copies the specialists whom its own calls brought online or whose heartbeats it
// received, with the instant of the last heartbeat. So a specialist who has left in the meantime goes offline when that
// heartbeat is too old. The engine restores the others from the database.

// attendance is an online specialist's presence. own is true if the last change or heartbeat that this node knows of
// came from a call by this process.
type attendance struct {
	holds.Present
	own bool
	at  time.Time // of the call
}

// came remembers that a call by this process, started at this time, brought a specialist online.
func (m *ledger) came(specialistID string, max int, began time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.present[specialistID].Present
	p.SpecialistID, p.Online, p.Max, p.HeartbeatAt = specialistID, true, max, began.Add(m.ahead).UTC()
	m.present[specialistID] = attendance{p, true, time.Now()}
}

// beat remembers a heartbeat that a call of this process stored. The capacity of a specialist who is not in the ledger
// is unknown, so the ledger adds that specialist only with the next list.
func (m *ledger) beat(specialistID string, began time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p, known := m.present[specialistID]; known {
		p.HeartbeatAt, p.own, p.at = later(p.HeartbeatAt, began.Add(m.ahead).UTC()), true, time.Now()
		m.present[specialistID] = p
	}
}

// went forgets a specialist who is no longer online.
func (m *ledger) went(specialistID string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.present, specialistID)
}

// amend changes the capacity or the load of a specialist whom the ledger remembers.
func (m *ledger) amend(specialistID string, change func(p *holds.Present)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p, known := m.present[specialistID]; known {
		change(&p.Present)
		m.present[specialistID] = p
	}
}

// amendAll is amend for all specialists.
func (m *ledger) amendAll(change func(p *holds.Present)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, p := range m.present {
		change(&p.Present)
		m.present[id] = p
	}
}

// attend adopts the presence that the home listed in response to a request sent at asked. Changes that this process
// made after that are kept.
func (m *ledger) attend(list []holds.Present, asked time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.adopt(list, asked)
}

// adopt is attend with the lock held.
func (m *ledger) adopt(list []holds.Present, asked time.Time) {
	before := m.present
	m.present = make(map[string]attendance, len(list))
	for i := range list {
		if p := list[i]; p.Online && !p.Deactivated {
			m.present[p.SpecialistID] = attendance{p, before[p.SpecialistID].own, before[p.SpecialistID].at}
		}
	}
	for id, p := range before {
		if p.at.After(asked) {
			m.present[id] = p
		}
	}
}

// attending returns the specialists whom this process's calls brought online.
func (m *ledger) attending() (list []holds.Present) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.present {
		if p.own {
			list = append(list, p.Present)
		}
	}
	return list
}

// leaves runs a call that can take a specialist offline.
func (b *Backend) leaves(ctx context.Context, specialistID string,
	call func(at holds.Homely) (bool, error)) (changed bool, err error) {
	err = b.do(ctx, func(at holds.Homely) (err error) {
		if changed, err = call(at); changed {
			b.ledger.went(specialistID)
		}
		return err
	})
	return changed, err
}

// Online implements holds.Presence.
func (b *Backend) Online(ctx context.Context, specialistID string, max int) (changed bool, err error) {
	err = b.do(ctx, func(at holds.Homely) (err error) {
		began := time.Now()
		if changed, err = at.Online(ctx, specialistID, max); err == nil {
			b.ledger.came(specialistID, max, began)
		}
		return err
	})
	return changed, err
}

// Offline implements holds.Presence.
func (b *Backend) Offline(ctx context.Context, specialistID string) (bool, error) {
	return b.leaves(ctx, specialistID, func(at holds.Homely) (bool, error) { return at.Offline(ctx, specialistID) })
}

// OfflineUnheard implements holds.Presence.
func (b *Backend) OfflineUnheard(ctx context.Context, specialistID string, staleAfter time.Duration) (bool, error) {
	return b.leaves(ctx, specialistID, func(at holds.Homely) (bool, error) {
		return at.OfflineUnheard(ctx, specialistID, staleAfter)
	})
}

// Deactivate implements holds.Presence.
func (b *Backend) Deactivate(ctx context.Context, specialistID string) (bool, error) {
	return b.leaves(ctx, specialistID, func(at holds.Homely) (bool, error) {
		return at.Deactivate(ctx, specialistID)
	})
}

// Activate implements holds.Presence.
func (b *Backend) Activate(ctx context.Context, specialistID string) (changed bool, err error) {
	err = b.do(ctx, func(at holds.Homely) (err error) { changed, err = at.Activate(ctx, specialistID); return err })
	return changed, err
}

// Beat implements holds.Presence.
func (b *Backend) Beat(ctx context.Context, specialistID string) error {
	return b.do(ctx, func(at holds.Homely) error {
		began := time.Now()
		err := at.Beat(ctx, specialistID)
		switch {
		case err == nil:
			b.ledger.beat(specialistID, began)
		case errors.Is(err, holds.ErrOffline), errors.Is(err, holds.ErrDeactivated):
			b.ledger.went(specialistID)
		}
		return err
	})
}

// SetMax implements holds.Presence.
func (b *Backend) SetMax(ctx context.Context, specialistID string, max int) error {
	return b.do(ctx, func(at holds.Homely) error {
		err := at.SetMax(ctx, specialistID, max)
		if err == nil {
			b.ledger.amend(specialistID, func(p *holds.Present) { p.Max = max })
		}
		return err
	})
}

// Load implements holds.Presence.
func (b *Backend) Load(ctx context.Context, specialistID string, delta int) (n int, err error) {
	err = b.do(ctx, func(at holds.Homely) (err error) {
		if n, err = at.Load(ctx, specialistID, delta); err == nil {
			b.ledger.amend(specialistID, func(p *holds.Present) { p.Load = n })
		}
		return err
	})
	return n, err
}

// SetLoads implements holds.Presence.
func (b *Backend) SetLoads(ctx context.Context, loads map[string]int) error {
	return b.do(ctx, func(at holds.Homely) error {
		err := at.SetLoads(ctx, loads)
		if err == nil {
			b.ledger.amendAll(func(p *holds.Present) { p.Load = loads[p.SpecialistID] })
		}
		return err
	})
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
	err = b.do(ctx, func(at holds.Homely) (err error) {
		asked := time.Now()
		if list, err = at.Everyone(ctx); err == nil {
			b.ledger.attend(list, asked)
		}
		return err
	})
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
