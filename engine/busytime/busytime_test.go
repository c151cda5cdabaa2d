package busytime_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/busytime"
	"holdfast/engine/enginetest"
	"holdfast/engine/notice"
	"holdfast/engine/token"
	"holdfast/store"
)

// elsewhere is a server that hosts a specialist's external calendar.
type elsewhere struct {
	*httptest.Server
	mu     sync.Mutex
	text   string
	status int
	asked  int
	// unchanged counts the responses that report no change.
	unchanged int
	wait      chan struct{} // nil means that the server responds immediately
}

func newElsewhere(t *testing.T) *elsewhere {
	e := &elsewhere{status: 200}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.mu.Lock()
		text, status, wait := e.text, e.status, e.wait
		e.asked++
		e.mu.Unlock()
		if wait != nil {
			<-wait
		}
		tag := fmt.Sprintf("\"%x\"", sha256.Sum256([]byte(text)))
		w.Header().Set("ETag", tag)
		switch {
		case status != 200:
			w.WriteHeader(status)
		case r.Header.Get("If-None-Match") == tag:
			e.mu.Lock()
			e.unchanged++
			e.mu.Unlock()
			w.WriteHeader(http.StatusNotModified)
		default:
			_, _ = w.Write([]byte(text))
		}
	}))
	t.Cleanup(e.Close)
	return e
}

// has replaces the calendar with a new one that contains these events.
func (e *elsewhere) has(status int, events ...string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.status, e.text = status, "BEGIN:VCALENDAR\r\nVERSION:2.0\r\n"+strings.Join(events, "")+"END:VCALENDAR\r\n"
}

func busyFrom(at time.Time, minutes int) string {
	const layout = "20060102T150405Z"
	return "BEGIN:VEVENT\r\nUID:" + at.Format(layout) + "\r\nSUMMARY:Canary of the dentist\r\nDTSTART:" +
		at.Format(layout) + "\r\nDTEND:" +
		at.Add(time.Duration(minutes)*time.Minute).Format(layout) + "\r\nEND:VEVENT\r\n"
}

// busyClinic opens a clinic that is allowed to fetch calendars from this machine. It fetches them in the background
// only if a test starts that.
func busyClinic(t *testing.T, db store.Store, keys *token.Keyring) *engine.Engine {
	t.Helper()
	e, err := engine.New(context.Background(), engine.Options{Store: db,
		Holds: enginetest.Holds(t, db), Keyring: keys,
		Fetcher: notice.NewFetcher(notice.FetchOptions{AllowPrivate: true})})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ended, end := context.WithCancel(context.Background())
		end()
		e.Run(ended)
	})
	return e
}

// TestBusyTimeRefusesBooking: the engine refuses a booking while the specialist is busy in an external calendar. An
// existing appointment is not cancelled but becomes a conflict. If the source fails, the busy times from the last read
// remain. Once the source no longer lists a time, that time is free again.
func TestBusyTimeRefusesBooking(t *testing.T) {
	t.Parallel()
	db := enginetest.Database(t)
	e := busyClinic(t, db, token.Generate(time.Now()))
	ctx, at := t.Context(), enginetest.Noon(time.UTC, 2)
	if _, err := e.Clinic.Import(ctx, "system", enginetest.ClinicFile(map[string]int{"ada": 10})); err != nil {
		t.Fatal(err)
	}
	c := &enginetest.TestClinic{Engine: e, T: t, Store: nil, Start: at}
	r := enginetest.BookingOf(1, "checkup")
	r.SlotStart = at
	booked := c.MustBook(r)
	far := newElsewhere(t)
	far.has(200, busyFrom(at.Add(-10*time.Minute), 130))
	if err := e.BusyTime.Set(ctx, "user:olga", "ada", far.URL+"/secret-path/basic.ics"); err != nil {
		t.Fatal(err)
	}
	state := func() busytime.State {
		t.Helper()
		s, err := e.BusyTime.Of(ctx, "ada")
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	read := func() busytime.State {
		t.Helper()
		if err := e.BusyTime.Read(ctx, "ada"); err != nil {
			t.Fatal(err)
		}
		return state()
	}
	if s := state(); !s.IsSet || s.Host != "127.0.0.1" || !s.ReadAt.IsZero() || s.Blocks != 0 {
		t.Errorf("before the first read: %+v", s)
	}
	if s := read(); s.Blocks != 1 || s.Failure != "" || s.ReadAt.IsZero() || s.IsOld || len(s.Conflicts) != 1 ||
		s.Conflicts[0].ID != booked.ID {
		t.Errorf("read: %+v", s)
	}
	if c.Slot(2, "checkup", at.Add(time.Hour), "ada") != nil ||
		c.Slot(2, "checkup", at.Add(3*time.Hour), "ada") == nil {
		t.Error("the listing differs from the free times of both calendars")
	}
	r = enginetest.BookingOf(2, "checkup")
	r.SlotStart = at.Add(time.Hour)
	if _, err := c.Book(r); err == nil {
		t.Error("a booking of busy time succeeded")
	}
	blocks, _ := e.Clinic.Blocks("ada")
	if len(blocks) != 1 || blocks[0].Source != store.BlockCalendar || blocks[0].Reason != "" {
		t.Fatalf("the blocks are %+v", blocks)
	}
	if err := e.Clinic.DeleteBlock(ctx, "user:olga", blocks[0].ID); err == nil ||
		!strings.Contains(err.Error(), "external calendar") {
		t.Errorf("the block of an external calendar could be deleted: %v", err)
	}

	generation := func() any { return e.LastChange() }
	before := generation()
	if s := read(); s.Blocks != 1 || generation() != before {
		t.Errorf("unchanged: %+v, and the feed has a change: %v, %v", s, before, generation())
	}
	for _, failing := range []struct {
		status int
		text   string
		want   string
	}{{404, "", "status_404"}, {503, "", "status_503"}, {200, "BEGIN:VEVENT\r\nUID:broken off\r\n", "not_a_calendar"}} {
		far.has(failing.status, failing.text)
		if s := read(); s.Failure != failing.want || s.Blocks != 1 || s.ReadAt.IsZero() {
			t.Errorf("%s: %+v", failing.want, s)
		}
	}
	far.has(200, busyFrom(at.Add(3*time.Hour), 30))
	if s := read(); s.Failure != "" || s.Blocks != 1 || len(s.Conflicts) != 0 {
		t.Errorf("after the change: %+v", s)
	}
	if c.Slot(2, "checkup", at.Add(time.Hour), "ada") == nil ||
		c.Slot(2, "checkup", at.Add(3*time.Hour), "ada") != nil {
		t.Error("a removed busy time is not free, or an added one is")
	}
	if got, err := e.Booking.Appointment(ctx, booked.ID); err != nil || got.Status != store.Confirmed ||
		got.Version != booked.Version {
		t.Errorf("the conflicting appointment is %+v, %v", got, err)
	}

	// Neither the clinic file nor the database contains the calendar's text or its address.
	all, err := db.BusyCalendars(ctx)
	if err != nil || len(all) != 1 || strings.Contains(fmt.Sprintf("%+v", all), "secret-path") {
		t.Errorf("kept is %+v, %v", all, err)
	}
	keys := token.Generate(time.Now())
	if err := e.BusyTime.Seal(ctx); err != nil {
		t.Fatal(err)
	}
	e.Keys.Replace(keys)
	if s := read(); s.Failure != busytime.FailedSealed || s.Blocks != 1 {
		t.Errorf("without the key: %+v", s)
	}
	if err := e.BusyTime.Remove(ctx, "user:olga", "ada"); err != nil {
		t.Fatal(err)
	}
	if s := state(); s.IsSet || s.Blocks != 0 {
		t.Errorf("removed: %+v", s)
	}
	if c.Slot(2, "checkup", at.Add(3*time.Hour), "ada") == nil {
		t.Error("the busy time of a removed calendar is not free")
	}
}

// TestCalendarIsFetchedOnce: of two processes on one database, only one fetches a calendar that is due. A response for
// a calendar that was removed or replaced during the fetch is discarded.
func TestCalendarIsFetchedOnce(t *testing.T) {
	t.Parallel()
	db := enginetest.Database(t)
	keys := token.Generate(time.Now()) // each process must decrypt addresses that the other has encrypted
	one, ctx, at := busyClinic(t, db, keys), t.Context(), enginetest.Noon(time.UTC, 2)
	if _, err := one.Clinic.Import(ctx, "system", enginetest.ClinicFile(map[string]int{"ada": 10})); err != nil {
		t.Fatal(err)
	}
	two := busyClinic(t, db, keys)
	far := newElsewhere(t)
	far.has(200, busyFrom(at, 60))
	if err := one.BusyTime.Set(ctx, "user:olga", "ada", far.URL); err != nil {
		t.Fatal(err)
	}
	rounds, end := context.WithCancel(ctx)
	var all sync.WaitGroup
	for range 8 { // enough for several concurrent checks
		for _, e := range []*engine.Engine{one, two} {
			all.Go(func() { e.BusyTime.Run(rounds) })
		}
	}
	for {
		s, err := one.BusyTime.Of(ctx, "ada")
		if err != nil || !s.ReadAt.IsZero() {
			break
		}
		if s.Failure != "" {
			t.Fatalf("the log about the failed read: %s", s.Failure)
		}
		time.Sleep(5 * time.Millisecond)
	}
	end()
	all.Wait()
	if far.asked != 1 {
		t.Errorf("%d requests for the calendar, want one", far.asked)
	}

	wait := make(chan struct{})
	far.mu.Lock()
	far.wait = wait
	far.mu.Unlock()
	onItsWay := func(asked int, change func() error) {
		t.Helper()
		done := make(chan error, 1)
		go func() { done <- one.BusyTime.Read(ctx, "ada") }()
		for n := 0; n < asked; time.Sleep(time.Millisecond) {
			far.mu.Lock()
			n = far.asked
			far.mu.Unlock()
		}
		if err := change(); err != nil {
			t.Fatal(err)
		}
		wait <- struct{}{}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	far.has(200, busyFrom(at, 90))
	onItsWay(2, func() error { return one.BusyTime.Set(ctx, "user:olga", "ada", far.URL+"/another") })
	if s, err := one.BusyTime.Of(ctx, "ada"); err != nil || !s.ReadAt.IsZero() {
		t.Errorf("a calendar that was never requested has been read: %+v, %v", s, err)
	}
	onItsWay(3, func() error { return one.BusyTime.Remove(ctx, "user:olga", "ada") })
	if blocks, _ := one.Clinic.Blocks("ada"); len(blocks) != 0 {
		t.Errorf("a removed calendar still has %+v", blocks)
	}
}

// TestCalendarIsReadAgainInNewZone: days and times without a zone are in the specialist's zone. After the specialist
// moves to another zone, the engine parses the calendar again, even though the calendar has not changed.
func TestCalendarIsReadAgainInNewZone(t *testing.T) {
	t.Parallel()
	e, began := busyClinic(t, enginetest.Database(t), token.Generate(time.Now())), time.Now().UTC()
	ctx, at := t.Context(), enginetest.Noon(time.UTC, 2)
	if _, err := e.Clinic.Import(ctx, "system", enginetest.ClinicFile(map[string]int{"ada": 10})); err != nil {
		t.Fatal(err)
	}
	far := newElsewhere(t)
	const floating = "20060102T150405"
	far.has(200, "BEGIN:VEVENT\r\nUID:lunch\r\nDTSTART:"+at.Format(floating)+"\r\nDTEND:"+
		at.Add(time.Hour).Format(floating)+"\r\nEND:VEVENT\r\n")
	if err := e.BusyTime.Set(ctx, "user:olga", "ada", far.URL); err != nil {
		t.Fatal(err)
	}
	for _, zone := range []string{"UTC", "UTC", "America/New_York", "Asia/Tokyo"} {
		if _, err := e.Clinic.UpdateSpecialist(ctx, "system", "ada", func(p *store.Specialist) {
			p.Timezone = zone
		}); err != nil {
			t.Fatal(err)
		}
		if err := e.BusyTime.Read(ctx, "ada"); err != nil {
			t.Fatal(err)
		}
		place, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		want := time.Date(at.Year(), at.Month(), at.Day(), at.Hour(), 0, 0, 0, place)
		blocks, err := e.Clinic.Blocks("ada")
		if err != nil || len(blocks) != 1 || !blocks[0].Start.Equal(want) {
			t.Errorf("in %s: got %+v, %v; want busy from %s", zone, blocks, err, want)
		}
	}
	far.mu.Lock()
	defer far.mu.Unlock()
	// on a new day, the calendar is parsed again whatever the zone
	if far.unchanged != 1 && time.Now().UTC().Day() == began.Day() {
		t.Errorf("%d answers \"not modified\", want one, in the zone in which it was read", far.unchanged)
	}
}
