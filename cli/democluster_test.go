package cli

import (
	"os/exec"
	"testing"

	"holdfast/cli/demo"
)

// TestDemoClusterNamesMissingPrograms: the errors name the missing programs, the addresses that are allowed, and a
// Redis in use.
func TestDemoClusterNamesMissingPrograms(t *testing.T) {
	got := command(t, nil, "", "demo", "--cluster", "--redis", "redis://127.0.0.1:6379/0")
	if got.code != 1 {
		t.Errorf("exit code %d, want 1", got.code)
	}
	contains(t, "with --redis", got.stderr, "remove --redis")

	if _, err := demo.FindPrograms(); err == nil {
		got := command(t, nil, "", "demo", "--cluster", "--listen", "0.0.0.0:0")
		if got.code != 1 {
			t.Errorf("exit code %d, want 1", got.code)
		}
		contains(t, "not on loopback", got.stderr, "listens on loopback only")
	}

	t.Setenv("PATH", t.TempDir())
	if _, err := exec.LookPath("redis-server"); err == nil {
		t.Fatal("an empty directory contains a redis-server")
	}
	got = command(t, nil, "", "demo", "--cluster")
	if got.code != 1 {
		t.Errorf("exit code %d, want 1", got.code)
	}
	contains(t, "without Redis", got.stderr, "Not installed: redis-server", "apt-get install",
		"Without --cluster, the demo needs neither")
}
