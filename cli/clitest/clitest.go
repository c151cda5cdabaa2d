// Package clitest contains helpers for tests of the whole program. It builds the program, and tells the three test runs
// apart.
//
//	make quick   go test -short: no server, no browser, no built program
//	make test    the whole suite
//	.ci/run      also the tests that call Long, with HOLDFAST_TESTS=long
package clitest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Long skips a test unless this is the long run. why is the reason, for the log.
func Long(t testing.TB, why string) {
	t.Helper()
	if !IsLong() {
		t.Skipf("long run only (%s): HOLDFAST_TESTS=long go test", why)
	}
}

// IsLong reports whether this is the long run. In the other runs, a test with repetitions does fewer of them.
func IsLong() bool { return !testing.Short() && os.Getenv("HOLDFAST_TESTS") == "long" }

// InFull reports whether a test does all of its work: all repetitions of a proof, or days of virtual time. In the short
// run, and with the race detector, which is about ten times slower, a test does only part of its work.
func InFull() bool { return !testing.Short() && !raceDetector }

// OnlyInFull skips a test in the short run and with the race detector. It is for tests that cannot be shortened.
func OnlyInFull(t testing.TB) {
	t.Helper()
	if !InFull() {
		t.Skip("days of virtual time: run without -race and -short")
	}
}

var program struct {
	once sync.Once
	path string
	err  error
}

// Program returns the path of the program, built without the race detector. All packages of a run share one file,
// whose name is the hash of the program's build: the first test builds it and the others find it. Program skips the
// test in the short run.
func Program(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("short run: no built program")
	}
	program.once.Do(func() { program.path, program.err = build() })
	if program.err != nil {
		t.Fatal(program.err)
	}
	return program.path
}

func build() (string, error) {
	// The build id changes with the sources, the flags and the toolchain. This command compiles the changes and does
	// not link.
	id, err := run("list", "-export", "-f", "{{.BuildID}}", "holdfast")
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(id))
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("holdfast-program-%d", os.Getuid()))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	path := filepath.Join(dir, hex.EncodeToString(sum[:8]))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if old, err := os.ReadDir(dir); err == nil {
		for _, f := range old {
			if about, err := f.Info(); err == nil && time.Since(about.ModTime()) > 24*time.Hour {
				_ = os.RemoveAll(filepath.Join(dir, f.Name()))
			}
		}
	}
	fresh, err := os.MkdirTemp(dir, "new-") // another package may build it at the same time; the last rename wins
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(fresh)
	if _, err := run("build", "-o", filepath.Join(fresh, "holdfast"), "holdfast"); err != nil {
		return "", err
	}
	return path, os.Rename(filepath.Join(fresh, "holdfast"), path)
}

func run(args ...string) (string, error) {
	c := exec.Command("go", args...)
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	var said strings.Builder
	c.Stderr = &said
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, said.String())
	}
	return strings.TrimSpace(string(out)), nil
}
