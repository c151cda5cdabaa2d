package home

import (
	"context"
	"flag"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"holdfast/holds"
	"holdfast/holds/holdstest"
	"holdfast/holds/postgres"
	"holdfast/holds/redis"
	"holdfast/holds/redis/redistest"
	"holdfast/store/postgres/postgrestest"
)

// cluster is the PostgreSQL server for all tests here; if it is nil, absent is the reason.
var (
	cluster *postgrestest.Server
	absent  error
)

func database(t testing.TB) string {
	t.Helper()
	if cluster == nil {
		t.Skip("SKIPPED:", absent)
	}
	return cluster.CreatePrepared(t, func(url string) error {
		b, err := postgres.Open(context.Background(), postgres.Options{URL: url, Timeout: patience})
		if err != nil {
			return err
		}
		return b.Close()
	})
}

// openNode opens one node with this Redis and this database.
func openNode(t testing.TB, redisURL, url string, booked func(holds.Hold) bool) *Backend {
	t.Helper()
	return openWith(t, redisURL, url, redis.Options{Booked: booked, Timeout: patience},
		Options{Probe: patience, Lease: patience})
}

// openWith opens a node with time limits for tests.
func openWith(t testing.TB, redisURL, url string, r redis.Options, o Options) *Backend {
	t.Helper()
	r.URL = redisURL
	primary, err := redis.Open(r)
	if err != nil {
		t.Fatal(err)
	}
	opened, err := postgres.Open(t.Context(), postgres.Options{URL: url,
		Booked: r.Booked, WatchQueue: 4096, Timeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	database := &withAppointments{Backend: opened, url: url}
	o.Primary, o.Database, o.Booked, o.WatchQueue = primary, database, r.Booked, 1024
	if o.Rest == 0 {
		// which doubles, because a busy machine might leave Redis more often than the test intends
		o.Rest = 100 * time.Millisecond
	}
	return New(t.Context(), o)
}

// nowhere is the address of a nonexistent Redis.
const nowhere = "redis://127.0.0.1:1/0"

// patience is the timeout for calls that must get a response, so that a primary that is merely slow, like everything on
// a busy machine, is not abandoned.
const patience = 10 * time.Minute

// TestContractInRedis runs the whole contract with live state in a real Redis and decisions in a real PostgreSQL.
func TestContractInRedis(t *testing.T) {
	t.Parallel()
	holdstest.Run(t, holdstest.Harness{
		Queue: 1024, Second: 500 * time.Millisecond, Late: 900 * time.Millisecond, Parallel: true,
		Open: func(t testing.TB, booked func(holds.Hold) bool) holds.Backend {
			b := openNode(t, redistest.Start(t, redistest.Programs(t)[0]).URL(), database(t), booked)
			awaitMode(t, b, "redis")
			return b
		},
	})
}

// TestContractInPostgres runs the whole contract in PostgreSQL, with a Redis that has never been reachable.
func TestContractInPostgres(t *testing.T) {
	t.Parallel()
	holdstest.Run(t, holdstest.Harness{
		Queue: 1024, Second: 500 * time.Millisecond, Late: 900 * time.Millisecond, Parallel: true,
		Open: func(t testing.TB, booked func(holds.Hold) bool) holds.Backend {
			return openNode(t, nowhere, database(t), booked)
		},
	})
}

// TestNodes runs the multi-node suite against every shared backend, with and without a Redis.
func TestNodes(t *testing.T) {
	t.Parallel()
	t.Run("primary reachable", func(t *testing.T) {
		t.Parallel()
		holdstest.RunNodes(t, holdstest.Nodes{Server: func(t testing.TB) func(func(holds.Hold) bool) holds.Backend {
			url, s := database(t), redistest.Start(t, redistest.Programs(t)[0])
			return func(booked func(holds.Hold) bool) holds.Backend {
				b := openNode(t, s.URL(), url, booked)
				awaitMode(t, b, "redis")
				return b
			}
		}})
	})
	t.Run("primary unreachable", func(t *testing.T) {
		t.Parallel()
		holdstest.RunNodes(t, holdstest.Nodes{Server: func(t testing.TB) func(func(holds.Hold) bool) holds.Backend {
			url := database(t)
			return func(booked func(holds.Hold) bool) holds.Backend {
				return openNode(t, nowhere, url, booked)
			}
		}})
	})
}

// TestMain allows more waiting tests at once than there are processors, because the tests spend most of their time
// waiting.
func TestMain(m *testing.M) {
	if os.Getenv(childRedis) != "" {
		serveChild()
		return
	}
	flag.Parse()
	if err := flag.Set("test.parallel", "12"); err != nil {
		panic(err)
	}
	cluster, absent = postgrestest.Start()
	if absent != nil {
		fmt.Fprintln(os.Stderr, "!!! SKIPPED: holds/home:", absent)
	}
	code := m.Run()
	if cluster != nil {
		cluster.Stop()
	}
	os.Exit(code)
}

// withAppointments is a database to which appointment changes are committed.
type withAppointments struct {
	*postgres.Backend
	url string
}

// rows stores the appointments of each database, by URL.
var rows sync.Map

// FollowBusy commits the change. In the product, the store has already committed it.
func (b *withAppointments) FollowBusy(ctx context.Context, change int64, freed, taken holds.Booked) error {
	open, _ := rows.LoadOrStore(b.url, sync.OnceValues(func() (*postgrestest.Appointments, error) {
		return cluster.Appointments(b.url)
	}))
	of, err := open.(func() (*postgrestest.Appointments, error))()
	if err != nil {
		return err
	}
	row := func(x holds.Booked) postgrestest.Appointment {
		return postgrestest.Appointment{ID: x.AppointmentID, Specialist: x.SpecialistID, Start: x.SlotStart,
			End: x.SlotEnd}
	}
	if err := of.Change(change, row(freed), row(taken)); err != nil {
		return err
	}
	return b.Backend.FollowBusy(ctx, change, freed, taken)
}
