package person

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/store"
	"holdfast/store/sqlite"
)

// indexed is a clinic whose index of people follows its appointments.
type indexed struct {
	testing.TB
	store  *sqlite.Store
	people *People
	booked int
}

func newIndexed(t testing.TB, log *slog.Logger) *indexed {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "holdfast.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Check(context.Background()); err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	err = db.Write(t.Context(), func(tx store.Tx) error {
		if err := tx.PutSpecialist(t.Context(), store.Specialist{ID: "ada"}); err != nil {
			return err
		}
		return tx.PutAppointmentType(t.Context(), store.AppointmentType{ID: "checkup", DurationMinutes: 15, SlotStepMinutes: 15, Capacity: 1})
	})
	if err != nil {
		t.Fatal(err)
	}
	return &indexed{TB: t, store: db, people: New(Options{Store: db, Logger: log})}
}

// book inserts n appointments for n people.
func (x *indexed) book(n int) {
	x.Helper()
	err := x.store.Write(x.Context(), func(tx store.Tx) error {
		for range n {
			at := time.UnixMilli(int64(x.booked) * 900_000)
			a := store.Appointment{
				ID: fmt.Sprint("a", x.booked), AppointmentTypeID: "checkup", SpecialistID: "ada",
				Status: store.Confirmed, Attendance: store.Expected, Source: store.SourceStaff, UpstreamState: store.UpstreamNone, Version: 1,
				SlotStart: at, SlotEnd: at.Add(15 * time.Minute), BusyStart: at, BusyEnd: at.Add(15 * time.Minute),
				Patient: store.Patient{Name: "Rosa Winter", Phone: fmt.Sprintf("030 %07d", x.booked)},
			}
			if err := tx.InsertAppointment(x.Context(), a); err != nil {
				return err
			}
			x.booked++
		}
		return nil
	})
	if err != nil {
		x.Fatal(err)
	}
	for range n {
		x.people.FollowAppointment()
	}
}

// rest returns how many appointments are missing from the index once Run is waiting.
func (x *indexed) rest() int64 {
	x.Helper()
	synctest.Wait()
	_, rest, err := x.store.PeopleIndexed(x.Context())
	if err != nil {
		x.Fatal(err)
	}
	return rest
}

// run starts Run and stops it when the test ends.
func (x *indexed) run() (stop func()) {
	ctx, cancel := context.WithCancel(x.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		x.people.Run(ctx)
	}()
	return func() {
		cancel()
		<-ended
	}
}

func TestRunIndexesAfterRush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newIndexed(t, nil)
		x.book(500)
		defer x.run()()
		if rest := x.rest(); rest >= indexAfter {
			t.Errorf("after the start, the index lacks %d appointments, want fewer than %d", rest, indexAfter)
		}
		before := x.rest()
		for range 5 {
			x.book(2 * indexBusy)
			time.Sleep(indexPause / 2)
		}
		if rest, want := x.rest(), before+10*indexBusy; rest != want {
			t.Errorf("during a rush, the index lacks %d appointments, want %d", rest, want)
		}
		time.Sleep(3 * indexPause)
		if rest := x.rest(); rest >= indexAfter {
			t.Errorf("after the rush, the index lacks %d appointments, want fewer than %d", rest, indexAfter)
		}
	})
}

func TestRunIndexesDuringLongRush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newIndexed(t, nil)
		defer x.run()()
		most := int64(0)
		for range 12 {
			x.book(1000)
			time.Sleep(indexPause / 2)
			most = max(most, x.rest())
		}
		if limit := int64(maxUnindexed + 2000); most > limit || most < maxUnindexed-1000 {
			t.Errorf("the index lacked up to %d appointments, want about %d", most, maxUnindexed)
		}
	})
}

// TestIndexReportsProgress: after an upgrade, the index lacks every appointment. The log shows the progress.
func TestIndexReportsProgress(t *testing.T) {
	var log bytes.Buffer
	x := newIndexed(t, slog.New(slog.NewTextHandler(&log, nil)))
	x.book(longIndex)
	if err := x.people.Index(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"indexing people; searches are slower until indexing ends", `"people indexed" appointments=10000`} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not have %q:\n%s", want, &log)
		}
	}
	found, err := x.people.Find(t.Context(), "rosa wintr 0004242", "", 12)
	if err != nil || len(found) != 1 || found[0].AppointmentID != "a4242" {
		t.Errorf("found %+v, %v", found, err)
	}
}
