package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"holdfast/store"
)

// testResource proves the guarantee for the resources of appointments. The database enforces it for every insert and
// every update. An appointment that cannot get all of its resources is not written.
func testResource(t *testing.T, h Harness) {
	t.Run("every field is stored", func(t *testing.T) { resourcesKept(t, h.open(t)) })
	t.Run("pairs", func(t *testing.T) { resourcePairs(t, h.open(t)) })
	t.Run("updates", func(t *testing.T) { resourceUpdates(t, h.open(t)) })
	t.Run("refused", func(t *testing.T) { resourcesRefused(t, h.open(t)) })
	t.Run("the feed has resource changes", func(t *testing.T) { resourceChanges(t, h.open(t)) })
	t.Run("one of 50 concurrent bookings of a room wins", func(t *testing.T) {
		s := h.open(t)
		withRooms(t, s)
		won := race(t, s, 50, func(i int) store.Appointment {
			return taking(booking([]string{"ada", "ben"}[i%2], "checkup", i%20, 30), "room-1")
		})
		if won != 1 {
			t.Errorf("got %d winners, want 1", won)
		}
	})
	t.Run("concurrent random bookings never share a room", func(t *testing.T) { crowdOfRooms(t, h.open(t)) })
}

// withRooms creates the schedule of clinic with two rooms and a device.
func withRooms(t testing.TB, s store.Store) {
	t.Helper()
	clinic(t, s)
	write(t, s, func(tx store.Tx) error {
		var errs []error
		for _, id := range []string{"room-1", "room-2", "laser"} {
			errs = append(errs, tx.PutSpecialist(t.Context(), resource(id)))
		}
		return errors.Join(errs...)
	})
}

func resource(id string) store.Specialist {
	r := specialist(id)
	r.Kind, r.MaxSessions = store.ResourceKind, 0
	return r
}

func taking(a store.Appointment, resources ...string) store.Appointment {
	a.Resources = resources
	return a
}

func resourcesKept(t *testing.T, s store.Store) {
	withRooms(t, s)
	needy := appointmentType("needy", 30)
	needy.Needs = []store.Need{{"room-1", "room-2"}, {"laser"}}
	write(t, s, func(tx store.Tx) error { return tx.PutAppointmentType(t.Context(), needy) })
	schedule, err := s.Schedule(t.Context())
	wantErr(t, "Schedule", err, nil)
	for i := range schedule.AppointmentTypes {
		got, want := schedule.AppointmentTypes[i].Needs, []store.Need(nil)
		if schedule.AppointmentTypes[i].ID == "needy" {
			want = needy.Needs
		}
		if !slices.EqualFunc(got, want, func(a, b store.Need) bool { return slices.Equal(a, b) }) {
			t.Errorf("%s: got needs %v, want %v", schedule.AppointmentTypes[i].ID, got, want)
		}
	}
	for i := range schedule.Specialists {
		p := &schedule.Specialists[i]
		if want := slices.Contains([]string{"room-1", "room-2", "laser"},
			p.ID); (p.Kind == store.ResourceKind) != want {
			t.Errorf("%s: got kind %q, want a resource: %t", p.ID, p.Kind, want)
		}
	}

	a := mustInsert(t, s, taking(buffered(booking("ada", "needy", 0, 30), 10, 20), "room-2", "laser"))
	got, err := s.Appointment(t.Context(), a.ID)
	wantErr(t, "Appointment", err, nil)
	if !slices.Equal(got.Resources, a.Resources) {
		t.Errorf("got resources %q, want %q", got.Resources, a.Resources)
	}
	taken, err := s.Taken(t.Context(), []string{"room-1", "room-2", "laser"}, a.BusyStart.Add(-time.Hour),
		a.BusyStart.Add(time.Minute))
	wantErr(t, "Taken", err, nil)
	want := []store.Taken{*a.Takes(), *a.Takes()}
	want[0].SpecialistID, want[1].SpecialistID = "laser", "room-2"
	want[0].Resources, want[1].Resources = "", ""
	if !slices.Equal(taken, want) {
		t.Errorf("got taken\n%v, want\n%v", taken, want)
	}
	for id, n := range map[string]int{"room-1": 0, "room-2": 1, "laser": 1} {
		list, _, err := s.Appointments(t.Context(), store.AppointmentFilter{ResourceID: id})
		if wantErr(t, "Appointments", err, nil); len(list) != n {
			t.Errorf("%s: got %d appointments, want %d", id, len(list), n)
		}
	}
}

// resourcePairs checks the guarantee for two appointments with different specialists that share a room.
func resourcePairs(t *testing.T, s store.Store) {
	withRooms(t, s)
	for i, test := range []struct {
		name string
		a, b store.Appointment
		fit  bool
	}{
		{"the same slot", taking(booking("ada", "checkup", 0, 30), "room-1"),
			taking(booking("ben", "checkup", 0, 30), "room-1"), false},
		{"another room", taking(booking("ada", "checkup", 0, 30), "room-1"),
			taking(booking("ben", "checkup", 0, 30), "room-2"), true},
		{"none", taking(booking("ada", "checkup", 0, 30), "room-1"), booking("ben", "checkup", 0, 30), true},
		{"back to back", taking(booking("ada", "checkup", 0, 30), "room-1"),
			taking(booking("ben", "long", 30, 45), "room-1"), true},
		{"one minute over, another type", taking(booking("ada", "checkup", 0, 30), "room-1"),
			taking(booking("ben", "long", 29, 45), "room-1"), false},
		{"one of two", taking(booking("ada", "checkup", 0, 30), "room-1", "laser"),
			taking(booking("ben", "checkup", 0, 30), "room-2", "laser"), false},
		{"the buffer exactly used up", taking(buffered(booking("ada", "surgery", 0, 60), 10, 20), "room-1"),
			taking(booking("ben", "checkup", 80, 30), "room-1"), true},
		{"the buffer cut by a minute", taking(buffered(booking("ada", "surgery", 0, 60), 10, 20), "room-1"),
			taking(booking("ben", "checkup", 79, 30), "room-1"), false},
		{"two seats of one group session", taking(booking("ada", "group", 0, 60), "room-1"),
			taking(seated(booking("ada", "group", 0, 60), 1), "room-1"), false},
		{"a cancelled one", cancelled(taking(booking("ada", "checkup", 0, 30), "room-1")),
			taking(booking("ben", "checkup", 0, 30), "room-1"), true},
	} {
		for turn, pair := range [][2]store.Appointment{{test.a, test.b}, {test.b, test.a}} {
			t.Run(fmt.Sprintf("%s/%d", test.name, turn), func(t *testing.T) {
				days := time.Duration((2*i+turn)*7*24) * time.Hour
				first, second := moved(pair[0], days), moved(pair[1], days)
				first.ID, second.ID = first.ID+fmt.Sprint(turn), second.ID+fmt.Sprint(turn)
				mustInsert(t, s, first)
				var want error
				if !test.fit {
					want = store.ErrSlotTaken
				}
				wantErr(t, "the second", insert(t, s, second), want)
				if _, err := s.Appointment(t.Context(), second.ID); (err == nil) != test.fit {
					t.Errorf("the second is there: %t, want %t", err == nil, test.fit)
				}
			})
		}
	}
}

func resourceUpdates(t *testing.T, s store.Store) {
	withRooms(t, s)
	a := mustInsert(t, s, taking(booking("ada", "checkup", 0, 30), "room-1", "laser"))
	b := mustInsert(t, s, taking(booking("ben", "checkup", 60, 30), "room-1"))

	wantErr(t, "moving to where the room is taken", update(t, s, moved(a, time.Hour)), store.ErrSlotTaken)
	wantErr(t, "after which its own time is still its own",
		insert(t, s, taking(booking("cleo", "short", 0, 15), "laser")), store.ErrSlotTaken)
	a = moved(a, 15*time.Minute)
	wantErr(t, "moving onto a part of its own time", update(t, s, a), nil)
	a.Version++
	left := mustInsert(t, s, taking(booking("cleo", "short", 0, 15), "room-1", "laser"))
	wantErr(t, "cancelling what took the part that it left", update(t, s, cancelled(left)), nil)

	a = taking(moved(a, 45*time.Minute), "room-2", "laser")
	wantErr(t, "moving with another room", update(t, s, a), nil)
	a.Version++
	wantErr(t, "the room it left", insert(t, s, taking(booking("cleo", "checkup", 15, 30), "room-1")), nil)
	wantErr(t, "the room it took", insert(t, s, taking(booking("cleo", "checkup", 60, 30), "room-2")),
		store.ErrSlotTaken)

	a.Attendance = store.Arrived
	wantErr(t, "arriving", update(t, s, a), nil)
	a.Version++
	wantErr(t, "the room still taken", insert(t, s, taking(booking("cleo", "checkup", 60, 30), "room-2")),
		store.ErrSlotTaken)

	wantErr(t, "cancelling", update(t, s, cancelled(a)), nil)
	a.Version++
	rival := mustInsert(t, s, taking(booking("cleo", "checkup", 60, 30), "room-2"))
	wantErr(t, "confirming it again, with its room taken", update(t, s, a), store.ErrSlotTaken)
	wantErr(t, "cancelling the rival", update(t, s, cancelled(rival)), nil)
	wantErr(t, "confirming it now", update(t, s, a), nil)
	wantErr(t, "giving another the room as well", update(t, s, taking(b, "room-1", "room-2")), store.ErrSlotTaken)
}

func resourcesRefused(t *testing.T, s store.Store) {
	withRooms(t, s)
	for _, test := range []struct {
		name string
		a    store.Appointment
	}{
		{"a person", taking(booking("ada", "checkup", 0, 30), "ben")},
		{"an unknown room", taking(booking("ada", "checkup", 0, 30), "room-9")},
		{"one twice", taking(booking("ada", "checkup", 0, 30), "room-1", "room-1")},
		{"with an overbook", taking(overbooked(booking("ada", "checkup", 0, 30)), "room-1")},
		{"as a specialist", booking("room-1", "checkup", 0, 30)},
	} {
		wantErr(t, test.name, insert(t, s, test.a), store.ErrInvalid)
	}
	a := mustInsert(t, s, booking("ada", "checkup", 0, 30))
	other := a
	other.SpecialistID = "room-1"
	wantErr(t, "moving to a resource", update(t, s, other), store.ErrInvalid)
	wantErr(t, "taking one twice", update(t, s, taking(a, "laser", "laser")), store.ErrInvalid)
	for _, p := range []store.Specialist{specialist("room-1"), resource("ada")} {
		wantErr(t, "another kind", s.Write(t.Context(), func(tx store.Tx) error {
			return tx.PutSpecialist(t.Context(), p)
		}), store.ErrInvalid)
	}
}

func resourceChanges(t *testing.T, s store.Store) {
	withRooms(t, s)
	var changes []store.Change
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	err := s.Changes(ctx, s.LastChange(), func(list []store.Change) {
		changes = append(changes, list...)
	})
	wantErr(t, "Changes", err, nil)
	a := mustInsert(t, s, taking(booking("ada", "checkup", 0, 30), "room-1", "laser"))
	wantErr(t, "another room", update(t, s, taking(a, "room-2", "laser")), nil)
	if len(changes) != 2 || changes[0].After.Resources != "room-1 laser" ||
		changes[1].Before.Resources != "room-1 laser" ||
		changes[1].After.Resources != "room-2 laser" || !changes[1].Moved() ||
		changes[1].What != store.KindRescheduled {
		t.Errorf("got %+v, want the time before and after, resources included", changes)
	}
}

// crowdOfRooms books, moves and cancels from many goroutines, in either of two rooms.
func crowdOfRooms(t *testing.T, s store.Store) {
	withRooms(t, s)
	var wg sync.WaitGroup
	for worker := range 16 {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(uint64(worker), 11))
			var mine []store.Appointment
			for range 40 {
				types := []string{"short", "checkup", "long", "surgery"}
				pick := random.IntN(len(types))
				a := booking([]string{"ada", "ben", "cleo"}[random.IntN(3)], types[pick], 5*random.IntN(120),
					[]int{15, 30, 45, 60}[pick])
				if types[pick] == "surgery" {
					a = buffered(a, 10, 20)
				}
				a = taking(a, [][]string{{"room-1"}, {"room-2"}, {"room-1", "laser"}, nil}[random.IntN(4)]...)
				change := store.Tx.InsertAppointment
				if len(mine) > 0 && random.IntN(3) > 0 {
					old := mine[random.IntN(len(mine))]
					a.ID, a.Version = old.ID, old.Version
					if random.IntN(2) == 0 {
						a = cancelled(a)
					}
					change = store.Tx.UpdateAppointment
				}
				err := s.Write(context.Background(), func(tx store.Tx) error {
					return change(tx, context.Background(), a)
				})
				if err != nil && !errors.Is(err, store.ErrSlotTaken) {
					t.Errorf("worker %d: %v", worker, err)
				}
				if err == nil {
					mine = remembered(mine, a)
				}
			}
		})
	}
	wg.Wait()
	all, _, err := s.Appointments(t.Context(), store.AppointmentFilter{Limit: 500, Status: store.Confirmed})
	wantErr(t, "Appointments", err, nil)
	shared := 0
	for i, a := range all {
		for _, b := range all[i+1:] {
			for _, id := range a.Resources {
				if !slices.Contains(b.Resources, id) {
					continue
				}
				shared++
				one, other := a, b
				one.SpecialistID, other.SpecialistID, one.Seat, other.Seat = id, id, 0, 0
				if !fits(one, other) {
					t.Errorf("%s is in %s and %s at the same time", id, a.ID, b.ID)
				}
			}
		}
	}
	if shared < 10 {
		t.Errorf("only %d pairs of appointments used one room: the test proves too little", shared)
	}
}
