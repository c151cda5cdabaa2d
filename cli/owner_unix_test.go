//go:build unix

package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestCommandsOfRootKeepOwner: an administrator runs commands as root while the server is stopped. The server's own
// user must be able to read every file afterwards. If this user has created links to files of root, the files still
// belong to root.
func TestCommandsOfRootKeepOwner(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can create files for another user")
	}
	const owner = 65532
	dir := clinicDir(t)
	backup := filepath.Join(t.TempDir(), "backup")
	must(t, "backup", "--data", dir, "--to", backup)
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, owner, owner)
	})
	if err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	hard, soft := filepath.Join(dir, "hard"), filepath.Join(dir, "soft")
	if err := os.Link(secret, hard); err != nil {
		t.Skip(err) // the data directory is on another disk
	}
	if err := os.Symlink(secret, soft); err != nil {
		t.Fatal(err)
	}

	must(t, "restore", "--data", dir, backup)
	must(t, "backup-key", "--data", dir)

	ownerOf := func(path string) uint32 {
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Sys().(*syscall.Stat_t).Uid
	}
	if got := ownerOf(secret); got != 0 {
		t.Errorf("a file outside the directory belongs to user %d afterwards, want 0", got)
	}
	err = filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && path != hard && path != soft && ownerOf(path) != owner {
			t.Errorf("%s belongs to user %d afterwards, want %d", path, ownerOf(path), owner)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
