package booking

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/engine/availability"
	"holdfast/holds"
	"holdfast/store"
)

// The pages in a waiting room poll the same day again and again. The holds and selections for that day are the same for
// all pages, except for each client's own. So this process reads them once and shares the result until something
// changes.

// countedHolds is the live state with a count of the changes that this process has made to holds and selections. It
// counts a change before the call returns, so a later poll sees the new count. In a trial context (store.WithTrial), it
// changes nothing and returns store.ErrTrial.
type countedHolds struct {
	holds.Backend
	changes atomic.Uint64
}

func (c *countedHolds) Claim(ctx context.Context, claim holds.Claim) (holds.Hold, error) {
	if err := store.Trial(ctx); err != nil {
		return holds.Hold{}, err
	}
	defer c.changes.Add(1)
	return c.Backend.Claim(ctx, claim)
}

func (c *countedHolds) Extend(ctx context.Context, id string, owner holds.Owner, ttl time.Duration,
	restart bool) (holds.Hold, error) {
	if err := store.Trial(ctx); err != nil {
		return holds.Hold{}, err
	}
	return c.Backend.Extend(ctx, id, owner, ttl, restart)
}

func (c *countedHolds) Pin(ctx context.Context, id string, owner holds.Owner,
	atLeast time.Duration) (holds.Hold, error) {
	if err := store.Trial(ctx); err != nil {
		return holds.Hold{}, err
	}
	return c.Backend.Pin(ctx, id, owner, atLeast)
}

func (c *countedHolds) Renew(ctx context.Context, owner holds.Owner) (bool, error) {
	if err := store.Trial(ctx); err != nil {
		return false, err
	}
	return c.Backend.Renew(ctx, owner)
}

func (c *countedHolds) Unpin(ctx context.Context, id string, owner holds.Owner,
	grace time.Duration) (holds.Hold, error) {
	if err := store.Trial(ctx); err != nil {
		return holds.Hold{}, err
	}
	defer c.changes.Add(1)
	return c.Backend.Unpin(ctx, id, owner, grace)
}

func (c *countedHolds) Transfer(ctx context.Context, id string, owner, to holds.Owner, ttl,
	maxLife time.Duration) (holds.Hold, error) {
	if err := store.Trial(ctx); err != nil {
		return holds.Hold{}, err
	}
	defer c.changes.Add(1)
	return c.Backend.Transfer(ctx, id, owner, to, ttl, maxLife)
}

func (c *countedHolds) Confirm(ctx context.Context, id string, owner holds.Owner) (bool, error) {
	if err := store.Trial(ctx); err != nil {
		return false, err
	}
	defer c.changes.Add(1)
	return c.Backend.Confirm(ctx, id, owner)
}

func (c *countedHolds) Release(ctx context.Context, id string, owner holds.Owner, reason holds.Reason) (bool, error) {
	if err := store.Trial(ctx); err != nil {
		return false, err
	}
	defer c.changes.Add(1)
	return c.Backend.Release(ctx, id, owner, reason)
}

func (c *countedHolds) Select(ctx context.Context, owner holds.Owner, s holds.Span) (holds.Selection, error) {
	if err := store.Trial(ctx); err != nil {
		return holds.Selection{}, err
	}
	defer c.changes.Add(1)
	return c.Backend.Select(ctx, owner, s)
}

func (c *countedHolds) Deselect(ctx context.Context, owner holds.Owner) (bool, error) {
	if err := store.Trial(ctx); err != nil {
		return false, err
	}
	defer c.changes.Add(1)
	return c.Backend.Deselect(ctx, owner)
}

// Live returns the live state for the packages that claim and release holds themselves: a poll must see their changes
// immediately.
func (bk *Booking) Live() holds.Backend { return bk.holds }

// liveDay contains the holds and selections of one day, for the specialists in one listing. It is immutable.
type liveDay struct {
	changes uint64    // the value of countedHolds.changes before the read
	until   time.Time // when the first of its entries expires, or maxLiveAge after the read
	held    []holds.Hold
	looking []holds.Selection // selections of the listing's type, sorted by start
}

type liveKey struct {
	appointmentTypeID, specialistID string
	day                             store.Date
	generation                      uint64
}

// liveDays caches recently polled days.
type liveDays struct {
	mu   sync.Mutex
	days map[liveKey]*liveDay
}

const (
	maxLiveDays = 256
	maxLiveAge  = time.Second // the longest time by which a poll can lag behind a change
)

func (l *liveDays) get(key liveKey, changes uint64, now time.Time) *liveDay {
	l.mu.Lock()
	defer l.mu.Unlock()
	if d := l.days[key]; d != nil && d.changes == changes && now.Before(d.until) {
		return d
	}
	return nil
}

func (l *liveDays) put(key liveKey, d *liveDay) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.days == nil || len(l.days) >= maxLiveDays {
		l.days = make(map[liveKey]*liveDay)
	}
	l.days[key] = d
}

// liveDay reads the holds and selections between two instants, or returns the shared copy. If other nodes can also
// change the live state, it always reads.
func (bk *Booking) liveDay(ctx context.Context, key liveKey, t *store.AppointmentType, specialists []string, from, to,
	now time.Time) (*liveDay, error) {
	d := &liveDay{changes: bk.holds.changes.Load(), until: now.Add(maxLiveAge)}
	shared := bk.holds.Mode() == "memory"
	if shared {
		if known := bk.live.get(key, d.changes, now); known != nil {
			return known, nil
		}
	}
	var err error
	if d.held, err = bk.holds.List(ctx, specialists...); err != nil {
		return nil, err
	}
	first, last := availability.Around(t, from, to)
	d.held = slices.DeleteFunc(d.held, func(h holds.Hold) bool {
		return !h.BusyStart.Before(last) || !first.Before(h.BusyEnd)
	})
	if d.looking, err = bk.holds.Selected(ctx, from, to, specialists...); err != nil {
		return nil, err
	}
	// A selected slot that begins on the previous day and extends into this one is listed under the previous day.
	d.looking = slices.DeleteFunc(d.looking, func(x holds.Selection) bool {
		return x.AppointmentTypeID != t.ID || x.SlotStart.Before(from)
	})
	slices.SortStableFunc(d.looking, func(x, y holds.Selection) int { return x.SlotStart.Compare(y.SlotStart) })
	for i := range d.held {
		d.lapses(d.held[i].ExpiresAt, now)
	}
	for i := range d.looking {
		d.lapses(d.looking[i].ExpiresAt, now)
	}
	if shared {
		bk.live.put(key, d)
	}
	return d, nil
}

// lapses sets until to the expiry of a hold or a selection if that expiry is earlier, on now's monotonic clock.
func (d *liveDay) lapses(at, now time.Time) {
	if until := now.Add(at.Sub(now)); until.Before(d.until) {
		d.until = until
	}
}

// pulse is the last result of a ping of the live state.
type pulse struct {
	mu    sync.Mutex
	at    time.Time
	err   error
	first chan struct{} // closed after the first result
}

const (
	pulseEvery = time.Second
	pulseTime  = 250 * time.Millisecond
)

// HoldStats returns statistics about the live state, for operators.
func (bk *Booking) HoldStats(ctx context.Context) (holds.Stats, error) { return bk.holds.Stats(ctx) }

// HoldServer returns the status of the server that stores the live state. It returns holds.ErrUnavailable if there is
// none or it is unreachable.
func (bk *Booking) HoldServer(ctx context.Context) (holds.Server, error) {
	if live, ok := bk.holds.Backend.(holds.Served); ok {
		return live.Server(ctx)
	}
	return holds.Server{}, holds.ErrUnavailable
}

// LiveStateHealth returns nil if the live state is usable. It pings at most once a second for all callers together, and
// waits at most 250 ms. During a ping, other callers get the previous result or, if there is none yet, wait for the
// first one.
func (bk *Booking) LiveStateHealth(ctx context.Context) error {
	p := &bk.pulse
	now := time.Now()
	p.mu.Lock()
	if !p.at.IsZero() && now.Sub(p.at) < pulseEvery {
		first := p.first
		p.mu.Unlock()
		select {
		case <-first:
		case <-ctx.Done():
			return ctx.Err()
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.err
	}
	isFirst := p.first == nil
	if isFirst {
		p.first = make(chan struct{})
	}
	p.at = now
	p.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pulseTime)
	defer cancel()
	err := bk.holds.Ping(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = err
	if isFirst {
		close(p.first)
	}
	return err
}
