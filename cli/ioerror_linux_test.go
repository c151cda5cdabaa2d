package cli

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"holdfast/cli/clitest"
	"holdfast/engine/token"
)

// In these tests, strace makes single system calls of the program fail with EIO or ENOSPC, as a failing or full disk
// does.

// writing lists the system calls that change a file.
const writing = "write,pwrite64,ftruncate,fallocate,fsync,fdatasync,rename,renameat,renameat2"

// straced returns a command line of strace that makes the n-th of these calls fail. If path is set, only calls for this
// path count. strace writes its report to the file report.
func straced(t *testing.T, report, calls, errno string, n int, path string) []string {
	t.Helper()
	if testing.Short() {
		t.Skip("short run: no faults")
	}
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("SKIPPED: needs strace")
	}
	if out, err := exec.Command(strace, "-o", os.DevNull, "true").CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: strace cannot trace: %v: %s", err, strings.Join(strings.Fields(string(out)), " "))
	}
	args := []string{strace, "-f", "-qq", "-o", report, "-e", "trace=" + calls, "-e", "signal=none",
		"-e", fmt.Sprintf("inject=%s:error=%s:when=%d", calls, errno, n)}
	if path != "" {
		args = append(args, "-P", path)
	}
	return append(args, os.Args[0])
}

// injected reports whether strace has made a call fail.
func injected(t *testing.T, report string) bool {
	t.Helper()
	text, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Contains(text, []byte("(INJECTED)"))
}

// errorPoints returns the number of calls that fail, one per run, for each file and each error.
func errorPoints(t *testing.T) int {
	ordinary := 1
	if clitest.IsLong() {
		ordinary = 12
	}
	return numberOf(t, "HOLDFAST_ERROR_POINTS", ordinary)
}

// TestErrorOfDatabaseCallLosesNoBooking books while one system call for holdfast.db, its log or queue.bolt fails. Each
// booking is acknowledged or gets a 5xx, and the server may exit. After the next start, every acknowledged booking
// exists.
func TestErrorOfDatabaseCallLosesNoBooking(t *testing.T) {
	t.Parallel()
	points, reached := errorPoints(t), 0
	for i, file := range []string{databaseFile + "-wal", databaseFile, queueFile} {
		for j, errno := range []string{"EIO", "ENOSPC"} {
			if !clitest.IsLong() && (i+j)%2 == 1 {
				continue // the long run includes all of them
			}
			for n := range points {
				if bookUnderError(t, file, errno, 1+n*n+5*n) {
					reached++
				}
			}
		}
	}
	t.Logf("%d calls failed", reached)
	if reached == 0 {
		t.Error("no call failed: the test proves nothing")
	}
}

// bookUnderError books while the n-th call for the file fails. It reports whether the server made that call.
func bookUnderError(t *testing.T, file, errno string, n int) bool {
	t.Helper()
	dir, clinic := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "clinic.json")
	writeJSON(t, clinic, openClinic(t))
	must(t, "import", "--data", dir, clinic)
	report := filepath.Join(t.TempDir(), "strace")
	args := []string{"serve", "--data", dir, "--listen", "127.0.0.1:0", "--rate-limit", "off", "--admin-key-file",
		write(t, longEnough)}
	command := straced(t, report, writing, errno, n, filepath.Join(dir, file))
	what := fmt.Sprintf("%s of call %d about %s", errno, n, file)
	acknowledged := map[string]bool{}
	if s := begun(t, command, args); s != nil {
		for slot := range 8 {
			status, err := bookWithKey(s.base, slot)
			switch {
			case err != nil: // the server has ended
			case status == http.StatusCreated:
				acknowledged[slotAt(slot)] = true
			case status < 500:
				t.Errorf("%s: a booking got %d", what, status)
			}
		}
		_ = syscall.Kill(-s.Process.Pid, syscall.SIGKILL) // strace and the server
		<-s.exited
	}
	s := started(t, args...)
	for _, a := range appointments(t, s.base, longEnough) {
		delete(acknowledged, a.SlotStartDate.UTC().Format(time.RFC3339))
	}
	if len(acknowledged) > 0 {
		t.Errorf("%s: %d acknowledged bookings are missing", what, len(acknowledged))
	}
	if status, body := bookAt(t, s.base, 100); status != http.StatusCreated {
		t.Errorf("%s, after the next start: a booking: %d %s", what, status, body)
	}
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.ended(t)
	contains(t, what, must(t, "verify", "--data", dir), "intact")
	return injected(t, report)
}

// begun starts a server under strace, in a separate process group. It returns nil if the server ends before it serves.
func begun(t *testing.T, command, args []string) *server {
	t.Helper()
	s := &server{Cmd: exec.Command(command[0], append(command[1:], args...)...), stdout: &transcript{},
		stderr: &transcript{}, exited: make(chan error, 1)}
	s.Env = append(os.Environ(), asMain+"=1")
	s.Stdout, s.Stderr = s.stdout, s.stderr
	dieWithParent(s.Cmd)
	s.SysProcAttr.Setpgid = true
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(-s.Process.Pid, syscall.SIGKILL) })
	ended := make(chan struct{})
	go func() {
		s.exited <- s.Wait()
		close(ended)
	}()
	for tick := time.Tick(20 * time.Millisecond); ; {
		if _, after, ok := strings.Cut(s.stdout.String(), "book"); ok && strings.Contains(after, "\n") {
			line, _, _ := strings.Cut(after, "\n")
			s.base = strings.TrimRight(strings.TrimSpace(line), "/")
			return s
		}
		select {
		case <-ended:
			return nil
		case <-tick:
		}
	}
}

// TestErrorOfEachCallOfCommand runs backup and keys rotate repeatedly. The first writing call fails in the first run,
// the second one in the next run, and so on to the last call. A failed backup leaves no directory that looks like a
// backup, and the key file contains the old keys or the new ones.
func TestErrorOfEachCallOfCommand(t *testing.T) {
	t.Parallel()
	dir := clinicDir(t)
	run := func(report string, n int, errno string, args ...string) (code int, said string) {
		command := straced(t, report, writing, errno, n, "")
		c := exec.Command(command[0], append(command[1:], args...)...)
		c.Env = append(os.Environ(), asMain+"=1")
		dieWithParent(c)
		out, _ := c.CombinedOutput() // the exit code is checked
		return c.ProcessState.ExitCode(), string(out)
	}
	most, step := 1000, 1
	if !clitest.IsLong() {
		step = 7
	}
	for _, errno := range []string{"EIO", "ENOSPC"} {
		for n := 1; ; n += step {
			report := filepath.Join(t.TempDir(), "strace")
			code, said := run(report, n, errno, "backup", "--data", dir)
			list, err := filepath.Glob(filepath.Join(dir, backupsDir, "2*"))
			if err != nil {
				t.Fatal(err)
			}
			if code == 0 && len(list) == 0 {
				t.Errorf("backup with %s of call %d succeeded without a backup: %s", errno, n, said)
			}
			for _, one := range list {
				if got := command(t, nil, "", "verify", one); got.code != 0 {
					t.Errorf("backup with %s of call %d (exit code %d) left %s, which is damaged: %s", errno, n, code,
						one, got.stderr)
				}
				if err := os.RemoveAll(one); err != nil {
					t.Fatal(err)
				}
			}
			if !injected(t, report) || n > most {
				break
			}
		}
		for n := 1; ; n += step {
			before, err := os.ReadFile(filepath.Join(dir, secretFile))
			if err != nil {
				t.Fatal(err)
			}
			report := filepath.Join(t.TempDir(), "strace")
			code, said := run(report, n, errno, "keys", "rotate", "--data", dir)
			after, err := os.ReadFile(filepath.Join(dir, secretFile))
			if err != nil {
				t.Fatal(err)
			}
			ring, err := token.ParseKeyring(after)
			if err != nil {
				t.Fatalf("keys rotate with %s of call %d (exit code %d) left a damaged key file: %v", errno, n, code, err)
			}
			if changed := !bytes.Equal(before, after); code == 0 && !changed {
				t.Errorf("keys rotate with %s of call %d succeeded without a change: %s", errno, n, said)
			}
			old, err := token.ParseKeyring(before)
			if err != nil {
				t.Fatal(err)
			}
			signed, _, err := old.IssueBookingAuth("session", "11111111-2222-4333-8444-555555555555", time.Now())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := ring.VerifyBookingAuth(signed, "11111111-2222-4333-8444-555555555555", time.Now()); err != nil {
				t.Errorf("keys rotate with %s of call %d: an earlier token is refused: %v", errno, n, err)
			}
			if !injected(t, report) || n > most {
				break
			}
		}
	}
	must(t, "verify", "--data", dir)
}
