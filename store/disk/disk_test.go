package disk

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestReplaceWritesWholeFile also checks that the file is private and that no partial file is left.
func TestReplaceWritesWholeFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	for _, text := range []string{"first", "second"} {
		if err := Replace(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("got %q, %v; want %q", got, err, text)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("mode: got %v, %v; want no access for others", info.Mode(), err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("remaining: got %v, %v; want only the file", left, err)
	}
}

func TestCopyRefusesExistingTarget(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	if err := os.WriteFile(from, []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Copy(from, to); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(to); err != nil || string(got) != "text" {
		t.Errorf("got %q, %v", got, err)
	}
	if err := Copy(from, to); !errors.Is(err, os.ErrExist) {
		t.Errorf("a second copy: got %v, want %v", err, os.ErrExist)
	}
}

func TestSizeAndRegular(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("four"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := Size(file); got != 4 {
		t.Errorf("size: got %d, want 4", got)
	}
	if got := Size(filepath.Join(dir, "none")); got != -1 {
		t.Errorf("size of a missing file: got %d, want -1", got)
	}
	if err := Regular(file); err != nil {
		t.Error(err)
	}
	if err := Regular(dir); err == nil {
		t.Error("IsRegular is true for a directory")
	}
	if last := LastWritten(dir); time.Since(last).Abs() > time.Hour {
		t.Errorf("modified: got %s", last)
	}
	if last := LastWritten(filepath.Join(dir, "none")); !last.IsZero() {
		t.Errorf("modified time of a missing file: got %s", last)
	}
}

func TestIsFull(t *testing.T) {
	if !IsFull(&os.PathError{Err: syscall.ENOSPC}) || IsFull(os.ErrExist) || IsFull(nil) {
		t.Error("IsFull confuses a full disk with other errors")
	}
	if free, known := Free(t.TempDir()); known && free == 0 {
		t.Error("the temporary directory has no free space")
	}
}
