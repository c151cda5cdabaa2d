//go:build !race

package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"holdfast/cli/clitest"
)

// TestReleaseIsReproducible builds the release for this machine twice and compares every byte; then it checks the
// contents. The test does not run with the race detector, because it only compiles the program. `.ci/run` runs it after
// the build, whose results it reuses.
func TestReleaseIsReproducible(t *testing.T) {
	clitest.Long(t, "two releases are built")
	t.Chdir("../..")
	o := options{version: "v0.0.0-test", at: time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC),
		targets: []target{{runtime.GOOS, runtime.GOARCH}}}
	var first map[string][]byte
	for range 2 {
		o.into = filepath.Join(t.TempDir(), "made")
		o.env = []string{"GOTMPDIR=" + t.TempDir()}
		if err := release(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		made := files(t, o.into)
		if first == nil {
			first = made
			continue
		}
		for name := range first {
			if !bytes.Equal(first[name], made[name]) {
				t.Errorf("two builds of %s differ", name)
			}
		}
		if len(made) != len(first) {
			t.Errorf("the first build has %d files, the second %d", len(first), len(made))
		}
	}
	name := "holdfast_v0.0.0-test_" + runtime.GOOS + "_" + runtime.GOARCH
	for _, made := range []string{name + ".tar.gz", name + ".cdx.json"} {
		if !strings.Contains(string(first["SHA256SUMS"]), fmt.Sprintf("%x  %s\n", sha256.Sum256(first[made]), made)) {
			t.Errorf("SHA256SUMS misses the checksum of %s:\n%s", made, first["SHA256SUMS"])
		}
	}
	checkArchive(t, name, first[name+".tar.gz"], first[name+".cdx.json"])
}
