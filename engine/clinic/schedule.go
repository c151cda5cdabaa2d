package clinic

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// Schedule is one immutable snapshot of the clinic's schedule, prepared for look-ups.
type Schedule struct {
	store.Schedule
	Settings       Settings
	Zone           *time.Location // the clinic's own time zone
	Types          map[string]*store.AppointmentType
	SpecialistByID map[string]*store.Specialist
	Calendars      map[string]*availability.Calendar
	Serves         map[string][]string // appointment type ids by specialist id
	NeededBy       map[string][]string // appointment type ids by resource id
}

// HasInactive reports whether one of these resources is deactivated or missing, so that holds that include it can no
// longer be booked.
func (s *Schedule) HasInactive(resources []string) bool {
	return slices.ContainsFunc(resources, func(id string) bool {
		p := s.SpecialistByID[id]
		return p == nil || !p.Active
	})
}

// scheduleCache holds the current schedule and the generation of each appointment type.
//
// A generation identifies the state of everything that a type's slots are computed from. The feed changes it after
// every change to that state (follow.go). Readers read the generation before the state, so a list computed from an
// older state is never found under the newer generation.
type scheduleCache struct {
	current atomic.Pointer[Schedule]
	clock   atomic.Uint64 // the last generation; starts at the wall clock in ms, so that restarts differ
	change  sync.Mutex    // one change at a time, so that SpecialistChanged is called in the order of the commits

	mu          sync.RWMutex
	generations map[string]uint64 // keyed by appointment type; a type that is missing here has the generation in base
	base        uint64
}

// Current returns the current schedule. The caller must not change it.
func (cl *Clinic) Current() *Schedule { return cl.schedule.current.Load() }

// Schedule returns the current schedule in the store's format. The caller must not change it.
func (cl *Clinic) Schedule() *store.Schedule { return &cl.Current().Schedule }

// Zone returns the clinic's own time zone.
func (cl *Clinic) Zone() *time.Location { return cl.Current().Zone }

// AppointmentType returns one type, active or inactive. Errors: store.ErrNotFound.
func (cl *Clinic) AppointmentType(id string) (store.AppointmentType, error) {
	if t, ok := cl.Current().Types[id]; ok {
		return *t, nil
	}
	return store.AppointmentType{}, record.ErrNoAppointmentType
}

// Specialist returns one specialist, active or inactive. Errors: store.ErrNotFound.
func (cl *Clinic) Specialist(id string) (store.Specialist, error) {
	if s, ok := cl.Current().SpecialistByID[id]; ok {
		return *s, nil
	}
	return store.Specialist{}, store.ErrNotFound
}

// Generation returns the number that identifies the state that this type's slots are computed from.
func (cl *Clinic) Generation(appointmentTypeID string) uint64 {
	c := &cl.schedule
	c.mu.RLock()
	defer c.mu.RUnlock()
	if g, ok := c.generations[appointmentTypeID]; ok {
		return g
	}
	return c.base
}

// MoveGenerations assigns a new generation to these types and returns it. Without arguments, it does so for all types.
func (cl *Clinic) MoveGenerations(appointmentTypeIDs ...string) uint64 {
	c := &cl.schedule
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

// ReadSchedule rereads the schedule from the store. The caller must then call MoveGenerations.
func (cl *Clinic) ReadSchedule(ctx context.Context) error {
	read, err := cl.store.Schedule(ctx)
	if err != nil {
		return err
	}
	s, err := newSchedule(read)
	if err != nil {
		return err
	}
	cl.schedule.current.Store(s)
	return nil
}

// Differences returns a message if the schedule in memory differs from the one in the database. A change that is
// committed during the call can appear as a difference.
func (cl *Clinic) Differences(ctx context.Context) ([]string, error) {
	read, err := cl.store.Schedule(ctx)
	if err != nil {
		return nil, err
	}
	stored, err := newSchedule(read)
	if err != nil {
		return nil, err
	}
	if reflect.DeepEqual(stored.Schedule, cl.Current().Schedule) {
		return nil, nil
	}
	return []string{"memory: the schedule in memory differs from the one in the database"}, nil
}

// unsetZone is the time zone of a clinic that has not been set up yet.
const unsetZone = "UTC"

func newSchedule(read store.Schedule) (*Schedule, error) {
	read.Clinic.Timezone = cmp.Or(read.Clinic.Timezone, unsetZone)
	zone, err := availability.LoadZone(read.Clinic.Timezone)
	if err != nil {
		return nil, err
	}
	settings, err := readSettings(read.Clinic.Settings)
	if err != nil {
		return nil, fmt.Errorf("the clinic's settings cannot be read: %w", err)
	}
	s := &Schedule{
		Schedule:       read,
		Settings:       settings,
		Zone:           zone,
		Types:          make(map[string]*store.AppointmentType, len(read.AppointmentTypes)),
		SpecialistByID: make(map[string]*store.Specialist, len(read.Specialists)),
		Calendars:      make(map[string]*availability.Calendar, len(read.Specialists)),
		Serves:         make(map[string][]string, len(read.Specialists)),
		NeededBy:       make(map[string][]string),
	}
	for i := range read.Specialists {
		p := &s.Specialists[i]
		s.SpecialistByID[p.ID] = p
		hours := read.WeeklyHours[p.ID]
		if p.Kind == store.ResourceKind && len(hours) == 0 {
			hours = always()
		}
		if s.Calendars[p.ID], err = availability.NewCalendar(*p, hours, read.Overrides[p.ID],
			read.Blocks[p.ID]); err != nil {
			return nil, err
		}
	}
	for i := range read.AppointmentTypes {
		t := &s.AppointmentTypes[i]
		s.Types[t.ID] = t
		for _, a := range t.Specialists {
			s.Serves[a.SpecialistID] = append(s.Serves[a.SpecialistID], t.ID)
		}
		for _, group := range t.Needs {
			for _, id := range group {
				s.NeededBy[id] = append(s.NeededBy[id], t.ID)
			}
		}
	}
	return s, nil
}

// Serves lists the appointment types that a specialist serves.
func (cl *Clinic) Serves(specialistID string) []string {
	return cl.Current().Serves[specialistID]
}

// ScheduleChange is the audit record for one change to the schedule.
type ScheduleChange struct {
	Actor           record.Actor
	Action          record.Action
	Subject, reason string
	before, after   any // for the audit log, in the form of the API; nil if there is none; write may set them
	once            *record.Once
	result          any                // the response that once stores
	specialists     []store.Specialist // the specialists that changeStored announces after the commit
}

// ChangeSchedule commits one change to the schedule. The feed makes it visible before Write returns, so the next
// listing reflects it. If a change depends on stored state, read that state inside write, where no other change can
// intervene, and set c's fields from it.
func (cl *Clinic) ChangeSchedule(ctx context.Context, c *ScheduleChange, write func(store.Tx) error) error {
	now := time.Now().UTC().Truncate(time.Millisecond)
	return cl.store.Write(ctx, func(tx store.Tx) error {
		if err := write(tx); err != nil {
			return err
		}
		if err := record.Audit(ctx, tx, now, c.Actor, c.Action, c.Subject, c.reason, c.before, c.after); err != nil {
			return err
		}
		once := c.once
		if once == nil && c.result != nil {
			once = record.OnceOf(ctx)
		}
		return once.Remember(ctx, tx, c.result, now)
	})
}

// changeStored is like ChangeSchedule, for a change that depends on the stored schedule, which it passes to write. In
// this process, only one such change runs at a time. After the commit, and before the next change begins, changeStored
// announces the changed specialists.
func (cl *Clinic) changeStored(ctx context.Context, c *ScheduleChange,
	write func(store.Tx, *store.Schedule) error) error {
	cl.schedule.change.Lock()
	defer cl.schedule.change.Unlock()
	err := cl.ChangeSchedule(ctx, c, func(tx store.Tx) error {
		s, err := StoredSchedule(ctx, tx)
		if err != nil {
			return err
		}
		return write(tx, &s)
	})
	if err != nil {
		return err
	}
	for _, p := range c.specialists {
		cl.hooks.SpecialistChanged(context.WithoutCancel(ctx), p)
	}
	return nil
}

// assigned lists the specialists of a type. It returns nil for an unknown type.
func (s *Schedule) assigned(appointmentTypeID string) []string {
	if t := s.Types[appointmentTypeID]; t != nil {
		return assigned(t.Specialists)
	}
	return nil
}

func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

func OfSchedule(c store.Change) bool {
	return c.Noun == store.NounClinic || c.Noun == store.NounAppointmentType || c.Noun == store.NounSpecialist
}

// FollowSchedule rereads the schedule, once for a whole batch of changes. It changes the generations of the affected
// types and notifies every affected specialist's streams.
func (cl *Clinic) FollowSchedule(ctx context.Context, changes []store.Change) {
	before := cl.Current()
	if err := cl.ReadSchedule(ctx); err != nil {
		// The node retries on the next change. Until then, it decides based on the previous schedule, and the database
		// makes the final decision.
		cl.log.Error("failed to load the changed schedule", "error", err)
		return
	}
	after := cl.Current()
	var specialists, types []string
	everything := false
	for i := range changes {
		switch c := &changes[i]; c.Noun {
		case store.NounClinic:
			everything = true
		case store.NounSpecialist:
			specialists = append(specialists, c.ID)
			types = append(types, union(before.TypesOf(c.ID), after.TypesOf(c.ID))...)
		case store.NounAppointmentType:
			types = append(types, c.ID)
			specialists = append(append(specialists, before.assigned(c.ID)...), after.assigned(c.ID)...)
		}
	}
	if everything {
		types = nil
	}
	generation := cl.MoveGenerations(types...)
	for _, id := range union(specialists, nil) {
		cl.events.Publish(ctx, holds.Event{
			Kind: holds.EventAvailability, Span: holds.Span{SpecialistID: id}, Generation: generation,
			// includes a type that the specialist or resource was just removed from
			AppointmentTypeIDs: union(before.TypesOf(id), after.TypesOf(id)),
		})
	}
}

// Exclusive reports whether this appointment's time cannot be shared with another one: its type has one seat and it is
// not overbooked.
func (s *Schedule) Exclusive(t *store.Taken) bool {
	kind := s.Types[t.AppointmentTypeID]
	return !t.Overbook && kind != nil && kind.Capacity == 1
}
