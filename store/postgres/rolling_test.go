package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"holdfast/holds/node/nodetest"
	"holdfast/store"
)

// upgraded simulates the next version of this program. It adds a column and a table to the database, with the given
// oldestBeside.
func upgraded(t *testing.T, o Options, oldestBeside int) error {
	t.Helper()
	return withNext(t, o, oldestBeside, func(ctx context.Context, c *conn, next schema) error {
		return migrate(ctx, c, next, slog.New(slog.DiscardHandler), true)
	})
}

// withNext calls do with the schema of the next version of this program, which has one more migration.
func withNext(t *testing.T, o Options, oldestBeside int, do func(context.Context, *conn, schema) error) error {
	t.Helper()
	files := fstest.MapFS{}
	known, err := store.ReadMigrations(migrations)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range known {
		files["migrations/"+m.Name] = &fstest.MapFile{Data: []byte(m.Text)}
	}
	files[fmt.Sprintf("migrations/%04d_more.sql", len(known)+1)] = &fstest.MapFile{Data: []byte(
		"ALTER TABLE appointments ADD COLUMN colour text NOT NULL DEFAULT ''; CREATE TABLE colours (name text PRIMARY KEY);")}
	if err := o.fill(); err != nil {
		t.Fatal(err)
	}
	at, err := newServer(o)
	if err != nil {
		t.Fatal(err)
	}
	return at.with(t.Context(), func(ctx context.Context, c *conn) error {
		return do(ctx, c, schema{files: files, oldestBeside: oldestBeside})
	})
}

// TestPendingUpgradeSaysIfRolling checks that the list of pending migrations says whether the nodes can keep running,
// as the migration itself then decides.
func TestPendingUpgradeSaysIfRolling(t *testing.T) {
	o := Options{URL: database(t), Live: "postgres"}
	s := mustOpen(t, o)
	defer s.Close()
	for oldest, rolling := range map[int]bool{SchemaVersion() + 1: false, SchemaVersion(): true} {
		err := withNext(t, o, oldest, func(ctx context.Context, c *conn, next schema) error {
			u, err := due(ctx, c, next)
			if err == nil && (u.Rolling != rolling || len(u.Migrations) != 1) {
				t.Errorf("next to programs of schema %d or later: %+v, want rolling %t", oldest, u, rolling)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := upgraded(t, o, SchemaVersion()+1); !errors.Is(err, ErrOldNodes) {
		t.Errorf("migrating next to an incompatible node: got %v, want ErrOldNodes", err)
	}
}

// TestNodeRunsUnderNextSchema checks that a node runs, and another starts, under a later schema that is open to it.
// Verify accepts the writes of both.
func TestNodeRunsUnderNextSchema(t *testing.T) {
	o := Options{URL: database(t), Live: "postgres", Timeout: 2 * time.Second}
	a := mustOpen(t, o)
	defer a.Close()
	mustWrite(t, a, clinic)
	if err := upgraded(t, o, SchemaVersion()); err != nil {
		t.Fatalf("next to a compatible node: got %v", err)
	}
	b := mustOpen(t, o)
	defer b.Close()
	for i, s := range []*Store{a, b} {
		err := s.Write(t.Context(), func(tx store.Tx) error {
			x := booking("s0", i*60, i*60+30)
			return errors.Join(tx.InsertAppointment(t.Context(), x),
				tx.AppendAudit(t.Context(), store.AuditEntry{ID: x.ID, At: time.Now(), Actor: "system", Action: "appointment.created", Subject: "appointment:" + x.ID}))
		})
		if err != nil {
			t.Errorf("node %d: %v", i, err)
		}
		if err := s.Check(t.Context()); err != nil {
			t.Errorf("node %d finds: %v", i, err)
		}
	}
	q, err := OpenQueue(t.Context(), QueueOptions{URL: o.URL})
	if err != nil {
		t.Errorf("the queue of an older node: %v", err)
	} else if err := q.Close(); err != nil {
		t.Error(err)
	}
	if err := b.Backup(t.Context(), t.TempDir()+"/backup.sql"); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a backup by an older node, which does not have every table: got %v", err)
	}
	alone := o
	alone.Alone = true
	if s, err := Open(t.Context(), alone); err == nil {
		t.Error("an older program's command accepts a newer schema")
		s.Close()
	}
}

// TestMigrationDoesNotBlockNodes starts a migration during a batch and during a long query. It must wait for the batch,
// and it must not make other queries wait.
func TestMigrationDoesNotBlockNodes(t *testing.T) {
	o := Options{URL: database(t), Live: "postgres"}
	a := mustOpen(t, o)
	defer a.Close()
	mustWrite(t, a, clinic)
	for name, hold := range map[string]func(c *conn) error{
		"a batch": func(c *conn) error {
			_, err := c.exchange(t.Context(), stmt(`BEGIN`), stmt(`SELECT pg_advisory_xact_lock($1)`, int64(orderLock)),
				stmt(`UPDATE appointments SET version = version`))
			return err
		},
		"a long question": func(c *conn) error { return c.script(t.Context(), `BEGIN; SELECT count(*) FROM appointments`) },
	} {
		c, err := a.server.connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := hold(c); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- upgraded(t, o, SchemaVersion()) }()
		asked := 0
		for began := time.Now(); time.Since(began) < 2500*time.Millisecond; asked++ {
			asking := time.Now()
			if _, _, err := a.Appointments(t.Context(), store.AppointmentFilter{}); err != nil {
				t.Fatalf("waiting for %s: a query: %v", name, err)
			}
			// A migration that blocks queries would make this one wait until the transaction of hold has ended.
			if took := time.Since(asking); took > 2*time.Minute {
				t.Errorf("waiting for %s: a query took %v", name, took)
			}
		}
		select {
		case err := <-ended:
			t.Fatalf("waiting for %s: it ended with %v", name, err)
		default:
		}
		c.close()
		if err := <-ended; err != nil {
			t.Fatalf("after %s has ended: got %v", name, err)
		}
		t.Logf("behind %s: %d questions", name, asked)
		mustWrite(t, a, func(tx store.Tx) error { return tx.InsertAppointment(t.Context(), booking("s0", 600, 630)) })
		// Restore the previous state for the next case.
		if err := a.server.with(t.Context(), func(ctx context.Context, c *conn) error {
			return c.script(ctx, fmt.Sprintf(`ALTER TABLE appointments DROP COLUMN colour; DROP TABLE colours; DELETE FROM appointments;
				DELETE FROM schema_versions WHERE version = %d`, SchemaVersion()+1))
		}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSilentNodeDelaysNoStart checks that a node that stops responding while it publishes its schema does not keep the
// lock that a starting node waits for.
func TestSilentNodeDelaysNoStart(t *testing.T) {
	direct := Options{URL: database(t), Live: "postgres", Timeout: 20 * time.Second}
	s := mustOpen(t, direct)
	defer s.Close()
	dir, err := os.MkdirTemp("", "holdfast-line-") // t.TempDir() is too long for the name of a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	proxy := nodetest.Start(t, filepath.Join(dir, ".s.PGSQL.5432"), cluster.Socket())
	u, err := url.Parse(direct.URL)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("host", dir)
	u.RawQuery = q.Encode()
	o := Options{URL: u.String(), Timeout: time.Hour}
	if err := o.fill(); err != nil {
		t.Fatal(err)
	}
	at, err := newServer(o)
	if err != nil {
		t.Fatal(err)
	}
	c, err := at.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	proxy.Mute(true)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- tellVersion(ctx, c) }()
	other := mustConnect(t, s.server)
	published := func() bool {
		n, err := oneOn(t.Context(), other, (*row).Int, `SELECT count(*) FROM pg_locks
			WHERE locktype = 'advisory' AND granted AND objsubid = 2 AND pid = $1`, int64(c.pg.PID()))
		if err != nil {
			t.Fatal(err)
		}
		return n == 1
	}
	for began := time.Now(); !published(); {
		if time.Since(began) > 10*time.Minute {
			t.Fatal("the node does not publish its schema")
		}
	}
	if err := other.script(t.Context(), `SET lock_timeout = 10000`); err != nil {
		t.Fatal(err)
	}
	if _, err := other.exchange(t.Context(), stmt(`SELECT pg_advisory_lock($1)`, int64(orderLock+1))); err != nil {
		t.Errorf("a starting node waits for the silent one: %v", err)
	}
	cancel()
	if err := <-ended; err == nil {
		t.Error("the silent node got a response")
	}
}

func mustConnect(t *testing.T, at server) *conn {
	t.Helper()
	c, err := at.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.close)
	return c
}

// TestLoneCommandKeepsSchema opens the database with Alone while a node serves. It must be refused without migrating
// the schema, although that node could run under the next schema.
func TestLoneCommandKeepsSchema(t *testing.T) {
	o := Options{URL: database(t), Live: "postgres"}
	a := mustOpen(t, o)
	defer a.Close()
	last := SchemaVersion() // below, the newest migration is made pending
	if err := a.server.with(t.Context(), func(ctx context.Context, c *conn) error {
		_, err := c.exchange(ctx, stmt(`DELETE FROM schema_versions WHERE version = $1`, last))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	o.Alone = true
	if s, err := tryOpen(t, o); !errors.Is(err, ErrInUse) || errors.Is(err, ErrOldNodes) {
		t.Errorf("next to a node: got %v, want ErrInUse", err)
		if err == nil {
			s.Close()
		}
	}
	if u, err := Due(t.Context(), o.URL); err != nil || u.From != last-1 {
		t.Errorf("the schema is at %d, %v; want %d", u.From, err, last-1)
	}
}

// TestQueueRecordsItsVersion checks that a node that has only its queue's connections still counts as a running node,
// because it can still write.
func TestQueueRecordsItsVersion(t *testing.T) {
	o := Options{URL: database(t)}
	q, err := OpenQueue(t.Context(), QueueOptions{URL: o.URL})
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Add(t.Context(), store.Operation{ID: "op-1", Kind: store.Email, Status: store.OperationPending, CreatedAt: time.Now()}); err != nil {
		t.Fatal(err)
	}
	next := SchemaVersion() + 1
	if err := upgraded(t, o, next); !errors.Is(err, ErrOldNodes) {
		t.Errorf("while an old queue exists: got %v, want ErrOldNodes", err)
	}
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); ; { // PostgreSQL needs some time to end a connection
		if err := upgraded(t, o, next); err == nil {
			break
		} else if time.Since(began) > patience {
			t.Fatalf("after it has ended: got %v", err)
		}
	}
}

// TestBreakingUpgradeWaitsForOldNodes checks that an incompatible upgrade is refused while an old node runs, and that
// an old node cannot connect after the upgrade.
func TestBreakingUpgradeWaitsForOldNodes(t *testing.T) {
	lost := make(chan error, 1)
	o := Options{URL: database(t), Live: "postgres", Timeout: 2 * time.Second, OnFatal: func(err error) { lost <- err }}
	a := mustOpen(t, o)
	defer a.Close()
	next := SchemaVersion() + 1
	if err := upgraded(t, o, next); !errors.Is(err, ErrOldNodes) {
		t.Fatalf("while an old node serves: got %v, want ErrOldNodes", err)
	}
	at, err := newServer(o)
	if err != nil {
		t.Fatal(err)
	}
	err = at.with(t.Context(), func(ctx context.Context, c *conn) error {
		if n, err := oneOn(ctx, c, (*row).Int, `SELECT count(*) FROM schema_versions`); err != nil || n != next-1 {
			t.Errorf("the schema is at %d, %v; want %d", n, err, next-1)
		}
		// Disconnect the old node, and change the schema before it reconnects.
		for began := time.Now(); time.Since(began) < patience; {
			if _, err := c.exchange(ctx, stmt(`SELECT pg_terminate_backend($1::int)`, int64(a.pid.Load()))); err != nil {
				return err
			}
			if err := upgraded(t, o, next); err == nil {
				return nil
			} else if !errors.Is(err, ErrInUse) {
				return err
			}
		}
		return errors.New("it was refused without other nodes")
	})
	if err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-lost:
		if !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("the old node: got %v", err)
		}
	case <-time.After(patience):
		t.Error("the old node still serves")
	}
	if s, err := Open(t.Context(), o); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("an old node that starts: got %v, want ErrInvalid", err)
		if err == nil {
			s.Close()
		}
	}
}

// TestPendingMigrationsAreReported checks that Due lists all migrations for an empty database and leaves it empty, and
// lists none for a database with this program's schema.
func TestPendingMigrationsAreReported(t *testing.T) {
	t.Parallel()
	o := Options{URL: database(t)}
	for range 2 {
		if u, err := Due(t.Context(), o.URL); err != nil || u.From != 0 || len(u.Migrations) != SchemaVersion() {
			t.Errorf("of an empty database: %+v, %v; want all of %d migrations", u, err, SchemaVersion())
		}
	}
	if err := o.fill(); err != nil {
		t.Fatal(err)
	}
	at, err := newServer(o)
	if err != nil {
		t.Fatal(err)
	}
	err = at.with(t.Context(), func(ctx context.Context, c *conn) error {
		n, err := oneOn(ctx, c, (*row).Int, `SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace`)
		if err == nil && n != 0 {
			t.Errorf("it left %d objects in the database", n)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	s := mustOpen(t, o)
	defer s.Close()
	if u, err := Due(t.Context(), o.URL); err != nil || u.From != SchemaVersion() || len(u.Migrations) != 0 {
		t.Errorf("of a current database: %+v, %v; want no migration", u, err)
	}
}
