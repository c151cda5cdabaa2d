package postgres

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"holdfast/holds"
	"holdfast/holds/holdstest"
	"holdfast/store/postgres/postgrestest"
)

// cluster is the server for all tests here; if it is nil, absent is the reason why there is no
// PostgreSQL.
var (
	cluster *postgrestest.Server
	absent  error
)

// TestMain allows more waiting tests at once than there are processors, because the tests spend most of their time
// waiting.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "12"); err != nil {
		panic(err)
	}
	cluster, absent = postgrestest.Start()
	if absent != nil && !errors.Is(absent, postgrestest.ErrAbsent) {
		fmt.Fprintln(os.Stderr, absent)
		os.Exit(1)
	}
	if absent != nil {
		fmt.Fprintln(os.Stderr, "!!! SKIPPED: holds/postgres:", absent)
	}
	code := m.Run()
	if cluster != nil {
		cluster.Stop()
	}
	os.Exit(code)
}

// database returns the URL of a new, empty database.
func database(t testing.TB) string {
	t.Helper()
	if cluster == nil {
		t.Skip("SKIPPED:", absent)
	}
	return cluster.Create(t)
}

// migrated returns the URL of a new database that has been opened once.
func migrated(t testing.TB) string {
	t.Helper()
	if cluster == nil {
		t.Skip("SKIPPED:", absent)
	}
	return cluster.CreatePrepared(t, func(url string) error {
		b, err := Open(context.Background(), Options{URL: url, Timeout: patience})
		if err != nil {
			return err
		}
		return b.Close()
	})
}

// patience is the timeout of calls in tests that are not about timeouts: the machine may be busy.
const patience = 10 * time.Minute

// open opens a backend on a database and closes it at the end of the test. If the test sets a short timeout, a busy
// machine may need several attempts.
func open(t testing.TB, url string, o Options) *Backend {
	t.Helper()
	o.URL = url
	if o.Timeout == 0 {
		o.Timeout = patience
	}
	for began := time.Now(); ; {
		b, err := Open(t.Context(), o)
		if err == nil {
			closed(t, b)
			return b
		}
		if !errors.Is(err, holds.ErrUnavailable) || time.Since(began) > patience {
			t.Fatal(err)
		}
	}
}

// closed closes a backend at the end of the test.
func closed(t testing.TB, b *Backend) {
	t.Helper()
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestBackend runs the whole contract, each guarantee on a separate database.
func TestBackend(t *testing.T) {
	holdstest.Run(t, holdstest.Harness{
		Queue: 1024, Second: 500 * time.Millisecond, Late: 900 * time.Millisecond, Parallel: true,
		Open: func(t testing.TB, booked func(holds.Hold) bool) holds.Backend {
			url := migrated(t)
			return &withAppointments{open(t, url, Options{Booked: booked, WatchQueue: 1024}), appointments(t, url)}
		},
	})
}

// withAppointments is a backend whose changes are committed to its database's appointments.
type withAppointments struct {
	*Backend
	appointments *postgrestest.Appointments
}

// FollowBusy commits the change. In the product, the store has already committed it.
func (b *withAppointments) FollowBusy(ctx context.Context, change int64, freed, taken holds.Booked) error {
	row := func(x holds.Booked) postgrestest.Appointment {
		return postgrestest.Appointment{ID: x.AppointmentID, Specialist: x.SpecialistID, Start: x.SlotStart,
			End: x.SlotEnd}
	}
	if err := b.appointments.Change(change, row(freed), row(taken)); err != nil {
		return err
	}
	return b.Backend.FollowBusy(ctx, change, freed, taken)
}

// appointments creates the appointment tables in a database.
func appointments(t testing.TB, url string) *postgrestest.Appointments {
	t.Helper()
	a, err := cluster.Appointments(url)
	if err != nil {
		t.Fatal(err)
	}
	return a
}
