package cli

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestVerifyLiveAsksTheRunningServer: verify --live works only with a running server.
func TestVerifyLiveAsksTheRunningServer(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	must(t, "import", "--data", dir, harbour)
	if got := command(t, nil, "", "verify", "--live", "--data", dir); got.code != 1 ||
		!strings.Contains(got.stderr, "no server is running on "+dir) {
		t.Errorf("without a server: got %+v", got)
	}
	if got := command(t, nil, "", "verify", "--live", dir); got.code != 2 {
		t.Errorf("of a backup: got %+v, want exit code 2", got)
	}
	s := started(t, "serve", "--data", dir, "--listen", "127.0.0.1:0")
	get(t, s.base+"/v1/appointment-types/checkup/timeslots", "")
	contains(t, "verify --live", must(t, "verify", "--live", "--data", dir), "is intact", "0 overlaps",
		"the server's memory matches the database")
}
