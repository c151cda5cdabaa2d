package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func mode(t *testing.T, path string) os.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}

// TestServeCreatesDataDirectory: only its owner can read the new directory, and a second start does not change its key.
func TestServeCreatesDataDirectory(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "below", "data")
	d, err := openDataDir(path, time.Now(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if d.newKeys {
		t.Error("newKeys: got true for a directory that had no database")
	}
	for name, want := range map[string]os.FileMode{".": 0o700, backupsDir: 0o700, secretFile: 0o600, lockFile: 0o600} {
		if got := mode(t, filepath.Join(path, name)); got != want {
			t.Errorf("mode of %s: got %#o, want %#o", name, got, want)
		}
	}
	if err := d.close(); err != nil {
		t.Fatal(err)
	}
	again, err := openDataDir(path, time.Now(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer again.close()
	if got, want := again.keys.Keys()[0].ID, d.keys.Keys()[0].ID; got != want {
		t.Errorf("the key after a restart: got %s, want %s", got, want)
	}
}

// TestServeRefusesDirectoryInUse: the error names the process. After that process ends, the directory can be
// used.
func TestServeRefusesDirectoryInUse(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	first, err := openDataDir(path, time.Now(), 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = openDataDir(path, time.Now(), 0)
	var inUse *inUseError
	if !errors.As(err, &inUse) {
		t.Fatalf("got %v, want an inUseError", err)
	}
	contains(t, "message", err.Error(), "process "+strconv.Itoa(os.Getpid()), path, "--data")
	if err := first.close(); err != nil {
		t.Fatal(err)
	}
	second, err := openDataDir(path, time.Now(), 0)
	if err != nil {
		t.Fatalf("after the first process released it: %v", err)
	}
	second.close()
}

// TestOpenWaitsForLock: openDataDir waits for the lock of a process that has just been killed, and returns an error if
// the lock is not released in time.
func TestOpenWaitsForLock(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		first, err := openDataDir(path, time.Now(), 0)
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		if _, err := openDataDir(path, time.Now(), lockPatience); !errors.As(err, new(*inUseError)) ||
			time.Since(begun) < lockPatience {
			t.Errorf("a lock that is never released: got %v after %s, want an inUseError after %s", err, time.Since(begun),
				lockPatience)
		}
		time.AfterFunc(lockPatience/2, func() { first.close() }) // in the bubble's time
		second, err := openDataDir(path, time.Now(), lockPatience)
		if err != nil {
			t.Fatalf("a lock that is released: %v", err)
		}
		second.close()
	})
}

// TestPartialFilesAreRemoved: the next command removes the partial files of a killed process.
func TestPartialFilesAreRemoved(t *testing.T) {
	t.Parallel()
	dir := clinicDir(t)
	made := strings.TrimSpace(must(t, "backup", "--data", dir))
	for _, left := range []string{filepath.Join(backupsDir, ".backup-123"), ".backup-456", ".restore-789"} {
		if err := os.MkdirAll(filepath.Join(dir, left), 0o700); err != nil {
			t.Fatal(err)
		}
		copied(t, filepath.Join(dir, databaseFile), filepath.Join(dir, left, databaseFile))
	}
	for _, left := range []string{".new-123", filepath.Join(certificatesDir, ".new-456")} {
		if err := os.MkdirAll(filepath.Join(dir, certificatesDir), 0o700); err != nil {
			t.Fatal(err)
		}
		copied(t, filepath.Join(dir, secretFile), filepath.Join(dir, left)) // as disk.Replace leaves it
	}
	must(t, "export", "--data", dir)
	for _, in := range []string{dir, filepath.Join(dir, backupsDir), filepath.Join(dir, certificatesDir)} {
		if left, _ := filepath.Glob(filepath.Join(in, ".*-*")); len(left) > 0 {
			t.Errorf("%v remain", left)
		}
	}
	must(t, "verify", made)
}

// TestTrialLeavesServerAlone: a start does not remove the files of a running upgrade or restore. It removes the old
// files of a killed process, because they contain the database and the keys unencrypted.
func TestTrialLeavesServerAlone(t *testing.T) {
	t.Parallel()
	dir := clinicDir(t)
	for _, in := range []string{filepath.Join(backupsDir, ".check-"), ".unsealed-"} {
		now, killed := filepath.Join(dir, in+"1"), filepath.Join(dir, in+"2")
		for _, path := range []string{now, killed} {
			if err := os.MkdirAll(path, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		long := time.Now().Add(-2 * checkTime)
		copied(t, filepath.Join(dir, databaseFile), filepath.Join(killed, databaseFile))
		for _, path := range []string{filepath.Join(killed, databaseFile), killed} {
			if err := os.Chtimes(path, time.Time{}, long); err != nil {
				t.Fatal(err)
			}
		}
		must(t, "export", "--data", dir)
		if _, err := os.Stat(now); err != nil {
			t.Errorf("the directory of the running upgrade test: %v", err)
		}
		if _, err := os.Stat(killed); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the directory of the killed upgrade test is still there: %v", err)
		}
	}
}

// TestLoadRefusesReadableSecretKey: other users who can read the key could forge links.
func TestLoadRefusesReadableSecretKey(t *testing.T) {
	t.Parallel()
	for _, loose := range []os.FileMode{0o640, 0o604, 0o620, 0o602, 0o610, 0o601, 0o644} {
		t.Run(fmt.Sprintf("%#o", loose), func(t *testing.T) {
			path := t.TempDir()
			d, err := openDataDir(path, time.Now(), 0)
			if err != nil {
				t.Fatal(err)
			}
			d.close()
			key := filepath.Join(path, secretFile)
			if err := os.Chmod(key, loose); err != nil {
				t.Fatal(err)
			}
			got := command(t, nil, "", "serve", "--data", path, "--listen", "127.0.0.1:0")
			if got.code != 1 {
				t.Errorf("exit code: got %d, want 1", got.code)
			}
			contains(t, "message", got.stderr, key, "chmod 600")
			if err := os.Chmod(key, 0o600); err != nil {
				t.Fatal(err)
			}
			d, err = openDataDir(path, time.Now(), 0)
			if err != nil {
				t.Fatalf("closed a second time: %v", err)
			}
			d.close()
		})
	}
}

// TestLoadRefusesDamagedSecretKey: the server does not replace a damaged key, because a new key would invalidate
// every link.
func TestLoadRefusesDamagedSecretKey(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	if err := os.WriteFile(filepath.Join(path, secretFile), []byte("not a key\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := openDataDir(path, time.Now(), 0)
	if err == nil {
		t.Fatal("got no error")
	}
	contains(t, "message", err.Error(), secretFile, "line 1", "restore the file from a backup")
	if strings.Contains(err.Error(), "not a key\n") {
		t.Errorf("the message contains the file's content: %v", err)
	}
	// The refusal released the lock.
	if err := os.Remove(filepath.Join(path, secretFile)); err != nil {
		t.Fatal(err)
	}
	d, err := openDataDir(path, time.Now(), 0)
	if err != nil {
		t.Fatal(err)
	}
	d.close()
}

// TestDamagedByteOfSecretKeyCreatesNoKey damages each byte of secret.key. The start fails with an error that names the
// file and the remedy, or the server has the same keys as before: if the mark of the checksum is damaged, its line is
// only a comment. The server never uses a different key.
func TestDamagedByteOfSecretKeyCreatesNoKey(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	d, err := openDataDir(path, time.Now(), 0)
	if err != nil {
		t.Fatal(err)
	}
	whole := d.keys.Rotate(time.Now()).Marshal()
	d.close()
	file, refused := filepath.Join(path, secretFile), 0
	for i := range whole {
		for _, other := range []byte{whole[i] ^ 1, whole[i] ^ 0x80, 0, '\n', '#'} {
			if other == whole[i] {
				continue
			}
			damaged := bytes.Clone(whole)
			damaged[i] = other
			if err := os.WriteFile(file, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			d, err := openDataDir(path, time.Now(), 0)
			if err != nil {
				refused++
				contains(t, fmt.Sprintf("byte %d as %q", i, other), err.Error(), secretFile, "from a backup")
				if text, err := os.ReadFile(file); err != nil || !bytes.Equal(text, damaged) {
					t.Errorf("byte %d as %q: the refused file has changed: %q, %v", i, other, text, err)
				}
				continue
			}
			if got := d.keys.Marshal(); !bytes.Equal(got, whole) || d.newKeys {
				t.Errorf("byte %d as %q: got other keys, want an error at start", i, other)
			}
			d.close()
		}
	}
	if refused == 0 {
		t.Error("no damaged file was refused")
	}
}

// TestLoadRefusesSecretKeyWithFlippedBit: one changed character in a key is refused, because the checksum differs. A
// key file of an older program has no checksum. The server accepts such a file and adds the checksum.
func TestLoadRefusesSecretKeyWithFlippedBit(t *testing.T) {
	t.Parallel()
	dir := clinicDir(t)
	path := filepath.Join(dir, secretFile)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	secret := bytes.LastIndexByte(whole[:bytes.LastIndex(whole, []byte("\n#"))], ' ') + 8
	flipped := bytes.Clone(whole)
	if flipped[secret] = 'A'; whole[secret] == 'A' { // both are letters that a secret may contain
		flipped[secret] = 'B'
	}
	if err := os.WriteFile(path, flipped, 0o600); err != nil {
		t.Fatal(err)
	}
	got := command(t, nil, "", "export", "--data", dir)
	if got.code != 1 {
		t.Errorf("exit code: got %d, want 1", got.code)
	}
	contains(t, "message", got.stderr, path, "checksum", "from a backup")
	older := whole[:bytes.LastIndex(whole, []byte("\n#"))+1]
	if err := os.WriteFile(path, older, 0o600); err != nil {
		t.Fatal(err)
	}
	must(t, "export", "--data", dir)
	if again, err := os.ReadFile(path); err != nil || !bytes.Equal(again, whole) {
		t.Errorf("after an older program's start: got %q, %v; want the checksum", again, err)
	}
}

// TestKeyFileRefusesStrayLine: the error asks the operator to remove the line. Without the line, the server starts
// again.
func TestKeyFileRefusesStrayLine(t *testing.T) {
	t.Parallel()
	dir := clinicDir(t)
	path := filepath.Join(dir, secretFile)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(whole, "stray\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	got := command(t, nil, "", "export", "--data", dir)
	if got.code != 1 {
		t.Errorf("exit code: got %d, want 1", got.code)
	}
	contains(t, "message", got.stderr, path, "line 5", "remove the line", "from a backup")
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	must(t, "export", "--data", dir)
}

// TestOpenRefusesDamagedDatabase: the error names the command that restores a backup, and that command works.
func TestOpenRefusesDamagedDatabase(t *testing.T) {
	t.Parallel()
	dir := clinicDir(t)
	backup := filepath.Join(t.TempDir(), "backup")
	before := must(t, "export", "--data", dir)
	must(t, "backup", "--data", dir, "--to", backup)
	if err := os.WriteFile(filepath.Join(dir, databaseFile), []byte(strings.Repeat("no database ", 1000)),
		0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"export"}, {"verify"}, {"serve", "--listen", "127.0.0.1:0"}} {
		got := command(t, nil, "", append(args, "--data", dir)...)
		if got.code != 1 {
			t.Errorf("%v: exit code %d, want 1", args, got.code)
		}
		contains(t, args[0], got.stderr, "is damaged", "holdfast restore --data "+dir+" BACKUP")
	}
	must(t, "restore", "--data", dir, backup)
	if got := must(t, "export", "--data", dir); got != before {
		t.Errorf("after the restore: got %s, want %s", got, before)
	}
	// A damaged backup would be no help.
	if err := os.WriteFile(filepath.Join(backup, databaseFile), []byte(strings.Repeat("no database ", 1000)),
		0o600); err != nil {
		t.Fatal(err)
	}
	if got := command(t, nil, "", "verify", backup); got.code != 1 || strings.Contains(got.stderr, "holdfast restore") {
		t.Errorf("a damaged backup: got %+v", got)
	}
}

// TestDamagedPagesAreRefused: damaged pages make the start fail, in whichever part of the server they are found. The
// error names the newest backup.
func TestDamagedPagesAreRefused(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]int64{"all but the first page": 1, "the later pages": 12} {
		t.Run(name, func(t *testing.T) {
			dir, older := servedClinic(t)
			backup := strings.TrimSpace(must(t, "backup", "--data", dir))
			if backup <= older {
				t.Fatalf("the second backup is %s, the first %s", backup, older)
			}
			path := filepath.Join(dir, databaseFile)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for at := first * 4096; at < int64(len(text)); at++ {
				text[at] = 'x'
			}
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
			for _, args := range [][]string{{"serve", "--listen", "127.0.0.1:0"}, {"verify"}} {
				got := command(t, nil, "", append(args, "--data", dir)...)
				if got.code != 1 {
					t.Errorf("%v: got %+v, want exit code 1", args, got)
				}
				contains(t, args[0], got.stderr, "damaged", "holdfast restore --data "+dir+" "+backup)
			}
			must(t, "restore", "--data", dir, backup)
			must(t, "verify", "--data", dir)
		})
	}
}

// TestMissingSecretKeyIsLogged: the server creates a new key and logs that earlier links are invalid.
func TestMissingSecretKeyIsLogged(t *testing.T) {
	t.Parallel()
	path := clinicDir(t)
	if err := os.Remove(filepath.Join(path, secretFile)); err != nil {
		t.Fatal(err)
	}
	got := command(t, nil, "", "apikey", "list", "--data", path)
	if got.code != 0 {
		t.Fatalf("exit code %d: %s", got.code, got.stderr)
	}
	contains(t, "warning", got.stderr, "secret.key was missing", "invalid")
}

// TestServeRefusesImpossibleDirectory: the error gives the reason and the action to take.
func TestServeRefusesImpossibleDirectory(t *testing.T) {
	t.Parallel()
	file := write(t, "")
	_, err := openDataDir(filepath.Join(file, "data"), time.Now(), 0)
	if err == nil {
		t.Fatal("got no error")
	}
	contains(t, "message", err.Error(), file, "--data")

	if os.Getuid() == 0 {
		return // permissions do not restrict root
	}
	path := t.TempDir()
	if err := os.Chmod(path, 0o500); err != nil {
		t.Fatal(err)
	}
	_, err = openDataDir(path, time.Now(), 0)
	if err == nil {
		t.Fatal("read-only: got no error")
	}
	contains(t, "message", err.Error(), path, "write in it")
}

func TestCopiesListsBackupsAndDamagedQueuesOldestFirst(t *testing.T) {
	t.Parallel()
	d, err := openDataDir(t.TempDir(), time.Now(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	if list, err := d.copies(); err != nil || len(list) != 0 {
		t.Errorf("of a new directory: %v, %v, want no lines", list, err)
	}
	day := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for i, name := range []string{filepath.Join(backupsDir, "late"), queueFile + ".damaged-1",
		filepath.Join(backupsDir, "early")} {
		if err := os.Mkdir(d.file(name), 0o700); err != nil {
			t.Fatal(err)
		}
		at := day.AddDate(0, 0, -i)
		if err := os.Chtimes(d.file(name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	list, err := d.copies()
	if err != nil || len(list) != 3 || list[0].Name != "backups/early" || list[2].Name != "backups/late" ||
		!list[2].MadeAt.Equal(day) {
		t.Errorf("got %v, %v; want the early line, the queue file's and the late one", list, err)
	}
}

func TestFileOfOtherUserHasAdvice(t *testing.T) {
	t.Parallel()
	denied := fmt.Errorf("secret key: %w", &fs.PathError{Op: "open", Path: secretFile, Err: fs.ErrPermission})
	if err := otherOwner(denied); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("got %v, want the cause in the error", err)
	} else {
		contains(t, "message", err.Error(), secretFile, "chown")
	}
	missing := &fs.PathError{Op: "open", Path: secretFile, Err: fs.ErrNotExist}
	if got := otherOwner(missing); got != error(missing) {
		t.Errorf("got %v, want it unchanged", got)
	}
	if got := otherOwner(nil); got != nil {
		t.Errorf("got %v for no error", got)
	}
}
