package cli

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestStartOnFullDiskServesReads: on a full disk, the server starts after a clean stop and after a kill, serves reads
// and refuses writes. It accepts writes again when there is room. The test needs a separate file system, which only
// root can create.
func TestStartOnFullDiskServesReads(t *testing.T) {
	t.Parallel()
	disk := t.TempDir()
	if err := syscall.Mount("none", disk, "tmpfs", 0, "size=8m"); err != nil {
		t.Skipf("cannot create a small disk: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) })
	dir, fill := filepath.Join(disk, "data"), filepath.Join(disk, "fill")
	must(t, "import", "--data", dir, harbour)
	start := func() *server {
		return started(t, "serve", "--data", dir, "--listen", "127.0.0.1:0", "--admin-key", longEnough)
	}
	stop := func(s *server, signal os.Signal) {
		t.Helper()
		if err := s.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		s.ended(t)
	}
	stop(start(), syscall.SIGTERM)
	for _, before := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		f, err := os.Create(fill)
		if err != nil {
			t.Fatal(err)
		}
		for _, size := range []int{1 << 20, 4 << 10, 1} {
			for block := []byte(strings.Repeat("x", size)); err == nil; {
				_, err = f.Write(block)
			}
			err = nil
		}
		f.Close()
		s := start()
		if status, body := get(t, s.base+"/v1/appointment-types/checkup/timeslots", ""); status != http.StatusOK {
			t.Errorf("reading after %v: got %d %s", before, status, body)
		}
		if err := os.Remove(fill); err != nil {
			t.Fatal(err)
		}
		if status, body := posted(t, s.base+"/v1/api-keys", map[string]any{"name": "x", "scope": "agent"},
			bearer(longEnough)); status != http.StatusCreated {
			t.Errorf("a write with free space: got %d %s", status, body)
		}
		stop(s, syscall.SIGTERM)
		stop(start(), syscall.SIGKILL) // there is room: the reserve is created again
	}
}
