package cli

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/store"
	"holdfast/store/bolt"
	"holdfast/store/sqlite"
)

// servedClinic returns a data directory that was served once, and the backup in it.
func servedClinic(t *testing.T) (dir, backup string) {
	t.Helper()
	dir = clinicDir(t)
	_, _, stop, ended := served(t, dir)
	backup = strings.TrimSpace(must(t, "backup", "--data", dir))
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	return dir, backup
}

func copied(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestLostDatabaseIsRefused covers a database that is missing, empty, older than the acknowledged changes, or a
// different one. serve and verify refuse it and name a restore command, and that command works.
func TestLostDatabaseIsRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("starts the server eight times")
	}
	t.Parallel()
	for name, c := range map[string]struct {
		lose func(t *testing.T, dir, older string)
		says string
	}{
		"missing": {func(t *testing.T, dir, _ string) {
			if err := os.Remove(filepath.Join(dir, databaseFile)); err != nil {
				t.Fatal(err)
			}
		}, "missing or empty"},
		"empty": {func(t *testing.T, dir, _ string) {
			if err := os.Truncate(filepath.Join(dir, databaseFile), 0); err != nil {
				t.Fatal(err)
			}
		}, "missing or empty"},
		"without its log, or an older copy": {func(t *testing.T, dir, older string) {
			copied(t, older, filepath.Join(dir, databaseFile))
		}, "lacks changes that were acknowledged"},
		"of another clinic": {func(t *testing.T, dir, _ string) {
			copied(t, filepath.Join(clinicDir(t), databaseFile), filepath.Join(dir, databaseFile))
		}, "do not belong together"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, _ := servedClinic(t)
			older := filepath.Join(t.TempDir(), "older.db")
			copied(t, filepath.Join(dir, databaseFile), older)
			_, _, stop, ended := served(t, dir)
			must(t, "import", "--data", dir, harbour)
			backup := strings.TrimSpace(must(t, "backup", "--data", dir))
			want := must(t, "export", "--data", dir)
			stop()
			if err := <-ended; err != nil {
				t.Fatal(err)
			}
			c.lose(t, dir, older)
			for _, args := range [][]string{{"serve", "--listen", "127.0.0.1:0"}, {"verify"}} {
				got := command(t, nil, "", append(args, "--data", dir)...)
				if got.code != 1 {
					t.Fatalf("%v: got %+v, want exit code 1", args, got)
				}
				if args[0] == "serve" || name != "missing" { // every command reports that there is none
					contains(t, args[0], got.stderr, c.says, "holdfast restore --data "+dir+" "+backup, queueFile+
						" away")
				}
			}
			must(t, "restore", "--data", dir, backup)
			if got := must(t, "export", "--data", dir); got != want {
				t.Errorf("after the restore: got %s, want %s", got, want)
			}
			_, _, stop, ended = served(t, dir)
			stop()
			if err := <-ended; err != nil {
				t.Errorf("serving the restored data: %v", err)
			}
		})
	}
}

// TestMarkerFollowsWithinSecond: the marker contains the last change at most one second later, and again when the
// server stops.
func TestMarkerFollowsWithinSecond(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(dir, databaseFile)})
		if err != nil {
			t.Fatal(err)
		}
		q, err := bolt.Open(t.Context(), bolt.Options{Path: filepath.Join(dir, queueFile)})
		if err != nil {
			t.Fatal(err)
		}
		h := &house{store: s, queue: q, file: q, log: slog.New(slog.NewTextHandler(io.Discard, nil))}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); h.keepMarker(ctx) }()
		change := func() {
			t.Helper()
			err := s.Write(ctx, func(tx store.Tx) error {
				return tx.PutClinic(ctx, store.Clinic{Name: "Harbour", Timezone: "UTC"})
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		kept := func(when string) {
			t.Helper()
			want := bolt.Marker{DatabaseID: s.ID(), Change: s.LastChange()}
			if got, err := q.Marker(t.Context()); err != nil || got != want {
				t.Errorf("%s: got %+v, %v; want %+v", when, got, err, want)
			}
		}
		synctest.Wait()
		kept("at the start")
		change()
		time.Sleep(markerInterval + time.Millisecond) // in the bubble's time
		synctest.Wait()
		kept("after a second")
		change()
		stop()
		<-done
		kept("at the end")
		if err := errors.Join(q.Close(), s.Close()); err != nil {
			t.Error(err)
		}
	})
}
