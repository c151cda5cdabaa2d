package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/store/backup"
)

// TestEarlierStatesAreListedAndExpire: restore --list shows the snapshot made before an upgrade, and the files that a
// restore replaced. The nightly task deletes these files when they are older than --backup-keep allows, and deletes
// nothing else.
func TestEarlierStatesAreListedAndExpire(t *testing.T) {
	t.Parallel()
	dir := clinicDir(t)
	here := filepath.Join(dir, backupsDir)
	now := time.Now().UTC()
	stamp := func(days int) string { return now.AddDate(0, 0, -days).Format(backup.StampFormat) }
	names := map[string]bool{ // by name: whether the nightly task keeps the file
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
		"before-0004-"+stamp(13)+".db  before an upgrade from schema version 3", "replaced-"+stamp(13)+
			"  replaced by a restore")

	h, log := backingUp(t, dir, "--backup-keep", "7,2,0")
	h.backups.Daily().Run(t.Context(), now)
	if strings.Contains(log.String(), "level=ERROR") {
		t.Errorf("the log is %s", log)
	}
	for name, stays := range names {
		if _, err := os.Stat(filepath.Join(here, name)); (err == nil) != stays {
			t.Errorf("%s: %v; want it to exist: %v", name, err, stays)
		}
	}
}
