package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/holds"
	"holdfast/store"
)

// schedule is one immutable reading of the clinic's schedule, prepared for looking things up.
type schedule struct {
	store.Schedule
	settings    Settings
	zone        *time.Location // the clinic's
	types       map[string]*store.AppointmentType
	specialists map[string]*store.Specialist
	calendars   map[string]*Calendar
	serves      map[string][]string // appointment type ids by specialist id
}

// scheduleCache keeps the current schedule and the generation of each appointment type.
//
// A generation names the state of everything a type's slots are computed from. The feed moves it after every change of
// that state (follow.go), and it is read before that state, so a list computed from older state can never be found under the
// newer generation.
type scheduleCache struct {
	current atomic.Pointer[schedule]
	clock   atomic.Uint64 // the last generation given out; starts at the wall clock in ms so that restarts differ
	change  sync.Mutex    // one read-change-write of a schedule row at a time

	mu          sync.RWMutex
	generations map[string]uint64 // by appointment type; a type that is missing is at base
	base        uint64
}

// Current is the schedule as it is now. It must not be changed.
func (e *Engine) Current() *schedule { return e.schedule.current.Load() }

// Schedule returns the clinic's schedule as it is now. It must not be changed.
func (e *Engine) Schedule() *store.Schedule { return &e.Current().Schedule }

// Zone is the clinic's own time zone.
func (e *Engine) Zone() *time.Location { return e.Current().zone }

// AppointmentType returns one active or inactive type. store.ErrNotFound.
func (e *Engine) AppointmentType(id string) (store.AppointmentType, error) {
	if t, ok := e.Current().types[id]; ok {
		return *t, nil
	}
	return store.AppointmentType{}, ErrNoAppointmentType
}

// Specialist returns one active or inactive specialist. store.ErrNotFound.
func (e *Engine) Specialist(id string) (store.Specialist, error) {
	if s, ok := e.Current().specialists[id]; ok {
		return *s, nil
	}
	return store.Specialist{}, store.ErrNotFound
}

// Generation names the state that this type's slots are computed from.
func (e *Engine) Generation(appointmentTypeID string) uint64 {
	c := &e.schedule
	c.mu.RLock()
	defer c.mu.RUnlock()
	if g, ok := c.generations[appointmentTypeID]; ok {
		return g
	}
	return c.base
}

// moveGenerations gives these types a new generation, all types if none are named, and returns it.
func (e *Engine) moveGenerations(appointmentTypeIDs ...string) uint64 {
	c := &e.schedule
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.clock.Add(1)
	if len(appointmentTypeIDs) == 0 {
		c.base, c.generations = g, nil
		return g
	}
	if c.generations == nil {
		c.generations = make(map[string]uint64)
	}
	for _, id := range appointmentTypeIDs {
		c.generations[id] = g
	}
	return g
}

// readSchedule reads the schedule anew. The generations are the caller's to move, afterwards.
func (e *Engine) readSchedule(ctx context.Context) error {
	read, err := e.store.Schedule(ctx)
	if err != nil {
		return err
	}
	s, err := newSchedule(read)
	if err != nil {
		return err
	}
	e.schedule.current.Store(s)
	return nil
}

// unsetZone is the time zone of a clinic that was never set up.
const unsetZone = "UTC"

func newSchedule(read store.Schedule) (*schedule, error) {
	read.Clinic.Timezone = cmp.Or(read.Clinic.Timezone, unsetZone)
	zone, err := LoadZone(read.Clinic.Timezone)
	if err != nil {
		return nil, err
	}
	settings, err := readSettings(read.Clinic.Settings)
	if err != nil {
		return nil, fmt.Errorf("the clinic's settings cannot be read: %w", err)
	}
	s := &schedule{
		Schedule:    read,
		settings:    settings,
		zone:        zone,
		types:       make(map[string]*store.AppointmentType, len(read.AppointmentTypes)),
		specialists: make(map[string]*store.Specialist, len(read.Specialists)),
		calendars:   make(map[string]*Calendar, len(read.Specialists)),
		serves:      make(map[string][]string, len(read.Specialists)),
	}
	for i := range read.Specialists {
		p := &s.Specialists[i]
		s.specialists[p.ID] = p
		if s.calendars[p.ID], err = NewCalendar(*p, read.WeeklyHours[p.ID], read.Overrides[p.ID], read.Blocks[p.ID]); err != nil {
			return nil, err
		}
	}
	for i := range read.AppointmentTypes {
		t := &s.AppointmentTypes[i]
		s.types[t.ID] = t
		for _, a := range t.Specialists {
			s.serves[a.SpecialistID] = append(s.serves[a.SpecialistID], t.ID)
		}
	}
	return s, nil
}

// Serves lists the appointment types that a specialist serves.
func (e *Engine) Serves(specialistID string) []string {
	return e.Current().serves[specialistID]
}

// scheduleChange is what is recorded of one change of the schedule.
type scheduleChange struct {
	actor                   Actor
	action, subject, reason string
	before, after           any // for the audit log; nil where there is nothing; write may set them
	once                    *Once
	result                  any // what once answers with
}

// changeSchedule commits one change of the schedule. The feed makes it visible before Write returns, so the very next
// listing shows it. A change that depends on what there is reads it in write, where nothing can come between, and says in c
// what it found.
func (e *Engine) changeSchedule(ctx context.Context, c *scheduleChange, write func(store.Tx) error) error {
	now := time.Now().UTC().Truncate(time.Millisecond)
	return e.store.Write(ctx, func(tx store.Tx) error {
		if err := write(tx); err != nil {
			return err
		}
		before, err := inWords(c.before)
		if err != nil {
			return err
		}
		after, err := inWords(c.after)
		if err != nil {
			return err
		}
		if err := audit(ctx, tx, now, c.actor, c.action, c.subject, c.reason, before, after); err != nil {
			return err
		}
		once := c.once
		if once == nil && c.result != nil {
			once = onceOf(ctx)
		}
		return once.remember(ctx, tx, c.result, now)
	})
}

// assigned lists the specialists of a type, nobody if there is no such type.
func (s *schedule) assigned(appointmentTypeID string) []string {
	if t := s.types[appointmentTypeID]; t != nil {
		return assigned(t.Specialists)
	}
	return nil
}

func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// publish tells the watchers. A failure costs them a live update and nothing else, so it is logged and not returned.
func (e *Engine) publish(ctx context.Context, ev holds.Event) {
	ev.At = time.Now().UTC()
	if err := e.holds.Publish(ctx, ev); err != nil {
		e.log.Warn("an event was not published; pages catch up when they next ask", "kind", ev.Kind, "error", err)
	}
}

func ofSchedule(c store.Change) bool {
	return c.Noun == store.NounClinic || c.Noun == store.NounAppointmentType || c.Noun == store.NounSpecialist
}

// followSchedule reads the schedule anew, once for a whole batch, moves the generations of what it concerns, and tells the
// streams of every specialist touched.
func (e *Engine) followSchedule(ctx context.Context, changes []store.Change) {
	before := e.Current()
	if err := e.readSchedule(ctx); err != nil {
		// The next change tries again; until then what is decided is a moment old, and the database decides in the end.
		e.log.Error("the schedule was changed and could not be read anew", "error", err)
		return
	}
	after := e.Current()
	var specialists, types []string
	everything := false
	for i := range changes {
		switch c := &changes[i]; c.Noun {
		case store.NounClinic:
			everything = true
		case store.NounSpecialist:
			specialists = append(specialists, c.ID)
			types = append(types, union(before.serves[c.ID], after.serves[c.ID])...)
		case store.NounAppointmentType:
			types = append(types, c.ID)
			specialists = append(append(specialists, before.assigned(c.ID)...), after.assigned(c.ID)...)
		}
	}
	if everything {
		types = nil
	}
	generation := e.moveGenerations(types...)
	for _, id := range union(specialists, nil) {
		e.publish(ctx, holds.Event{
			Kind: holds.EventAvailability, Span: holds.Span{SpecialistID: id}, Generation: generation,
			AppointmentTypeIDs: union(before.serves[id], after.serves[id]), // a type that was just taken away is told as well
		})
	}
}
