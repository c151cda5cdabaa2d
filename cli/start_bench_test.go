package cli

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"holdfast/holds/redis/redistest"
	"holdfast/store"
	"holdfast/store/postgres"
	"holdfast/store/sqlite"
)

// BenchmarkStart measures the time from starting the program on a data directory with 100,000 appointments, half of
// them in the past, to its first listing of time slots.
func BenchmarkStart(b *testing.B) {
	dir := fullDir(b, 100_000)
	var took []time.Duration
	for b.Loop() {
		took = append(took, startOnce(b, dir))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(0, "ns/op")
}

// startOnce starts the program and returns the time to the first response.
func startOnce(b *testing.B, dir string, flags ...string) time.Duration {
	b.Helper()
	address := freeAddress(b)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	from := store.DateOf(time.Now().UTC()).AddDays(1)
	url := fmt.Sprintf("http://%s/v1/appointment-types/checkup/timeslots?from=%s&to=%s", address, from, from.AddDays(6))
	server := exec.Command(os.Args[0], append([]string{"serve", "--data", dir, "--listen", address}, flags...)...)
	server.Env = append(os.Environ(), asMain+"=1")
	began := time.Now()
	if err := server.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() {
		_ = server.Process.Signal(os.Interrupt)
		_ = server.Wait()
	}()
	for {
		answer, err := client.Get(url)
		if err != nil {
			if time.Since(began) > 20*time.Second {
				b.Fatal(err)
			}
			time.Sleep(time.Millisecond)
			continue
		}
		took := time.Since(began)
		answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			b.Fatalf("got %d from %s", answer.StatusCode, url)
		}
		return took
	}
}

// fullDir returns a data directory with this many appointments of 15 minutes for twenty specialists, half of them in
// the past.
func fullDir(b *testing.B, appointments int) string {
	return dirWith(b, appointments/2, appointments-appointments/2)
}

// dirWith returns a data directory with the given numbers of past and future appointments.
func dirWith(b *testing.B, over, coming int) string {
	b.Helper()
	dir := filepath.Join(b.TempDir(), "data")
	d, err := openDataDir(dir, time.Now(), 0)
	if err != nil {
		b.Fatal(err)
	}
	defer d.close()
	db, err := sqlite.Open(b.Context(), sqlite.Options{Path: d.file(databaseFile)})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	fill(b, db, over, coming)
	return dir
}

// fill creates the clinic and its appointments in an empty database, with four appointments per patient.
func fill(b *testing.B, db store.Store, over, coming int) {
	b.Helper()
	const specialists, batch = 20, 5000
	write := func(fn func(store.Tx) error) {
		if err := db.Write(b.Context(), fn); err != nil {
			b.Fatal(err)
		}
	}
	write(func(tx store.Tx) error {
		if err := tx.PutClinic(b.Context(), store.Clinic{Name: "Harbour Clinic", Timezone: "UTC"}); err != nil {
			return err
		}
		t := store.AppointmentType{ID: "checkup", Name: "Check-up", DurationMinutes: 15, SlotStepMinutes: 15,
			HorizonDays: 60, Capacity: 1,
			HoldTTLSeconds: 30, MaxHoldSeconds: 900, HoldQuota: 3, Active: true}
		for i := range specialists {
			p := store.Specialist{ID: fmt.Sprintf("s%02d", i), Name: "Dr", Timezone: "UTC", Active: true}
			if err := tx.PutSpecialist(b.Context(), p); err != nil {
				return err
			}
			var always []store.WeeklyWindow
			for day := range store.Weekday(7) {
				always = append(always, store.WeeklyWindow{Weekday: day +
					1, Window: store.Window{Start: 0, End: 24 * 60}})
			}
			if err := tx.PutWeeklyHours(b.Context(), p.ID, always); err != nil {
				return err
			}
			t.Specialists = append(t.Specialists, store.Assignment{SpecialistID: p.ID})
		}
		return tx.PutAppointmentType(b.Context(), t)
	})
	appointments := over + coming
	first := time.Now().UTC().Truncate(time.Hour).Add(-time.Duration(over/specialists) * 15 * time.Minute)
	for from := 0; from < appointments; from += batch {
		write(func(tx store.Tx) error {
			for n := from; n < min(from+batch, appointments); n++ {
				start := first.Add(time.Duration(n/specialists) * 15 * time.Minute)
				end := start.Add(15 * time.Minute)
				if err := tx.InsertAppointment(b.Context(), store.Appointment{
					ID: fmt.Sprintf("01900000-0000-7000-8000-%012x", n), AppointmentTypeID: "checkup",
					SpecialistID: fmt.Sprintf("s%02d", n%specialists), Owner: fmt.Sprintf("%032x", n),
					Status: store.Confirmed, Attendance: store.Expected, SlotStart: start, SlotEnd: end,
					BusyStart: start, BusyEnd: end, Patient: patientNumber(n / 4), Source: store.SourceWeb,
					UpstreamState: store.UpstreamNone, CreatedAt: first, UpdatedAt: first, Version: 1,
				}); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// patientNumber returns the n-th patient. Each patient has a different email address and phone number. The names repeat
// after 37,856 patients.
func patientNumber(n int) store.Patient {
	first := []string{"Rosa", "Jürgen", "María", "Per", "Zoë", "Anna", "Tom", "Ida"}
	last := []string{"Winter", "Großmann", "Lindqvist", "Haddad", "Brandt", "Sand", "Okafor"}
	return store.Patient{
		Name:  fmt.Sprintf("%s %s%c%c", first[n%8], last[n%7], 'a'+rune(n/8%26), 'a'+rune(n/208%26)),
		Email: fmt.Sprintf("p%d@example.org", n), Phone: fmt.Sprintf("030 %07d", n),
	}
}

// BenchmarkStartOfANode is like BenchmarkStart, for a node on PostgreSQL and Redis.
func BenchmarkStartOfANode(b *testing.B) {
	url, live := postgresURL(b), redistest.Start(b, redistest.Programs(b)[0])
	db, err := postgres.Open(b.Context(), postgres.Options{URL: url})
	if err != nil {
		b.Fatal(err)
	}
	fill(b, db, 50_000, 50_000)
	if err := db.Close(); err != nil {
		b.Fatal(err)
	}
	dir := filepath.Join(b.TempDir(), "data")
	startOnce(b, dir, "--database", url, "--redis", live.URL()) // creates the keys
	var took []time.Duration
	for b.Loop() {
		took = append(took, startOnce(b, dir, "--database", url, "--redis", live.URL()))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(0, "ns/op")
}

func freeAddress(b *testing.B) string {
	b.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}
