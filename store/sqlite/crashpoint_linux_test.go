package sqlite

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"holdfast/store/storetest"
)

// These tests stop a machine in two ways: at a single write or sync, and with the loss of all data that was not synced.
// `make prove` runs many of each. An ordinary run does a few, so that the tests themselves keep working.

const (
	crashPoints = "HOLDFAST_CRASH_POINTS"
	powerCuts   = "HOLDFAST_POWER_CUTS"
)

// times returns the number of times that a test is repeated.
func times(t *testing.T, name string, ordinary int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return ordinary
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s: %q is no number", name, text)
	}
	return n
}

// written runs a command that includes the test binary, which writes until it is killed. After enough acknowledgements,
// written calls stop and kills the command. It returns the acknowledged appointments, and whether a signal ended the
// process before that. The first enough appointments were read before the call to stop. The process may have
// acknowledged later ones after its disk had stopped.
func written(t *testing.T, path string, command []string, enough int, stop func()) (acknowledged []string, crashed bool) {
	t.Helper()
	child := exec.Command(command[0], command[1:]...)
	child.Env = append(os.Environ(), crashPath+"="+path)
	dieWithParent(child)
	child.SysProcAttr.Setpgid = true // so that strace and the process that it traces end together
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	// If every write is refused, the writer would continue forever.
	hung := time.AfterFunc(time.Minute, func() {
		t.Errorf("the writer acknowledged no booking for a minute")
		_ = syscall.Kill(-child.Process.Pid, syscall.SIGKILL)
	})
	defer hung.Stop()
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if acknowledged = append(acknowledged, strings.TrimSpace(lines.Text())); len(acknowledged) == enough {
			stop()
			_ = syscall.Kill(-child.Process.Pid, syscall.SIGKILL)
		}
	}
	_ = child.Wait() // it was killed
	status, ok := child.ProcessState.Sys().(syscall.WaitStatus)
	return acknowledged, ok && status.Signaled() && len(acknowledged) < enough
}

// allThere opens a database again. It fails the test if the database violates the guarantee or lacks one of these
// appointments. It returns the appointments that exist.
func allThere(t *testing.T, path string, acknowledged []string) map[string]bool {
	t.Helper()
	s, err := Open(t.Context(), Options{Path: path})
	if err != nil {
		t.Fatalf("Open after the crash: %v", err)
	}
	there := map[string]bool{}
	err = s.reads.use(t.Context(), func(ctx context.Context, c *conn) error {
		return c.query(ctx, func(r *row) { there[r.Text()] = true }, "SELECT id FROM appointments")
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range acknowledged {
		if !there[id] {
			t.Errorf("%s was acknowledged and is missing", id)
		}
	}
	storetest.Verify(t, s)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	return there
}

// TestCrashAtAnyWriteKeepsAcknowledged uses strace to kill the writing process at the n-th write, truncation or sync
// of one of its threads, both while the schema is created and during bookings.
func TestCrashAtAnyWriteKeepsAcknowledged(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("needs strace")
	}
	if out, err := exec.Command(strace, "-o", os.DevNull, "true").CombinedOutput(); err != nil {
		t.Skipf("NOTHING IS PROVED HERE: strace fails: %v: %s", err, strings.Join(strings.Fields(string(out)), " "))
	}
	points, reached, bookings := times(t, crashPoints, 4), 0, 0
	for n := range points {
		path := filepath.Join(t.TempDir(), "holdfast.db")
		calls := "pwrite64,ftruncate,fsync,fdatasync"
		at := 1 + n // while the schema is being created
		if n%2 == 1 {
			at = 400 + 7*n // while appointments are being booked
		}
		acknowledged, crashed := written(t, path, []string{
			strace, "-f", "-qq", "-o", os.DevNull, "-e", "trace=" + calls, "-e", fmt.Sprintf("inject=%s:signal=SIGKILL:when=%d", calls, at), os.Args[0],
		}, 2000, func() {}) // by then, no thread has made that many calls
		if crashed { // strace ends with the same signal as the process that it traces
			reached++
		}
		if _, err := os.Stat(path); err != nil {
			continue // the file did not exist yet
		}
		allThere(t, path, acknowledged)
		if bookings += len(acknowledged); t.Failed() {
			t.Fatalf("crash at call %d", at)
		}
	}
	if reached == 0 {
		t.Fatalf("the writer reached none of %d crash points", points)
	}
	t.Logf("proved %d crash points: %d acknowledged bookings were there", reached, bookings)
}

// TestPowerCutKeepsAcknowledged writes to a separate ext4 file system in a file. Then it stops that file system as a
// power cut would: data that was not synced is lost. The test needs root.
func TestPowerCutKeepsAcknowledged(t *testing.T) {
	dir, err := os.MkdirTemp("", "holdfast-power-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	image, disk := filepath.Join(dir, "image"), filepath.Join(dir, "disk")
	run := func(command ...string) error {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", command[0], err, out)
		}
		return nil
	}
	f, err := os.Create(image)
	if err == nil {
		err = f.Truncate(64 << 20)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(disk, 0o700); err != nil {
		t.Fatal(err)
	}
	mount := func() error { return run("mount", "-o", "loop", image, disk) }
	if err := run("mkfs.ext4", "-q", image); err != nil {
		t.Skipf("needs ext4: %v", err)
	}
	if err := mount(); err != nil {
		t.Skipf("needs root and a loop device: %v", err)
	}
	t.Cleanup(func() { _ = run("umount", disk) })
	path := filepath.Join(disk, "holdfast.db")
	cuts, gone := times(t, powerCuts, 2), 0
	var acknowledged []string
	for n := range cuts {
		enough := 40 + (n*37)%200
		more, _ := written(t, path, []string{os.Args[0]}, enough, func() { shutDown(t, disk) })
		// A machine without power does not acknowledge anything. Here the process still does for a moment, and ext4 may
		// even report success for a sync that began before the cut. So acknowledgements that were read after the cut
		// are counted separately.
		later := more[min(enough, len(more)):]
		acknowledged = append(acknowledged, more[:len(more)-len(later)]...)
		if err := run("umount", disk); err != nil {
			t.Fatal(err)
		}
		if err := mount(); err != nil {
			t.Fatal(err)
		}
		there := allThere(t, path, acknowledged)
		if t.Failed() {
			t.Fatalf("cut %d", n)
		}
		for _, id := range later {
			if there[id] {
				acknowledged = append(acknowledged, id)
			} else {
				gone++
			}
		}
		if len(acknowledged) > 5000 {
			acknowledged = nil
			for _, name := range []string{path, path + "-wal", path + "-shm"} {
				if err := os.Remove(name); err != nil && !os.IsNotExist(err) {
					t.Fatal(err)
				}
			}
		}
	}
	t.Logf("proved %d power cuts; %d were said after a cut and are not there", cuts, gone)
}

// shutDown stops a file system immediately and discards data that was not synced (FS_IOC_SHUTDOWN, without flushing
// its log).
func shutDown(t *testing.T, disk string) {
	t.Helper()
	const request, noLogFlush = 0x8004587d, 2
	f, err := os.Open(disk)
	if err != nil {
		t.Error(err)
		return
	}
	defer f.Close()
	how := uint32(noLogFlush)
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), request, uintptr(unsafe.Pointer(&how))); errno != 0 {
		t.Errorf("stopping %s: %v", disk, errno)
	}
}
