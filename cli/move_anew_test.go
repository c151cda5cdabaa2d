package cli

import (
	"errors"
	"log/slog"
	"path/filepath"
	"testing"

	"holdfast/store"
	"holdfast/store/postgres"
	"holdfast/store/sqlite"
)

// TestMigrateRestartsAfterChange: after an interruption, a second migrate copies everything again in two cases. Either
// the clinic has changed since then, even in a part that was already copied, or the partial target belongs to another
// clinic.
func TestMigrateRestartsAfterChange(t *testing.T) {
	url, dir := postgresURL(t), movableDir(t)
	discard := slog.New(slog.DiscardHandler)
	interrupted := func(dir string, to store.Carrier) {
		t.Helper()
		from, err := sqlite.OpenCarrier(t.Context(), filepath.Join(dir, databaseFile), dir, discard)
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Carry(t.Context(), from, to, func(string, int, int) {}); !errors.Is(err, errBroken) {
			t.Errorf("got %v, want an interrupted move", err)
		}
		if err := errors.Join(from.Close(), to.Close()); err != nil {
			t.Fatal(err)
		}
	}
	target := func() store.Carrier {
		t.Helper()
		to, err := postgres.OpenCarrier(t.Context(), url, discard)
		if err != nil {
			t.Fatal(err)
		}
		return &failing{to, "presence_log"}
	}
	interrupted(movableDir(t), target()) // another clinic
	interrupted(dir, target())
	c, err := sqlite.OpenCarrier(t.Context(), filepath.Join(dir, databaseFile), dir, discard)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.Raise(t.Context(), "appointments", "a1", "version", 99), c.Commit(t.Context()),
		c.Close()); err != nil {
		t.Fatal(err)
	}
	out := must(t, "migrate", "--data", dir, "--to", url)
	contains(t, "run again", out, "appointments         5\n", "all rows compared")
}
