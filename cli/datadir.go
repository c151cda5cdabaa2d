package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"time"

	"holdfast/engine/person"
	"holdfast/engine/token"
	"holdfast/store/backup"
	"holdfast/store/disk"
)

// The files of a data directory.
const (
	databaseFile = backup.DatabaseFile
	queueFile    = backup.QueueFile
	secretFile   = backup.KeysFile
	backupsDir   = backup.Folder
	mailDir      = "mail"                   // messages that no mail server was there for
	damagedQueue = queueFile + ".damaged-*" // what was moved aside, as a pattern
	socketFile   = "admin.sock"
	lockFile     = "holdfast.pid"
)

// dataDir is a data directory that this process has to itself until close.
type dataDir struct {
	path string
	keys *token.Keyring
	// newKeys: secret.key was not there and has been made although there is a database, so that links and tokens
	// signed before are void.
	newKeys bool
	lock    *os.File
}

// inUseError says that another process has the data directory.
type inUseError struct {
	path string
	pid  string // of the other process; empty if it is just starting
}

func (e *inUseError) Error() string {
	who := "another process"
	if e.pid != "" {
		who = "process " + e.pid
	}
	return fmt.Sprintf("the data directory %s is in use by %s. Stop that one first, or name another directory with --data", e.path, who)
}

// openDataDir takes the directory at path, making it (0700) and its secret.key (0600) if they are missing, and removes what
// a process that was killed has left half made. If another process has the directory, it waits for as long as patience says:
// the kernel may free the lock of a process that was killed a moment after its death.
//
// It refuses, saying what to do: a directory in which nothing can be written, one that another process has
// (*inUseError), a secret.key that others than its owner can read, or that cannot be read as one.
func openDataDir(path string, now time.Time, patience time.Duration) (*dataDir, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, unusable(path, err)
	}
	d := &dataDir{path: path}
	if d.lock, err = lockDir(path, patience); err != nil {
		return nil, err
	}
	d.removeHalfMade(now)
	if err := errors.Join(writable(path), os.MkdirAll(d.file(backupsDir), 0o700)); err != nil {
		return nil, errors.Join(unusable(path, err), d.close())
	}
	if d.keys, err = d.readKeys(now); err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

func (d *dataDir) file(name string) string { return filepath.Join(d.path, name) }

// close gives the directory free. The lock file stays: removing it could take away the one a next process has locked.
func (d *dataDir) close() error {
	return errors.Join(d.lock.Truncate(0), unlockFile(d.lock), d.lock.Close())
}

func unusable(path string, err error) error {
	return fmt.Errorf("the data directory %s cannot be used: %w. Let the user that runs holdfast own it and write in it, or name another directory with --data", path, err)
}

// lockPatience is how long a server that starts waits for the lock of one that has just been killed.
const lockPatience = 2 * time.Second

// halfMade are the names of what is made beside its place and then renamed. They are only made under the directory's lock.
var halfMade = [...]string{backup.PartialPattern, backup.SpoolPattern, ".migrate-*", backup.RestorePattern, ".secret-*", ".writable-*"}

// checkDir is where an upgrade is tried, and unsealedDir where a sealed copy or a trail is opened to be restored, beside whoever has the directory.
// What was last written longer than checkTime ago was left by one that was killed; of what was opened, it is the database and secret.key in the clear.
// A move that was interrupted goes on in halfDir; after moveTime nobody has gone on with it, and everybody in it is there for nothing.
const (
	checkDir  = ".check-*"
	checkTime = time.Hour
	moveTime  = 7 * 24 * time.Hour
)

// removeHalfMade removes what a process has left that was killed while it made a backup or a copy, restored one, wrote the keys, tried an upgrade or
// moved a clinic here. What cannot be removed is in nobody's way.
func (d *dataDir) removeHalfMade(now time.Time) {
	for _, dir := range []string{d.path, d.file(backupsDir)} {
		for _, pattern := range halfMade {
			left, _ := filepath.Glob(filepath.Join(dir, pattern))
			for _, path := range left {
				_ = os.RemoveAll(path)
			}
		}
	}
	tried, _ := filepath.Glob(filepath.Join(d.file(backupsDir), checkDir))
	opened, _ := filepath.Glob(d.file(backup.OpenedPattern))
	for _, path := range append(tried, opened...) {
		if now.Sub(disk.LastWritten(path)) > checkTime {
			_ = os.RemoveAll(path)
		}
	}
	if half := d.file(halfDir); now.Sub(disk.LastWritten(half)) > moveTime {
		_ = os.RemoveAll(half)
	}
}

// lockDir locks the lock file for as long as it is open (the kernel frees it however the process ends) and writes the
// process id into it for others to name.
func lockDir(path string, patience time.Duration) (*os.File, error) {
	begun := time.Now()
	f, pid, err := lockFileAt(filepath.Join(path, lockFile))
	for errors.Is(err, errLocked) && time.Since(begun) < patience {
		time.Sleep(20 * time.Millisecond)
		f, pid, err = lockFileAt(filepath.Join(path, lockFile))
	}
	switch {
	case errors.Is(err, errLocked):
		return nil, &inUseError{path: path, pid: pid}
	case err != nil:
		return nil, unusable(path, err)
	}
	err = f.Truncate(0)
	if err == nil {
		_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if err != nil && !disk.IsFull(err) { // without the process id, the lock still holds
		return nil, errors.Join(unusable(path, err), f.Close())
	}
	return f, nil
}

// errLocked: another process has the lock.
var errLocked = errors.New("locked")

// holderOf is the process id that a lock file names.
func holderOf(lock *os.File) string {
	b := make([]byte, 32)
	n, _ := lock.ReadAt(b, 0)
	pid := strings.TrimSpace(string(b[:n]))
	if _, err := strconv.Atoi(pid); err != nil {
		return ""
	}
	return pid
}

// writable tries what permissions alone do not tell: a read-only mount refuses too.
func writable(path string) error {
	f, err := os.CreateTemp(path, ".writable-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// readKeys reads secret.key, or makes one.
func (d *dataDir) readKeys(now time.Time) (*token.Keyring, error) {
	path := d.file(secretFile)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		d.newKeys = hasDatabase(d.path)
		keys := token.Generate(now)
		return keys, writeKeys(path, keys)
	}
	if err != nil {
		return nil, fmt.Errorf("secret key: %w", err)
	}
	if loose := info.Mode().Perm() & 0o077; loose != 0 && runtime.GOOS != "windows" { // which has no such bits
		return nil, fmt.Errorf("%s can be read by others (mode %#o), and whoever reads it can forge links and tokens. Close it with: chmod 600 %s  and, if others have had access, have a new one made by moving it away",
			path, info.Mode().Perm(), path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("secret key: %w", err)
	}
	keys, err := token.ParseKeyring(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if whole := keys.Marshal(); !bytes.Equal(text, whole) {
		_ = writeKeys(path, keys) // with a checksum, from now on; where that cannot be written, the keys are good as they are
	}
	return keys, nil
}

// writeKeys writes the keys so that after a power cut there is the whole file or none.
func writeKeys(path string, keys *token.Keyring) error {
	if err := disk.Replace(path, keys.Marshal()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// damagedQueues are the queue files that were found damaged and moved aside, and that nobody has deleted yet.
func (d *dataDir) damagedQueues() []string {
	list, _ := filepath.Glob(d.file(damagedQueue)) // the pattern is a good one
	return list
}

// copies lists what is in the directory besides the data itself and holds the same persons: backups, the snapshots made
// before a migration, and damaged queue files. Oldest first.
func (d *dataDir) copies() ([]person.Copy, error) {
	files := d.damagedQueues()
	entries, err := os.ReadDir(d.file(backupsDir))
	for _, entry := range entries {
		files = append(files, filepath.Join(d.file(backupsDir), entry.Name()))
	}
	var list []person.Copy
	for _, file := range files {
		info, unread := os.Stat(file)
		if unread != nil {
			err = errors.Join(err, unread)
			continue
		}
		name, _ := filepath.Rel(d.path, file) // both are absolute
		list = append(list, person.Copy{Name: name, MadeAt: info.ModTime()})
	}
	sort.Slice(list, func(i, j int) bool { return list[i].MadeAt.Before(list[j].MadeAt) })
	return list, err
}

// damagedWords says what became of a damaged queue file.
func damagedWords(file string) string {
	return fmt.Sprintf("%s was damaged and moved aside: the queue was rebuilt from the database, and nothing that was still to be done is lost.\n"+
		"  Check the disk. The file may hold personal data: delete it once nobody wants to look into it.", file)
}
