package group_test

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/enginetest"
	"holdfast/engine/group"
	"holdfast/engine/record"
	"holdfast/store"
)

// seriesChanges are changes that the desk can undo, starting with the second appointment in a series.
var seriesChanges = map[string]func(c *enginetest.TestClinic, list []store.Appointment) ([]store.Appointment, error){
	"a cancellation": func(c *enginetest.TestClinic, list []store.Appointment) ([]store.Appointment, error) {
		return c.Group.Series.Cancel(context.Background(),
			group.Cancel{Which: group.Which{ID: list[1].ID, Actor: enginetest.Jo, Undoable: true}, Reason: "ill"})
	},
	"a move an hour later": func(c *enginetest.TestClinic, list []store.Appointment) ([]store.Appointment, error) {
		return c.Group.Series.Move(context.Background(),
			group.SeriesMove{Which: group.Which{ID: list[1].ID, Actor: enginetest.Jo, Undoable: true},
				SlotStart: list[1].SlotStart.Add(time.Hour)})
	},
	// Each appointment is now at the old time of the next one, so the undo moves them in the opposite order.
	"a move a week later": func(c *enginetest.TestClinic, list []store.Appointment) ([]store.Appointment, error) {
		return c.Group.Series.Move(context.Background(),
			group.SeriesMove{Which: group.Which{ID: list[1].ID, Actor: enginetest.Jo, Undoable: true},
				SlotStart: list[2].SlotStart})
	},
	// Each appointment is now at the old time of the previous one, so the undo again moves them in the opposite order.
	"a move a week earlier": func(c *enginetest.TestClinic, list []store.Appointment) ([]store.Appointment, error) {
		if _, err := c.Booking.Cancel(context.Background(),
			booking.CancelRequest{ID: list[0].ID, Actor: enginetest.Jo, Silent: true}); err != nil {
			return nil, err
		}
		time.Sleep(time.Second)
		return c.Group.Series.Move(context.Background(),
			group.SeriesMove{Which: group.Which{ID: list[1].ID, Actor: enginetest.Jo, Undoable: true},
				SlotStart: list[0].SlotStart})
	},
	"a move half an hour earlier": func(c *enginetest.TestClinic,
		list []store.Appointment) ([]store.Appointment, error) {
		return c.Group.Series.Move(context.Background(),
			group.SeriesMove{Which: group.Which{ID: list[1].ID, Actor: enginetest.Jo, Undoable: true},
				SlotStart: list[1].SlotStart.Add(-30 * time.Minute)})
	},
}

// TestSeriesUndoRestoresAll: every appointment is the same as before, the links in the patient's email open them, and
// no email about the change has been sent.
func TestSeriesUndoRestoresAll(t *testing.T) {
	t.Parallel()
	for name, change := range seriesChanges {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, folder := enginetest.NoticeClinic(t)
				list := mustBookSeries(c, weeklyFor(c, 4))
				time.Sleep(time.Second)
				changed, err := change(c, list)
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(9 * time.Second)
				// Any of its appointments identifies the change.
				back, err := c.Group.Series.Undo(t.Context(),
					group.Which{ID: changed[2].ID, Version: changed[2].Version, Actor: enginetest.Jo})
				if err != nil || len(back) != 3 {
					t.Fatalf("%d undone, %v; want 3", len(back), err)
				}
				for i, a := range back {
					was := list[i+1]
					if !reflect.DeepEqual(enginetest.Same(a), enginetest.Same(was)) || a.Version != was.Version+2 {
						t.Errorf("%d is\n%+v\nand was\n%+v", i, a, was)
					}
					if _, err := c.Booking.Managed(t.Context(), c.Booking.ManageToken(&was)); err != nil {
						t.Errorf("the manage link of %d fails: %v", i, err)
					}
				}
				time.Sleep(time.Minute)
				for _, a := range list {
					for notice := range c.Mails(folder, a.ID) {
						if notice != "series_confirmation" {
							t.Errorf("the patient got the email %s about an undone change", notice)
						}
					}
				}
				c.WantNoHolds()
				if d, err := c.Booking.Differences(t.Context()); err != nil || len(d) > 0 {
					t.Errorf("memory differs from the database: %v, %v", d, err)
				}
				if _, err := c.Group.Series.Undo(t.Context(),
					group.Which{ID: list[1].ID, Actor: enginetest.Jo}); !errors.Is(err, booking.ErrUndoLate) {
					t.Errorf("second undo: %v", err)
				}
			})
		})
	}
}

// TestUndoRefusesOneOfSeries: one of two appointments that were cancelled together cannot be undone alone, even if the
// other one has changed since.
func TestUndoRefusesOneOfSeries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _ := enginetest.NoticeClinic(t)
		list := mustBookSeries(c, weeklyFor(c, 3))
		time.Sleep(time.Second)
		if _, err := seriesChanges["a cancellation"](c, list); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		c.AnnSays(list[2].ID)
		if _, err := c.Group.Visit.Undo(t.Context(), booking.UndoRequest{ID: list[1].ID,
			Actor: enginetest.Jo}); !errors.Is(err, booking.ErrUndoLate) {
			t.Errorf("undo of one appointment: %v, want ErrUndoLate", err)
		}
	})
}

// TestSeriesUndoRefusesLateOrTaken: if one appointment cannot be restored, no appointment is, and the patient gets the
// email about the change.
func TestSeriesUndoRefusesLateOrTaken(t *testing.T) {
	t.Parallel()
	taken := func(c *enginetest.TestClinic, list []store.Appointment) {
		c.MustBook(booking.Request{AppointmentTypeID: "checkup", SpecialistID: list[2].SpecialistID,
			SlotStart: list[2].SlotStart, Source: store.SourceStaff, Actor: enginetest.Jo,
			Patient: store.Patient{Name: "Per Lind"}})
	}
	one := func(err error) bool {
		var conflict *group.ConflictError
		return errors.As(err, &conflict) && len(conflict.Conflicts) == 1 && conflict.Conflicts[0].Place == 1
	}
	late := func(err error) bool { return errors.Is(err, booking.ErrUndoLate) }
	for _, x := range []struct {
		name      string
		meanwhile func(c *enginetest.TestClinic, list []store.Appointment)
		by        record.Actor
		want      func(error) bool
	}{
		{"too late", func(*enginetest.TestClinic, []store.Appointment) {
			time.Sleep(13 * time.Second)
		}, "user:jo", late},
		{"another user", func(*enginetest.TestClinic, []store.Appointment) {}, "user:ann", late},
		{"a program", func(*enginetest.TestClinic, []store.Appointment) {}, "key:bootstrap", late},
		{"a time is gone", taken, "user:jo", one},
		{"one was changed since", func(c *enginetest.TestClinic, list []store.Appointment) {
			c.AnnSays(list[3].ID)
		}, "user:jo", late},
	} {
		t.Run(x.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, folder := enginetest.NoticeClinic(t)
				list := mustBookSeries(c, weeklyFor(c, 4))
				time.Sleep(time.Second)
				if _, err := seriesChanges["a cancellation"](c, list); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second)
				x.meanwhile(c, list)
				if _, err := c.Group.Series.Undo(t.Context(), group.Which{ID: list[1].ID, Actor: x.by}); !x.want(err) {
					t.Errorf("got %v", err)
				}
				c.WantNoHolds()
				for _, a := range list[1:] {
					if now, err := c.Booking.Appointment(t.Context(), a.ID); err != nil ||
						now.Status != store.Cancelled {
						t.Errorf("a refused undo restored %+v, %v", now, err)
					}
				}
				time.Sleep(time.Minute)
				if _, told := c.Mails(folder, list[1].ID)["series_cancellation"]; !told {
					t.Error("the patient got no email about the cancellation")
				}
			})
		})
	}
}
