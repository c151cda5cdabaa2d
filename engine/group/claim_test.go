package group_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/booking"
	"holdfast/engine/group"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// lostAnswers is a live state whose responses are lost after a number of claims. The next claim takes effect, but its
// caller receives holds.ErrUnavailable. That caller's later calls do not reach the live state.
type lostAnswers struct {
	holds.Backend
	lost bool
	left int // number of claims that still get a response
}

func (l *lostAnswers) Claim(ctx context.Context, c holds.Claim) (holds.Hold, error) {
	if !l.lost {
		return l.Backend.Claim(ctx, c)
	}
	if l.left < 0 {
		return holds.Hold{}, holds.ErrUnavailable
	}
	h, err := l.Backend.Claim(ctx, c)
	if l.left--; l.left < 0 && err == nil {
		return holds.Hold{}, fmt.Errorf("%w: the answer was lost", holds.ErrUnavailable)
	}
	return h, err
}

func (l *lostAnswers) Release(ctx context.Context, id string, o holds.Owner, why holds.Reason) (bool, error) {
	if l.lost && l.left < 0 {
		return false, holds.ErrUnavailable
	}
	return l.Backend.Release(ctx, id, o, why)
}

// TestRepeatTakesItsOwnHolds: a request without a client claims its holds, but the responses are lost, and so is the
// release. A retry with the same Idempotency-Key takes over its own holds. A request with a different key is refused.
func TestRepeatTakesItsOwnHolds(t *testing.T) {
	undoable := func(list []store.Appointment, once *record.Once) group.Which {
		return group.Which{ID: list[0].ID, Actor: jo, Undoable: true, Once: once}
	}
	ctx := context.Background()
	one := func(a store.Appointment, err error) ([]store.Appointment, error) { return []store.Appointment{a}, err }
	for name, test := range map[string]struct {
		there  string // the appointments that are booked before the request
		cancel bool   // these appointments are then cancelled
		before int    // number of claims that get a response
		do     func(*engine.Engine, time.Time, []store.Appointment, *record.Once) ([]store.Appointment, error)
		want   int
	}{
		"one": {want: 1, do: func(e *engine.Engine, start time.Time, _ []store.Appointment,
			o *record.Once) ([]store.Appointment, error) {
			r := booking.Request{AppointmentTypeID: "checkup", SlotStart: start, Source: store.SourceStaff, Actor: jo,
				Once: o}
			r.Patient = store.Patient{Name: "Lena Vogt"}
			return one(e.Booking.Book(ctx, r))
		}},
		"one moved": {there: "one", want: 1, do: func(e *engine.Engine, start time.Time,
			list []store.Appointment, o *record.Once) ([]store.Appointment, error) {
			return one(e.Booking.Reschedule(ctx, booking.RescheduleRequest{ID: list[0].ID, SlotStart: start, Actor: jo,
				Once: o}))
		}},
		"series": {before: 2, want: 3, do: func(e *engine.Engine, start time.Time, _ []store.Appointment,
			o *record.Once) ([]store.Appointment, error) {
			r := weekly(start, 3)
			r.Once = o
			return e.Group.Series.Book(ctx, r)
		}},
		"series moved": {there: "series", before: 2, want: 3, do: func(e *engine.Engine, start time.Time,
			list []store.Appointment, o *record.Once) ([]store.Appointment, error) {
			return e.Group.Series.Move(ctx, group.SeriesMove{Which: undoable(list, o), SlotStart: start})
		}},
		"series undone": {there: "series", cancel: true, before: 2, want: 3,
			do: func(e *engine.Engine, _ time.Time, list []store.Appointment,
				o *record.Once) ([]store.Appointment, error) {
				return e.Group.Series.Undo(ctx, undoable(list, o))
			}},
		"visit": {want: 2, do: func(e *engine.Engine, start time.Time, _ []store.Appointment,
			o *record.Once) ([]store.Appointment, error) {
			r := pair(start)
			r.Once = o
			return e.Group.Visit.Book(ctx, r)
		}},
		"visit moved": {there: "visit", want: 2, do: func(e *engine.Engine, start time.Time,
			list []store.Appointment, o *record.Once) ([]store.Appointment, error) {
			return e.Group.Visit.Move(ctx, group.VisitMove{Which: undoable(list, o), SlotStart: start})
		}},
		"visit undone": {there: "visit", cancel: true, want: 1,
			do: func(e *engine.Engine, _ time.Time, list []store.Appointment,
				o *record.Once) ([]store.Appointment, error) {
				return one(e.Group.Visit.Undo(ctx, booking.UndoRequest{ID: list[0].ID, Actor: jo, Once: o}))
			}},
		"one undone": {there: "one", cancel: true, want: 1,
			do: func(e *engine.Engine, _ time.Time, list []store.Appointment,
				o *record.Once) ([]store.Appointment, error) {
				return one(e.Booking.Undo(ctx, booking.UndoRequest{ID: list[0].ID, Actor: jo, Once: o}))
			}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				live := &lostAnswers{left: test.before}
				e, start := clinicWith(t, map[string]int{"ada": 1}, func(b holds.Backend) holds.Backend {
					live.Backend = b
					return live
				})
				list := prepare(t, e, start.Add(2*time.Hour), test.there, test.cancel)
				once := func(key string) *record.Once {
					return &record.Once{Scope: name, Key: key, Answer: func(any) (int, []byte) {
						return 201, []byte("{}")
					}}
				}
				live.lost = true
				if _, err := test.do(e, start, list, once("one")); !errors.Is(err, holds.ErrUnavailable) {
					t.Fatalf("with all answers lost: got %v, want ErrUnavailable", err)
				}
				live.lost = false
				var held *holds.HeldError
				var conflict *group.ConflictError
				if _, err := test.do(e, start, list, once("two")); !errors.As(err, &held) &&
					!errors.As(err, &conflict) {
					t.Errorf("another key: got %v, want a HeldError", err)
				}
				if done, err := test.do(e, start, list, once("one")); err != nil || len(done) != test.want {
					t.Errorf("the repeat: got %d, %v; want %d", len(done), err, test.want)
				}
			})
		})
	}
}

// prepare books one appointment, a series or a visit, and cancels it if requested.
func prepare(t *testing.T, e *engine.Engine, start time.Time, what string, cancel bool) (list []store.Appointment) {
	t.Helper()
	var err error
	switch what {
	case "one":
		book(t, e, "ada", start)
		list, _, err = e.Booking.Appointments(t.Context(), store.AppointmentFilter{Limit: 1})
	case "series":
		list, err = e.Group.Series.Book(t.Context(), weekly(start, 3))
	case "visit":
		list, err = e.Group.Visit.Book(t.Context(), pair(start))
	}
	if err != nil {
		t.Fatal(err)
	}
	if !cancel {
		return list
	}
	time.Sleep(time.Second) // changes made in the same millisecond have no order in the audit log
	which := group.Which{ID: list[0].ID, Actor: jo, Undoable: true}
	switch what {
	case "one":
		_, err = e.Booking.Cancel(t.Context(), booking.CancelRequest{ID: which.ID, Actor: jo, Undoable: true})
	case "series":
		list, err = e.Group.Series.Cancel(t.Context(), group.Cancel{Which: which})
	case "visit":
		list, err = e.Group.Visit.Cancel(t.Context(), group.Cancel{Which: which})
	}
	if err != nil {
		t.Fatal(err)
	}
	return list
}
