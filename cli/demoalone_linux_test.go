package cli

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// childrenOf returns the processes that a process has started.
func childrenOf(t *testing.T, pid int) (children []int) {
	t.Helper()
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, thread.Name()))
		for _, child := range strings.Fields(string(text)) {
			n, err := strconv.Atoi(child)
			if err != nil {
				t.Fatal(err)
			}
			children = append(children, n)
		}
	}
	return children
}

// gone waits until a process has ended.
func gone(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Minute); !errors.Is(syscall.Kill(pid, 0),
		syscall.ESRCH); time.Sleep(20 * time.Millisecond) {
		state, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		// a zombie: it has ended, and its parent has not waited for it yet
		if _, after, _ := strings.Cut(string(state), ") "); strings.HasPrefix(after, "Z") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %d is still running", pid)
		}
	}
}

// TestDemoServerEndsWithDemo: the server process ends when the demo receives SIGTERM, and when the demo is killed.
func TestDemoServerEndsWithDemo(t *testing.T) {
	for _, how := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		t.Run(how.String(), func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			s := started(t, "demo", "--listen", "127.0.0.1:0")
			children := childrenOf(t, s.Process.Pid)
			if len(children) != 1 {
				t.Fatalf("the demo has started %d processes, want only the server", len(children))
			}
			if err := s.Process.Signal(how); err != nil {
				t.Fatal(err)
			}
			s.ended(t)
			gone(t, children[0])
		})
	}
}
