package cli

import (
	"strings"
	"syscall"
	"testing"

	"holdfast/deploy/systemd"
)

// TestCrashExitCodeDiffersFromBadSettings: Go ends both a crash and invalid settings with code 2, and the unit
// does not restart after code 2. In the unit's environment a crash (SIGQUIT in this test) ends with a signal.
func TestCrashExitCodeDiffersFromBadSettings(t *testing.T) {
	// otherwise the crash leaves a core file in this directory
	if err := syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}); err != nil {
		t.Fatal(err)
	}
	contains(t, "the unit", systemd.Unit, "\nRestartPreventExitStatus=2\n", "\nLimitCORE=0\n")
	for line := range strings.Lines(systemd.Unit) {
		if set, ok := strings.CutPrefix(strings.TrimSpace(line), "Environment="); ok && !strings.Contains(set, "%") {
			name, value, _ := strings.Cut(set, "=")
			t.Setenv(name, value)
		}
	}
	s := started(t, "serve", "--data", clinicDir(t), "--listen", "127.0.0.1:0")
	if err := s.Process.Signal(syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	if code := s.ended(t); code != -1 {
		t.Errorf("exit code: got %d, want the end by a signal", code)
	}
}
