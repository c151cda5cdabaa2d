package sqlite

import (
	"context"
	"slices"
	"sync"
	"time"

	"holdfast/store"
)

// The two halves are each one range of one index. A slot lies within its busy time, so whatever overlaps either
// overlaps the busy time.
const taken = `
	SELECT id, appointment_type_id, seat, overbook, slot_start, slot_end, busy_start, busy_end
	FROM appointments
	WHERE specialist_id = ?1 AND status = 'confirmed' AND overbook = 0
	  AND slot_start > ?2 - (SELECT reach_after_ms FROM specialists WHERE id = ?1)
	  AND slot_start < ?3 + (SELECT reach_before_ms FROM specialists WHERE id = ?1)
	  AND busy_start < ?3 AND busy_end > ?2
	UNION ALL
	SELECT id, appointment_type_id, seat, overbook, slot_start, slot_end, busy_start, busy_end
	FROM appointments
	WHERE specialist_id = ?1 AND status = 'confirmed' AND overbook = 1
	  AND slot_start > ?2 - (SELECT reach_after_ms FROM specialists WHERE id = ?1)
	  AND slot_start < ?3 + (SELECT reach_before_ms FROM specialists WHERE id = ?1)
	  AND busy_start < ?3 AND busy_end > ?2
	ORDER BY slot_start, seat`

// Taken is asked for every listing of time slots, each time for weeks and for everybody who serves a type, while
// little changes from one to the next. SQLite hands over a row in about three microseconds, so the days that were
// asked for are remembered.
func (r reads) Taken(ctx context.Context, specialistIDs []string, from, to time.Time) ([]store.Taken, error) {
	from, to = time.UnixMilli(from.UnixMilli()), time.UnixMilli(to.UnixMilli())
	if !from.Before(to) {
		return nil, nil
	}
	ids := slices.Compact(slices.Sorted(slices.Values(specialistIDs)))
	if r.tx == nil && to.Sub(from) <= rememberedRange {
		if err := r.pool.open(ctx); err != nil {
			return nil, err
		}
		// Two rounds when days were missing. If one of them is being changed, it is not worth a third.
		for range 2 {
			all, missing := r.days.collect(ids, from, to)
			if missing == nil {
				return all, nil
			}
			if err := r.load(ctx, missing); err != nil {
				return nil, err
			}
		}
	}
	var all []store.Taken
	err := r.snapshot(ctx, func(ctx context.Context, c *conn) error {
		for _, id := range ids {
			if err := takenOn(ctx, c, id, from, to, func(t store.Taken) { all = append(all, t) }); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

func takenOn(ctx context.Context, c *conn, specialistID string, from, to time.Time, each func(store.Taken)) error {
	return c.query(ctx, func(r *row) {
		each(store.Taken{
			SpecialistID: specialistID, AppointmentID: r.text(), AppointmentTypeID: r.text(), Seat: r.int(), Overbook: r.bool(),
			SlotStart: r.time(), SlotEnd: r.time(), BusyStart: r.time(), BusyEnd: r.time(),
		})
	}, taken, specialistID, from, to)
}

const (
	// rememberedRange is the longest question that is answered from memory: the longest listing and a margin.
	rememberedRange = 100 * 24 * time.Hour
	// rememberedRows is about 20 MB. Past it everything is forgotten, which costs one slow answer each.
	rememberedRows = 100_000
)

// day counts whole UTC days since 1970.
type day int64

func dayOf(t time.Time) day {
	const length = 24 * 60 * 60 * 1000
	ms := t.UnixMilli()
	if ms < 0 {
		ms -= length - 1
	}
	return day(ms / length)
}

func (d day) start() time.Time { return time.Unix(int64(d)*24*60*60, 0) }

// takenDays remembers, by specialist and day, the confirmed appointments whose busy time touches the day.
//
// It is never older than what Write has acknowledged: the writer forgets what a commit touched before it answers. And
// it always shows one moment: what a reader loaded is remembered only if no commit touched that specialist since the
// reader began, and from just before a commit until it is forgotten, nothing new is remembered of those it touches.
type takenDays struct {
	mu      sync.RWMutex
	days    map[string]map[day][]store.Taken
	commits map[string]uint64 // how many have touched a specialist
	frozen  map[string]bool   // touched by the commit under way
	rows    int
}

func newTakenDays() *takenDays {
	return &takenDays{days: map[string]map[day][]store.Taken{}, commits: map[string]uint64{}, frozen: map[string]bool{}}
}

// stretch is a run of days of one specialist that is not remembered.
type stretch struct {
	specialistID string
	first, last  day
	commits      uint64
}

// collect answers from memory, all of it from one moment, or says what is missing.
func (k *takenDays) collect(ids []string, from, to time.Time) (all []store.Taken, missing []stretch) {
	first, last := dayOf(from), dayOf(to.Add(-time.Millisecond))
	k.mu.RLock()
	defer k.mu.RUnlock()
	rows := 0
	for _, id := range ids {
		known := k.days[id]
		for d := first; d <= last; d++ {
			if taken, ok := known[d]; ok {
				rows += len(taken)
			} else if n := len(missing); n > 0 && missing[n-1].specialistID == id && missing[n-1].last == d-1 {
				missing[n-1].last = d
			} else {
				missing = append(missing, stretch{id, d, d, k.commits[id]})
			}
		}
	}
	if missing != nil || rows == 0 {
		return nil, missing
	}
	all = make([]store.Taken, 0, rows)
	for _, id := range ids {
		known := k.days[id]
		for d := first; d <= last; d++ {
			start, end := d.start(), (d + 1).start()
			for _, t := range known[d] {
				// A row that touches several days counts on the day its slot starts, or on the nearest one asked for.
				if d > first && t.SlotStart.Before(start) || d < last && !t.SlotStart.Before(end) {
					continue
				}
				if t.BusyStart.Before(to) && t.BusyEnd.After(from) {
					all = append(all, t)
				}
			}
		}
	}
	return all, nil
}

// load reads what is missing, all of it from one moment.
func (r reads) load(ctx context.Context, missing []stretch) error {
	return r.snapshot(ctx, func(ctx context.Context, c *conn) error {
		for _, s := range missing {
			found := make(map[day][]store.Taken, s.last-s.first+1)
			for d := s.first; d <= s.last; d++ {
				found[d] = nil
			}
			err := takenOn(ctx, c, s.specialistID, s.first.start(), (s.last + 1).start(), func(t store.Taken) {
				for d := max(s.first, dayOf(t.BusyStart)); d <= min(s.last, dayOf(t.BusyEnd.Add(-time.Millisecond))); d++ {
					found[d] = append(found[d], t)
				}
			})
			if err != nil {
				return err
			}
			r.days.remember(s, found)
		}
		return nil
	})
}

func (k *takenDays) remember(s stretch, found map[day][]store.Taken) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.frozen[s.specialistID] || k.commits[s.specialistID] != s.commits {
		return
	}
	if k.rows > rememberedRows {
		clear(k.days)
		k.rows = 0
	}
	known := k.days[s.specialistID]
	if known == nil {
		known = map[day][]store.Taken{}
		k.days[s.specialistID] = known
	}
	for d, rows := range found {
		known[d] = rows
		k.rows += 1 + len(rows)
	}
}

// touched is busy time of a specialist that a transaction has changed, or may have.
type touched struct {
	specialistID string
	first, last  day
}

// freeze is called by the writer before a commit, forget after it, whatever came of it.
func (k *takenDays) freeze(all []touched) {
	if len(all) == 0 {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, t := range all {
		k.frozen[t.specialistID] = true
	}
}

func (k *takenDays) forget(all []touched) {
	if len(all) == 0 {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, t := range all {
		k.commits[t.specialistID]++
		known := k.days[t.specialistID]
		for d := t.first; d <= t.last && len(known) > 0; d++ {
			if rows, ok := known[d]; ok {
				k.rows -= 1 + len(rows)
				delete(known, d)
			}
		}
	}
	clear(k.frozen)
}

func (t *tx) touch(specialistID string, busyStart, busyEnd time.Time) {
	if t.touched != nil {
		*t.touched = append(*t.touched, touched{specialistID, dayOf(busyStart), dayOf(busyEnd)})
	}
}

// touchStored touches the time that an appointment has now. ErrNotFound.
func (t *tx) touchStored(ctx context.Context, id string) error {
	_, err := one(ctx, t.reads, func(r *row) struct{} {
		t.touch(r.text(), r.time(), r.time())
		return struct{}{}
	}, `SELECT specialist_id, busy_start, busy_end FROM appointments WHERE id = ?`, id)
	return err
}
