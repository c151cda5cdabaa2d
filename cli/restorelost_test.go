package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/engine/enginetest"
	"holdfast/store/backup"
)

var (
	copiedUpTo = regexp.MustCompile(`the restored data ends at (\S+):`)
	copyAge    = regexp.MustCompile(`(?m)^holdfast_copy_age_seconds (\S+)$`)
)

// TestLostMachineLosesOneIncrement: clients book at a real server, kill -9 ends it, and its disk is lost. Only the
// backup destination, a directory or a bucket, and the printed recovery key are left. Every change before the time
// that restore prints exists, and no appointments overlap.
func TestLostMachineLosesOneIncrement(t *testing.T) {
	t.Parallel()
	eachPlace(t, loseMachine)
}

func loseMachine(t *testing.T, second string, flags []string) {
	dir := filepath.Join(t.TempDir(), "data")
	file := filepath.Join(t.TempDir(), "clinic.json")
	writeJSON(t, file, openClinic(t))
	must(t, "import", "--data", dir, file)
	paper := write(t, must(t, "backup-key", "--data", dir))
	for _, round := range []string{"first", "second"} { // in the second round, the restored server continues the backup
		access := bucketAccess(t, second, flags)
		newest := func() (path string, increments int) {
			list, err := backup.List(t.Context(), filepath.Join(t.TempDir(), "none"), access, []string{second})
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range list { // the newest first
				if _, err := fmt.Sscanf(b.Note, "%d increments", &increments); err == nil {
					return b.Path, increments
				}
			}
			return "", 0
		}
		before, _ := newest()
		s := started(t, append([]string{"serve", "--data", dir, "--listen", "127.0.0.1:0", "--rate-limit", "off",
			"--admin-key", longEnough,
			"--backup-to", second, "--backup-every", "1s"}, flags...)...)
		type answered struct {
			id string
			at time.Time
		}
		var booked []answered
		var people sync.WaitGroup
		people.Go(func() {
			for n := 0; ; n++ {
				body := map[string]any{
					"clientId": "a-client-secret-" + round + strconv.Itoa(1000000+n),
					"slotStartDate": enginetest.Noon(time.UTC,
						2).Add(time.Duration(n+slices.Index([]string{"first", "second"},
						round)*8000) * 30 * time.Minute),
					"patient": map[string]any{"name": "Rosa Winter", "phone": "030 1234567"},
				}
				id, ok := bookOnce(s.base, body)
				if !ok {
					return
				}
				if id != "" {
					booked = append(booked, answered{id, time.Now()})
				}
			}
		})
		eventually(t, "an incremental backup of four increments", func() bool {
			path, n := newest()
			return path != before && n >= 4
		})
		eventually(t, "the age of the copy is in the metrics", func() bool {
			_, figures := get(t, s.base+"/metrics", longEnough)
			age := copyAge.FindStringSubmatch(figures)
			return age != nil && !strings.Contains(age[1], "Inf")
		})
		if err := s.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		s.ended(t)
		people.Wait()
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}

		path, _ := newest()
		said := must(t, append([]string{"restore", "--data", dir, "--key", paper, path}, flags...)...)
		found := copiedUpTo.FindStringSubmatch(said)
		if found == nil || strings.Contains(said, "NOT") {
			t.Fatalf("restore prints %q", said)
		}
		upTo := at(t, found[1])
		contains(t, "verify", must(t, "verify", "--data", dir), "0 overlaps")
		s = started(t, "serve", "--data", dir, "--listen", "127.0.0.1:0", "--admin-key", longEnough)
		k := &killed{t: t, key: longEnough}
		there := map[string]bool{}
		for _, a := range k.all(s.base) {
			there[a.ID] = true
		}
		due := 0
		for _, b := range booked {
			if b.at.Before(upTo) {
				if due++; !there[b.id] {
					t.Errorf("%s was acknowledged at %s, but the copy up to %s misses it", b.id, b.at, upTo)
				}
			}
		}
		if due == 0 {
			t.Errorf("none of %d bookings was acknowledged before %s: the test proves nothing", len(booked), upTo)
		}
		t.Logf("%d bookings were answered, %d of them before %s, and %d are there", len(booked), due, upTo, len(there))
		if err := s.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		s.ended(t)
	}
}

// bookOnce books and returns the appointment's id, or an empty id if the booking was refused. ok is false if there was
// no response.
func bookOnce(base string, body map[string]any) (id string, ok bool) {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	answer, err := http.Post(base+"/v1/appointment-types/checkup/book", "application/json",
		strings.NewReader(string(text)))
	if err != nil {
		return "", false
	}
	defer answer.Body.Close()
	var made struct{ Appointment struct{ ID string } }
	if err := json.NewDecoder(answer.Body).Decode(&made); err != nil {
		return "", false
	}
	return made.Appointment.ID, true
}

// bucketAccess returns the settings for connecting to a backup destination that the flags configure.
func bucketAccess(t *testing.T, destination string, flags []string) backup.Access {
	t.Helper()
	cfg, _, err := resolved(t, nil, append([]string{"--backup-to", destination}, flags...)...)
	if err != nil {
		t.Fatal(err)
	}
	return cfg.backups.Access
}
