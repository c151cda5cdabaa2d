package sqlite

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/store"
	"holdfast/store/storetest"
)

// crashPath is the environment variable that makes the test binary the process to be killed. Its value is the path of
// the database.
const crashPath = "HOLDFAST_TEST_CRASH_PATH"

func TestMain(m *testing.M) {
	if path := os.Getenv(crashPath); path != "" {
		writeUntilKilled(path)
		return
	}
	if disk := os.Getenv("DISK_TMPDIR"); disk != "" {
		// These tests need files on a real disk. For other packages, make test puts the files into memory.
		_, _ = os.Setenv("TMPDIR", disk), os.Setenv("GOTMPDIR", disk)
	}
	os.Exit(m.Run())
}

// writeUntilKilled books from 32 callers, sometimes for taken slots, and prints the id of each booking that is
// acknowledged.
func writeUntilKilled(path string) {
	ctx := context.Background()
	s, err := Open(ctx, Options{Path: path})
	if err != nil {
		panic(err)
	}
	err = s.Write(ctx, func(tx store.Tx) error {
		for n := range int64(benchSpecialists) {
			if err := tx.PutSpecialist(ctx, store.Specialist{ID: benchSpecialist(n)}); err != nil {
				return err
			}
		}
		return tx.PutAppointmentType(ctx, store.AppointmentType{ID: "checkup", DurationMinutes: 15, SlotStepMinutes: 15, Capacity: 1})
	})
	if err != nil {
		panic(err)
	}
	_, count, err := count(ctx, s)
	if err != nil {
		panic(err)
	}
	var next atomic.Int64
	next.Store(count)
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			for {
				n := next.Add(1)
				a := benchAppointment(n)
				if n%4 == 0 { // 30 minutes, which overlap the next booking: one of the two is refused
					a.SlotEnd, a.BusyEnd = a.SlotEnd.Add(15*time.Minute), a.BusyEnd.Add(15*time.Minute)
				}
				if s.Write(ctx, func(tx store.Tx) error { return tx.InsertAppointment(ctx, a) }) == nil {
					fmt.Println(a.ID) // one write call, so a line is never mixed with another
				}
			}
		})
	}
	wg.Wait()
}

func count(ctx context.Context, s *Store) (rows, last int64, err error) {
	err = s.reads.use(ctx, func(ctx context.Context, c *conn) error {
		return c.query(ctx, func(r *row) { rows, last = r.Int64(), r.Int64() }, "SELECT count(*), COALESCE(max(rowid), 0) FROM appointments")
	})
	return rows, last * 4, err
}

// TestKillKeepsAcknowledged checks that after the process is killed, every acknowledged appointment exists and none
// overlap.
func TestKillKeepsAcknowledged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "holdfast.db")
	acknowledged := map[string]bool{}
	for round := range 3 {
		lines := runAndKill(t, path, 100*(round+1))
		for _, id := range lines {
			acknowledged[id] = true
		}
		s, err := Open(t.Context(), Options{Path: path})
		if err != nil {
			t.Fatalf("round %d: Open after the kill: %v", round, err)
		}
		there := map[string]bool{}
		err = s.reads.use(t.Context(), func(ctx context.Context, c *conn) error {
			return c.query(ctx, func(r *row) { there[r.Text()] = true }, "SELECT id FROM appointments")
		})
		if err != nil {
			t.Fatal(err)
		}
		for id := range acknowledged {
			if !there[id] {
				t.Errorf("round %d: %s was acknowledged and is missing", round, id)
			}
		}
		t.Logf("round %d: %d acknowledged in all, %d there", round, len(acknowledged), len(there))
		storetest.Verify(t, s)
	}
}

// runAndKill starts a writing process, kills it after n acknowledgements, and returns all
// acknowledgements.
func runAndKill(t *testing.T, path string, after int) (lines []string) {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), crashPath+"="+path)
	child.Stderr = os.Stderr
	dieWithParent(child)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(out)
	for {
		line, err := reader.ReadString('\n')
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if lines = append(lines, strings.TrimSpace(line)); len(lines) == after {
			if err := child.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	child.Wait() // it was killed, so this is an error
	if len(lines) < after {
		t.Fatalf("the writer stopped after %d appointments", len(lines))
	}
	return lines
}
