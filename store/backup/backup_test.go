package backup

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/store"
	"holdfast/store/sqlite"
)

// clinicDir creates a data directory with a database and keys.
func clinicDir(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.MkdirAll(filepath.Join(dir, Folder), 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(dir, DatabaseFile)})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Write(t.Context(), func(tx store.Tx) error {
		return tx.PutClinic(t.Context(), store.Clinic{Name: "Harbour", Timezone: "Europe/Berlin"})
	})
	if err := errors.Join(err, s.Close(), os.WriteFile(filepath.Join(dir, KeysFile), []byte("the keys of a test\n"),
		0o600)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// transcript is a log that a test can read while other goroutines write to it.
type transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (t *transcript) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.Write(b)
}

func (t *transcript) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}

// server is an open database with its backups.
type server struct {
	*Backups
	store *sqlite.Store
	log   *transcript
	stop  func()
}

// opened opens the database in a data directory. The database is closed when the test ends, or earlier by stop.
func opened(t *testing.T, dir string, plan Plan) *server {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(dir, DatabaseFile)})
	if err != nil {
		t.Fatal(err)
	}
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	f := &server{store: s, log: &transcript{}}
	f.Backups = New(Options{
		Data: dir, Store: s, Plan: plan, Logger: slog.New(slog.NewTextHandler(f.log, nil)),
		Zone:          func() *time.Location { return berlin },
		DatabaseBytes: func() (uint64, bool) { return 0, false },
		Notify:        func(context.Context, time.Time, string) error { return nil },
	})
	f.stop = sync.OnceFunc(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { f.stop() })
	return f
}

// following opens the database and writes incremental backups as a server does, until stop.
func following(t *testing.T, dir string, plan Plan) *server {
	t.Helper()
	f := opened(t, dir, plan)
	k := f.Follower()
	if k == nil {
		return f
	}
	stop := f.looping(plan.Every, k.Run, func(ctx context.Context) {
		k.Finish(ctx)
		if err := k.Close(); err != nil {
			t.Error(err)
		}
	})
	f.stop = sync.OnceFunc(stop)
	return f
}

// nightly opens the database and makes daily backups as a server does, until the test ends.
func nightly(t *testing.T, dir string, plan Plan) *Daily {
	t.Helper()
	f := opened(t, dir, plan)
	d := f.Daily()
	f.stop = sync.OnceFunc(f.looping(time.Minute, d.Run, func(context.Context) {}))
	return f.Daily()
}

// looping calls run at an interval until the test calls stop. Then it calls finish.
func (f *server) looping(every time.Duration, run func(context.Context, time.Time),
	finish func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case now := <-tick.C:
				run(ctx, now)
			case <-ctx.Done():
				finish(ctx)
				return
			}
		}
	}()
	closeStore := f.stop
	return func() {
		cancel()
		<-ended
		closeStore()
	}
}

// newFollower returns a Follower that the test runs itself.
func (f *server) newFollower(t *testing.T, plan Plan) *Follower {
	t.Helper()
	if plan.Every == 0 {
		plan.Every = time.Minute
	}
	f.Plan = plan
	return f.Follower()
}

// note writes an audit entry that a test can find after a restore.
func (f *server) note(t *testing.T, id string) {
	t.Helper()
	err := f.store.Write(t.Context(), func(tx store.Tx) error {
		return tx.AppendAudit(t.Context(), store.AuditEntry{ID: id, At: time.Now(), Actor: "system",
			Action: "test.noted"})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// createBackup makes a backup of a data directory without a server.
func createBackup(t *testing.T, dir, to string) {
	t.Helper()
	f := opened(t, dir, Plan{})
	defer f.stop()
	if err := f.Create(t.Context(), to); err != nil {
		t.Fatal(err)
	}
}

// restored restores a backup into an empty data directory.
func restored(t *testing.T, path string, key *Key, access Access, until time.Time) (dir string, b *Opened,
	done Restored, err error) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "data")
	o := OpenOptions{Path: path, Data: dir, Access: access, Until: until,
		ParseKeys: func(text []byte) ([]byte, error) { return text, nil }}
	if key != nil {
		o.ReadKey = func() (Key, error) { return *key, nil }
	}
	if b, err = Open(t.Context(), o); err != nil {
		return dir, b, done, err
	}
	if err := os.MkdirAll(filepath.Join(dir, Folder), 0o700); err != nil {
		t.Fatal(err)
	}
	done, err = b.Restore(t.Context(), dir, time.Now())
	return dir, b, done, errors.Join(err, b.Close())
}

func newKey(t testing.TB) *Key {
	t.Helper()
	key, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	return &key
}

// sealing creates a key for a data directory.
func sealing(t *testing.T, dir string) *Key {
	t.Helper()
	key := newKey(t)
	if err := key.Store(dir); err != nil {
		t.Fatal(err)
	}
	return key
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func contains(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s: %q lacks %q", what, text, part)
		}
	}
}
