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
	mailDir      = "mail"                   // messages that are written to files if there is no mail server
	damagedQueue = queueFile + ".damaged-*" // pattern of damaged queue files that were moved aside
	socketFile   = "admin.sock"
	lockFile     = "holdfast.pid"
)

// dataDir is a locked data directory. No other process can use the directory until close is called.
type dataDir struct {
	path string
	keys *token.Keyring
	// newKeys is set if the directory contains a database but had no secret.key, so that a new one was created. Links
	// and tokens signed with the old keys are then invalid.
	newKeys bool
	lock    *os.File
}

// inUseError reports that another process uses the data directory.
type inUseError struct {
	path string
	pid  string // process id of the other process; empty if it is just starting
}

func (e *inUseError) Error() string {
	who := "another process"
	if e.pid != "" {
		who = "process " + e.pid
	}
	return fmt.Sprintf(
		"the data directory %s is in use by %s. Stop that process first, or choose another directory with "+
			"--data", e.path,
		who,
	)
}

// openDataDir locks the directory at path. It creates the directory (mode 0700) and its secret.key (mode 0600) if they
// are missing, and removes the partial files of a killed process. If another process holds the lock, openDataDir waits
// for up to patience: the kernel may release the lock of a killed process a short time after the process ends.
//
// It returns an error that explains what to do if the directory is not writable, if another process uses it
// (*inUseError), or if secret.key is readable by other users or invalid.
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

// close gives the files that root created to the owner of the directory, and unlocks the directory. The lock file is
// not deleted: the next process may have locked it already.
func (d *dataDir) close() error {
	err := handBack(d.path)
	if err != nil {
		err = fmt.Errorf("change the owner of the files in %s to the owner of the directory: %w", d.path, err)
	}
	return errors.Join(err, d.lock.Truncate(0), unlockFile(d.lock), d.lock.Close())
}

func unusable(path string, err error) error {
	return fmt.Errorf(
		"the data directory %s cannot be used: %w. Give the user that runs holdfast write permission for it, or "+
			"choose another directory with --data",
		path, err,
	)
}

// otherOwner adds advice to an error about a file that belongs to another user, as after a start of the server as root.
// It returns other errors unchanged.
func otherOwner(err error) error {
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return fmt.Errorf("%w. Run holdfast as the user who owns the file, or change its owner with chown", err)
}

// lockPatience is how long a starting server waits for the lock of a server that has just been killed.
const lockPatience = 2 * time.Second

// halfMade lists the patterns of files and directories that are written under a temporary name and then renamed. They
// are created only while the directory is locked.
var halfMade = [...]string{backup.PartialPattern, backup.SpoolPattern, ".migrate-*", backup.RestorePattern,
	disk.NewPattern, ".writable-*"}

// checkDir is the pattern of directories for trying an upgrade. These directories are created without the lock. So are
// the directories for opening a backup during a restore (backup.OpenedPattern); they contain the database and
// secret.key in plain text. If the last write to such a directory is more than checkTime ago, a killed process left it
// behind.
//
// An interrupted move continues in halfDir. If the last write to it is more than moveTime ago, the move was abandoned,
// and the patients' data in it is deleted.
const (
	checkDir  = ".check-*"
	checkTime = time.Hour
	moveTime  = 7 * 24 * time.Hour
)

// removeHalfMade removes files that a process left behind because it was killed while it created, copied or restored a
// backup, wrote the keys, tried an upgrade, or moved a clinic here. It ignores errors: leftover files do no harm.
func (d *dataDir) removeHalfMade(now time.Time) {
	for _, dir := range []string{d.path, d.file(backupsDir), d.file(certificatesDir)} {
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

// lockDir locks the lock file and writes the process id into it, for the error messages of other processes. The lock
// lasts as long as the file is open: the kernel releases it however the process ends.
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
	if err != nil && !disk.IsFull(err) { // on a full disk, the lock works without the process id
		return nil, errors.Join(unusable(path, err), f.Close())
	}
	return f, nil
}

// errLocked means that another process holds the lock.
var errLocked = errors.New("locked")

// holderOf returns the process id in a lock file, or an empty string if the file contains none.
func holderOf(lock *os.File) string {
	b := make([]byte, 32)
	n, _ := lock.ReadAt(b, 0)
	pid := strings.TrimSpace(string(b[:n]))
	if _, err := strconv.Atoi(pid); err != nil {
		return ""
	}
	return pid
}

// writable returns an error if no file can be created in a directory. The permissions alone do not show a read-only
// mount.
func writable(path string) error {
	f, err := os.CreateTemp(path, ".writable-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// readKeys reads secret.key. If the file is missing, readKeys creates it with a new key.
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
	if loose := info.Mode().Perm() & 0o077; loose != 0 && runtime.GOOS != "windows" { // Windows has no permission bits
		return nil, fmt.Errorf(
			"%s is readable by other users (mode %#o), and anyone who reads it can forge links and tokens. Run: "+
				"chmod 600 %s  If other users may have read the file, move it away: the server then creates a new key",
			path, info.Mode().Perm(), path,
		)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("secret key: %w", otherOwner(err))
	}
	keys, err := token.ParseKeyring(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if whole := keys.Marshal(); !bytes.Equal(text, whole) {
		_ = writeKeys(path, keys) // adds the missing checksum; if that fails, the keys are still valid
	}
	return keys, nil
}

// writeKeys writes the keys to the file at path. After a power failure, the file is either complete or unchanged.
func writeKeys(path string, keys *token.Keyring) error {
	if err := disk.Replace(path, keys.Marshal()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// damagedQueues lists the damaged queue files that were moved aside and have not been deleted yet.
func (d *dataDir) damagedQueues() []string {
	list, _ := filepath.Glob(d.file(damagedQueue)) // the pattern is valid
	return list
}

// copies lists the files in the directory that contain the same personal data as the database: backups, the snapshots
// before migrations, and damaged queue files. The oldest file comes first.
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

// damagedWords explains what happened to a damaged queue file.
func damagedWords(file string) string {
	return fmt.Sprintf("%s was damaged and moved aside: the queue was rebuilt from the database, and no pending "+
		"operation was lost.\n"+
		"  Check the disk. The file may contain personal data: delete it after inspection.", file)
}
