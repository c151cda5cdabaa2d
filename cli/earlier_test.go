package cli

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestEarlierStatesAreListedAndExpire: restore --list shows the snapshot before an upgrade and what a restore replaced. The
// nightly work deletes them when they are older than --backup-keep, and no other file.
func TestEarlierStatesAreListedAndExpire(t *testing.T) {
	t.Parallel()
	dir := clinicDir(t)
	here := filepath.Join(dir, backupsDir)
	now := time.Now().UTC()
	stamp := func(days int) string { return now.AddDate(0, 0, -days).Format(stampFormat) }
	names := map[string]bool{ // by name: whether it outlives the night
		"before-0004-" + stamp(13) + ".db": true, "before-0009-" + stamp(15) + ".db": false,
		"replaced-" + stamp(13): true, "replaced-" + stamp(15): false,
		"replaced-by-hand": true, "before-tomorrow.db": true, stamp(15): true,
	}
	for name := range names {
		path := filepath.Join(here, name)
		if filepath.Ext(name) != ".db" {
			path = filepath.Join(path, databaseFile)
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	contains(t, "restore --list", must(t, "restore", "--list", "--data", dir),
		"before-0004-"+stamp(13)+".db  before an upgrade from schema version 3", "replaced-"+stamp(13)+"  replaced by a restore")

	cfg, _, err := resolved(t, nil, "--data", dir, "--backup-keep", "7,2,0")
	if err != nil {
		t.Fatal(err)
	}
	h, err := openHouse(t.Context(), cfg, houseOptions{log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer h.close()
	if err := h.newBackupKeeper(cfg.backups).keep(t.Context(), now); err != nil {
		t.Fatal(err)
	}
	for name, stays := range names {
		if _, err := os.Stat(filepath.Join(here, name)); (err == nil) != stays {
			t.Errorf("%s: %v; want it to stay: %v", name, err, stays)
		}
	}
}
