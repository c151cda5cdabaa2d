package group_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/engine/group"
	"holdfast/engine/record"
	"holdfast/store"
)

// TestOneAppointmentIsNoGroup: an appointment that is in no series or visit is never changed as a group. All other
// appointments without a group are left alone.
func TestOneAppointmentIsNoGroup(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	var all []store.Appointment
	for n := range 2 {
		r := enginetest.BookingOf(n, "checkup")
		r.SlotStart = c.Start.Add(time.Duration(n) * time.Hour)
		all = append(all, c.MustBook(r))
	}
	alone := group.Which{ID: all[0].ID, Actor: enginetest.Jo}
	next := c.Start.Add(4 * time.Hour)
	for what, row := range map[string]struct{ got, want error }{
		"cancel a series": {second(c.Group.Series.Cancel(t.Context(), group.Cancel{Which: alone})), group.ErrNoSeries},
		"move a series": {second(c.Group.Series.Move(t.Context(), group.SeriesMove{Which: alone, SlotStart: next})),
			group.ErrNoSeries},
		"cancel a visit": {second(c.Group.Visit.Cancel(t.Context(), group.Cancel{Which: alone})), group.ErrNoVisit},
		"move a visit": {second(c.Group.Visit.Move(t.Context(), group.VisitMove{Which: alone, SlotStart: next})),
			group.ErrNoVisit},
	} {
		if !errors.Is(row.got, row.want) {
			t.Errorf("%s: got %v, want %v", what, row.got, row.want)
		}
	}
	wantAt(c, "afterwards", c.Confirmed(), 0, 60)
}

func second[T any](_ T, err error) error { return err }

// TestCutOffBindsPatientOfGroup: after the cut-off, a patient can neither cancel nor move a visit; the desk can. A
// visit that is already cancelled can be cancelled again at any time.
func TestCutOffBindsPatientOfGroup(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	cutOff := func(hours int) {
		if _, err := c.Clinic.UpdateSettings(t.Context(), "system", func(s *clinic.Settings) {
			s.ChangeCutoffHours = hours
		}); err != nil {
			t.Fatal(err)
		}
	}
	list := c.MustVisit(enginetest.Family(c.Start, "checkup", "checkup"))
	patient := group.Which{ID: list[1].ID, Actor: "client"}
	cutOff(24 * 30)
	if _, err := c.Group.Visit.Cancel(t.Context(), group.Cancel{Which: patient, CutOff: true}); !errors.Is(err,
		record.ErrCutOff) {
		t.Errorf("a patient cancels late: got %v, want ErrCutOff", err)
	}
	if _, err := c.Group.Visit.Move(t.Context(), group.VisitMove{Which: patient, SlotStart: c.Start.Add(time.Hour),
		CutOff: true}); !errors.Is(err, record.ErrCutOff) {
		t.Errorf("a patient moves late: got %v, want ErrCutOff", err)
	}
	desk := group.Which{ID: list[0].ID, Actor: enginetest.Jo}
	if _, err := c.Group.Visit.Move(t.Context(), group.VisitMove{Which: desk,
		SlotStart: c.Start.Add(time.Hour)}); err != nil {
		t.Errorf("the desk moves late: %v", err)
	}
	cutOff(1)
	for range 2 {
		list, err := c.Group.Visit.Cancel(t.Context(), group.Cancel{Which: patient, CutOff: true})
		if err != nil || len(list) != 2 || list[0].Status != store.Cancelled || list[1].Status != store.Cancelled {
			t.Errorf("a patient cancels in time, and again after the cut-off: got %+v, %v", list, err)
		}
		cutOff(24 * 30)
	}
	desk.ID = c.MustVisit(enginetest.Family(c.Start, "checkup", "checkup"))[0].ID
	if list, err := c.Group.Visit.Cancel(t.Context(), group.Cancel{Which: desk}); err != nil || len(list) != 2 {
		t.Errorf("the desk cancels late: got %+v, %v", list, err)
	}
}

// TestOnePersonOfVisitIsCancelled: the others keep their times, a repetition changes nothing, and the person must be of
// this visit. The caller must reach all people of the visit that the change concerns.
func TestOnePersonOfVisitIsCancelled(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	list := c.MustVisit(enginetest.Family(c.Start, "checkup", "checkup", "checkup"))
	other := enginetest.BookingOf(9, "checkup")
	other.SlotStart = c.Start.Add(5 * time.Hour)
	stranger := c.MustBook(other)
	which := group.Which{ID: list[0].ID, Actor: enginetest.Jo, Reaches: func(id string) bool { return id == "ada" }}
	for range 2 {
		got, err := c.Group.Visit.Cancel(t.Context(), group.Cancel{Which: which, Only: list[1].ID, Reason: "ill"})
		if err != nil || len(got) != 1 || got[0].ID != list[1].ID || got[0].Status != store.Cancelled ||
			got[0].Version != 2 {
			t.Fatalf("got %+v, %v; want the second person cancelled once", got, err)
		}
	}
	for what, r := range map[string]group.Cancel{
		"a person of no visit": {Which: which, Only: stranger.ID},
		"a reason of a page":   {Which: which, Only: list[2].ID, Reason: strings.Repeat("x", 501)},
	} {
		if _, err := c.Group.Visit.Cancel(t.Context(), r); !errors.As(err, new(*record.ValidationError)) {
			t.Errorf("%s: got %v, want a *ValidationError", what, err)
		}
	}
	which.Reaches = func(string) bool { return false }
	if _, err := c.Group.Visit.Cancel(t.Context(), group.Cancel{Which: which}); !errors.Is(err, record.ErrForbidden) {
		t.Errorf("a caller who does not reach the specialist: got %v, want ErrForbidden", err)
	}
	wantAt(c, "afterwards", c.Confirmed(), 0, 60, 300)
}
