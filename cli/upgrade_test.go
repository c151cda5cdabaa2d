package cli

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/store"
	"holdfast/store/sqlite"
)

// unpacked extracts the data directory of an older program from an archive, and returns its path.
func unpacked(t *testing.T, archive string) string {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for files := tar.NewReader(z); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(files)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, filepath.Base(h.Name)), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// patientsIn returns the state of each appointment, by patient, in a data directory that no server has open.
func patientsIn(t *testing.T, dir string) map[string]string {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(dir, databaseFile)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	list, _, err := s.Appointments(t.Context(), store.AppointmentFilter{From: time.Unix(0, 0),
		To: time.Now().AddDate(100, 0, 0), Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, a := range list {
		all[a.Patient.Name] = fmt.Sprintf("%s %s %s %s", a.Patient.Email, a.Source, a.Status, a.Attendance)
	}
	return all
}

// TestOlderFilesAreUpgraded: a rehearsal changes nothing, the upgrade keeps all data, and the snapshot restores the
// earlier state.
func TestOlderFilesAreUpgraded(t *testing.T) {
	t.Parallel()
	want := map[string]string{}
	for i := range 14 {
		source := [...]string{"web", "staff"}[i%2]
		want[fmt.Sprintf("Zoë Patient %d", i+1)] = fmt.Sprintf("p%d@example.org %s confirmed expected", i+1, source)
	}
	archives, err := filepath.Glob("../testdata/upgrade/*.tar.gz")
	if err != nil || len(archives) < 2 {
		t.Fatalf("found %v, want the directories of two older programs", archives)
	}
	for _, archive := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(archive), ".tar.gz"), func(t *testing.T) {
			t.Parallel()
			dir := unpacked(t, archive)
			file := filepath.Join(dir, databaseFile)
			older, err := sqlite.Verify(t.Context(), file)
			if err != nil || older.Appointments != len(want) {
				t.Fatalf("before: %+v, %v; want an intact database", older, err)
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}

			var tried upgradeBody
			if err := json.Unmarshal([]byte(must(t, "upgrade", "--check", "--json", "--data", dir)),
				&tried); err != nil {
				t.Fatal(err)
			}
			if tried.From != older.SchemaVersion || tried.To != sqlite.SchemaVersion() ||
				len(tried.Migrations) != tried.To-tried.From || !tried.Tried ||
				tried.SnapshotBytes == 0 || tried.ServerRuns {
				t.Errorf("got %+v, want a tested migration from version %d to %d", tried, older.SchemaVersion,
					sqlite.SchemaVersion())
			}
			contains(t, "upgrade --check", must(t, "upgrade", "--check", "--data", dir), "the copy is intact",
				fmt.Sprintf("before-%04d", tried.From+1), "nothing was changed")
			if after, err := os.ReadFile(file); err != nil || string(after) != string(text) {
				t.Errorf("the test of the upgrade changed the file (%v)", err)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, backupsDir, ".*")); len(left) > 0 {
				t.Errorf("the command left %v", left)
			}

			contains(t, "upgrade", must(t, "upgrade", "--data", dir), fmt.Sprintf("is at version %d", tried.To))
			contains(t, "upgrade --check, then", must(t, "upgrade", "--check", "--data", dir), "is up to date")
			must(t, "verify", "--data", dir)
			contains(t, "the queue", must(t, "queue", "list", "--data", dir), "email")
			upgraded := patientsIn(t, dir)
			sameButTwo(t, upgraded, want)

			snapshots, err := filepath.Glob(filepath.Join(dir, backupsDir, "before-*.db"))
			if err != nil || len(snapshots) != 1 || !strings.Contains(snapshots[0],
				fmt.Sprintf("before-%04d-", older.SchemaVersion+1)) {
				t.Fatalf("snapshots %v, %v; want one of version %d", snapshots, err, older.SchemaVersion)
			}
			if kept, err := sqlite.Verify(t.Context(), snapshots[0]); err != nil || kept != older {
				t.Errorf("the snapshot is %+v, %v; want the older program's data, %+v", kept, err, older)
			}
			must(t, "verify", "--data", dir, snapshots[0])
			contains(t, "restore --list", must(t, "restore", "--list", "--data", dir), snapshots[0],
				fmt.Sprintf("before an upgrade from schema version %d", older.SchemaVersion))
			must(t, "restore", "--data", dir, snapshots[0])
			must(t, "verify", "--data", dir)
			if got := patientsIn(t, dir); !maps.Equal(got, upgraded) {
				t.Errorf("restored from the snapshot: got %v, want %v", got, upgraded)
			}
		})
	}
}

// sameButTwo checks that all appointments are as they were booked, except one that was cancelled and one whose patient
// arrived.
func sameButTwo(t *testing.T, got, want map[string]string) {
	t.Helper()
	var other []string
	for name, booked := range want {
		if got[name] != booked {
			other = append(other, strings.TrimPrefix(got[name], strings.TrimSuffix(booked, "confirmed expected")))
		}
	}
	slices.Sort(other)
	if len(got) != len(want) || !slices.Equal(other, []string{"cancelled expected", "confirmed arrived"}) {
		t.Errorf("got %v, want %v with one cancelled and one arrived", got, want)
	}
}

// TestImpossibleUpgradeIsRefusedFirst: upgrade refuses a file that is not a database of this program.
func TestImpossibleUpgradeIsRefusedFirst(t *testing.T) {
	t.Parallel()
	dir := unpacked(t, "../testdata/upgrade/0009.tar.gz")
	if err := os.WriteFile(filepath.Join(dir, databaseFile), bytes.Repeat([]byte("no database "), 1000),
		0o600); err != nil {
		t.Fatal(err)
	}
	got := command(t, nil, "", "upgrade", "--check", "--data", dir)
	if got.code != 1 {
		t.Fatalf("got %+v, want exit code 1", got)
	}
	contains(t, "upgrade --check", got.stderr, "would fail; nothing was changed", "not a database")
	if got := command(t, nil, "", "upgrade", "--json", "--data", dir); got.code != 2 {
		t.Errorf("--json without --check: got %+v, want exit code 2", got)
	}
}
