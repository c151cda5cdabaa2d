package memory

import (
	"cmp"
	"context"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"holdfast/holds"
)

// presence records which specialists can take a patient now.
type presence struct {
	mu   sync.RWMutex
	byID map[string]*present
	// order contains the online specialists, by load, then id. It is read far more often than a specialist goes online
	// or offline or starts a session.
	order []*present
}

type present struct {
	holds.Present               // Online is what callers receive: false while deactivated
	online        bool          // in the set of specialists online, deactivated or not
	beat          time.Duration // HeartbeatAt on the monotonic clock
}

func byLoad(x, y *present) int {
	return cmp.Or(x.Load-y.Load, strings.Compare(x.SpecialistID, y.SpecialistID))
}

func (p *presence) open() { p.byID = make(map[string]*present) }

// of returns the entry of a specialist, and creates it if there is none.
func (p *presence) of(specialistID string) *present {
	one := p.byID[specialistID]
	if one == nil {
		one = &present{Present: holds.Present{SpecialistID: specialistID}}
		p.byID[specialistID] = one
	}
	return one
}

// come and leave maintain the order. A specialist's load changes only between leave and come.
func (p *presence) come(one *present) {
	i, _ := slices.BinarySearchFunc(p.order, one, byLoad)
	p.order = slices.Insert(p.order, i, one)
}

func (p *presence) leave(one *present) {
	if i, found := slices.BinarySearchFunc(p.order, one, byLoad); found {
		p.order = slices.Delete(p.order, i, i+1)
	}
}

// Online implements holds.Presence.
func (b *Backend) Online(_ context.Context, specialistID string, max int) (bool, error) {
	if b.closed.Load() {
		return false, holds.ErrClosed
	}
	p := &b.presence
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.of(specialistID)
	if one.Deactivated {
		return false, holds.ErrDeactivated
	}
	one.Max = max
	one.beatAt(b.clock.now())
	if one.Online {
		return false, nil
	}
	one.online, one.Online = true, true
	p.come(one)
	return true, nil
}

func (one *present) beatAt(now instant) { one.beat, one.HeartbeatAt = now.mono, now.wall }

// Offline implements holds.Presence.
func (b *Backend) Offline(_ context.Context, specialistID string) (bool, error) {
	if b.closed.Load() {
		return false, holds.ErrClosed
	}
	p := &b.presence
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.byID[specialistID]
	if one == nil {
		return false, nil
	}
	one.online = false
	return p.hide(one), nil
}

// OfflineUnheard implements holds.Presence.
func (b *Backend) OfflineUnheard(_ context.Context, specialistID string, staleAfter time.Duration) (bool, error) {
	if b.closed.Load() {
		return false, holds.ErrClosed
	}
	p := &b.presence
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.byID[specialistID]
	if one == nil || !one.Online || b.clock.now().mono-one.beat < staleAfter {
		return false, nil
	}
	one.online = false
	return p.hide(one), nil
}

// hide removes a specialist from every list and reports whether they were on any.
func (p *presence) hide(one *present) bool {
	if !one.Online {
		return false
	}
	p.leave(one)
	one.Online = false
	return true
}

// Deactivate implements holds.Presence.
func (b *Backend) Deactivate(_ context.Context, specialistID string) (bool, error) {
	if b.closed.Load() {
		return false, holds.ErrClosed
	}
	p := &b.presence
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.of(specialistID)
	if one.Deactivated {
		return false, nil
	}
	p.hide(one)
	one.Deactivated = true
	return true, nil
}

// Activate implements holds.Presence.
func (b *Backend) Activate(_ context.Context, specialistID string) (bool, error) {
	if b.closed.Load() {
		return false, holds.ErrClosed
	}
	p := &b.presence
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.byID[specialistID]
	if one == nil || !one.Deactivated {
		return false, nil
	}
	one.Deactivated = false
	if one.online {
		one.Online = true
		one.beatAt(b.clock.now())
		p.come(one)
	}
	return true, nil
}

// Beat implements holds.Presence.
func (b *Backend) Beat(_ context.Context, specialistID string) error {
	if b.closed.Load() {
		return holds.ErrClosed
	}
	p := &b.presence
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.byID[specialistID]
	switch {
	case one != nil && one.Deactivated:
		return holds.ErrDeactivated
	case one == nil || !one.Online:
		return holds.ErrOffline
	}
	one.beatAt(b.clock.now())
	return nil
}

// SetMax implements holds.Presence. It does nothing for a specialist who is not online: Online sets the capacity.
func (b *Backend) SetMax(_ context.Context, specialistID string, max int) error {
	if b.closed.Load() {
		return holds.ErrClosed
	}
	p := &b.presence
	p.mu.Lock()
	defer p.mu.Unlock()
	if one := p.byID[specialistID]; one != nil && one.online {
		one.Max = max
	}
	return nil
}

// Load implements holds.Presence.
func (b *Backend) Load(_ context.Context, specialistID string, delta int) (int, error) {
	if b.closed.Load() {
		return 0, holds.ErrClosed
	}
	p := &b.presence
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.of(specialistID)
	if one.Online {
		p.leave(one)
		defer p.come(one)
	}
	one.Present.Load = max(0, one.Present.Load+delta)
	return one.Present.Load, nil
}

// SetLoads implements holds.Presence.
func (b *Backend) SetLoads(_ context.Context, loads map[string]int) error {
	if b.closed.Load() {
		return holds.ErrClosed
	}
	p := &b.presence
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range p.byID {
		one.Present.Load = 0
	}
	for id, load := range loads {
		p.of(id).Present.Load = max(0, load)
	}
	slices.SortFunc(p.order, byLoad)
	return nil
}

// Present implements holds.Presence.
func (b *Backend) Present(_ context.Context, specialistID string) (holds.Present, error) {
	if b.closed.Load() {
		return holds.Present{}, holds.ErrClosed
	}
	p := &b.presence
	p.mu.RLock()
	defer p.mu.RUnlock()
	if one := p.byID[specialistID]; one != nil {
		return one.Present, nil
	}
	return holds.Present{SpecialistID: specialistID}, nil
}

// Available implements holds.Presence.
func (b *Backend) Available(_ context.Context, staleAfter time.Duration, limit int) ([]holds.Present, error) {
	if b.closed.Load() {
		return nil, holds.ErrClosed
	}
	p := &b.presence
	p.mu.RLock()
	defer p.mu.RUnlock()
	if limit <= 0 || limit > len(p.order) {
		limit = len(p.order)
	}
	list := make([]holds.Present, 0, limit)
	since := b.clock.now().mono - staleAfter
	for _, one := range p.order {
		if len(list) == limit {
			break
		}
		if one.available(since, staleAfter) {
			list = append(list, one.Present)
		}
	}
	return list, nil
}

// available reports whether a specialist can take a patient. If staleAfter > 0, the last heartbeat must be later than
// since.
func (one *present) available(since, staleAfter time.Duration) bool {
	return one.Present.Load < one.Max && (staleAfter <= 0 || one.beat > since)
}

// Everyone implements holds.Presence.
func (b *Backend) Everyone(context.Context) ([]holds.Present, error) {
	if b.closed.Load() {
		return nil, holds.ErrClosed
	}
	list := b.presence.everyone()
	sort.Slice(list, func(i, j int) bool { return list[i].SpecialistID < list[j].SpecialistID })
	return list, nil
}

func (p *presence) everyone() []holds.Present {
	p.mu.RLock()
	defer p.mu.RUnlock()
	list := make([]holds.Present, len(p.order))
	for i, one := range p.order {
		list[i] = one.Present
	}
	return list
}

// Count implements holds.Presence.
func (b *Backend) Count(_ context.Context, staleAfter time.Duration) (int, error) {
	if b.closed.Load() {
		return 0, holds.ErrClosed
	}
	p := &b.presence
	p.mu.RLock()
	defer p.mu.RUnlock()
	since := b.clock.now().mono - staleAfter
	n := 0
	for _, one := range p.order {
		if one.available(since, staleAfter) {
			n++
		}
	}
	return n, nil
}

// Seed implements holds.Presence. Existing state in this backend takes precedence over the durable mirror.
func (b *Backend) Seed(_ context.Context, all []holds.Present) error {
	if b.closed.Load() {
		return holds.ErrClosed
	}
	p := &b.presence
	now := b.clock.now()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, remembered := range all {
		p.seed(remembered, now)
	}
	p.order = p.order[:0]
	for _, one := range p.byID {
		if one.Online {
			p.order = append(p.order, one)
		}
	}
	slices.SortFunc(p.order, byLoad)
	return nil
}

func (p *presence) seed(remembered holds.Present, now instant) {
	known := p.byID[remembered.SpecialistID] != nil
	one := p.of(remembered.SpecialistID)
	if !known {
		one.Present.Load = max(0, remembered.Load)
	}
	if one.HeartbeatAt.IsZero() && !remembered.HeartbeatAt.IsZero() {
		one.HeartbeatAt = remembered.HeartbeatAt.UTC()
		one.beat = now.mono - max(0, now.wall.Sub(remembered.HeartbeatAt))
	}
	if one.Online {
		return
	}
	one.Deactivated = one.Deactivated || remembered.Deactivated
	one.online = one.online || remembered.Online
	one.Online = one.online && !one.Deactivated
	one.Max = remembered.Max
}

func (p *presence) online() int {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return len(p.order)
}
