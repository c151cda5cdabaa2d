package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"filippo.io/age"

	"holdfast/store/disk"
)

// destination stores sets of files, each under a name: a backup (auto-…) or an incremental backup (trail-…). It has two
// implementations, directory and bucketDestination, and both pass the tests in destination_test.go. If a set cannot be
// read, the methods return an error; they never report the set as missing.
type destination interface {
	// String returns the destination as the operator would write it. path does the same for a set in it.
	String() string
	path(set string) string
	// recipient returns the public key that files at this destination are sealed for, or nil if they are not sealed. It
	// returns an error if the destination does not exist, or if unsealed files must not be written there.
	recipient(data string) (*age.X25519Recipient, error)
	// sets lists the names of all sets.
	sets(ctx context.Context) ([]string, error)
	// backups lists the complete backups, oldest first. incrementals lists the incremental backups in the order in
	// which they were started.
	backups(ctx context.Context) ([]copyInfo, error)
	incrementals(ctx context.Context) ([]Incremental, error)
	// copyBackup copies the directory of a backup and compares the copy with it. If to is not nil, the copy is sealed
	// for that key. After an error, backups does not list the copy.
	copyBackup(ctx context.Context, from, set string, to *age.X25519Recipient) error
	// begin prepares a set that does not exist yet.
	begin(set string) error
	// put writes a file durably into a set, with its modification time. It reads the file back and compares it with the
	// digest. Afterwards, the file is either complete or missing. After errUnknown, the file may already exist, or
	// appear later.
	put(ctx context.Context, from, set, file string, digest []byte, made time.Time) error
	// has reports whether a set has a file of this size.
	has(ctx context.Context, set, file string, bytes int64) (bool, error)
	// finish makes the name of a set durable. remove deletes a set.
	finish() error
	remove(ctx context.Context, set string) error
}

// errUnknown means that the outcome of a write is unknown, and that the write may still take effect. The caller repeats
// it with the same bytes.
var errUnknown = errors.New("the outcome is unknown")

// copyInfo describes a backup at a destination.
type copyInfo struct {
	name  string
	made  time.Time
	own   bool // a daily backup
	bytes int64
}

// destination returns the plan's backup destination, or nil if the plan names none. spool is a directory for files that
// are being sent.
func (p *Plan) destination(spool string) destination {
	if p.Destination == "" {
		return nil
	}
	if strings.HasPrefix(p.Destination, bucketScheme) {
		return p.Access.open(p.Destination, spool)
	}
	return directory(p.Destination)
}

// directory is a destination on another disk or on a network file system.
type directory string

func (d directory) String() string         { return string(d) }
func (d directory) path(set string) string { return filepath.Join(string(d), set) }

// recipient implements destination. It does not create a missing directory: if the disk is not mounted, the copies
// would fill the server's own disk.
func (d directory) recipient(data string) (*age.X25519Recipient, error) {
	if info, err := os.Stat(string(d)); err != nil {
		return nil, fmt.Errorf("the backup destination does not exist: %w. Mount it, or choose another destination "+
			"with --backup-to", err)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("the backup destination %s is not a directory. Choose another destination with "+
			"--backup-to", d)
	}
	to, err := recipientOf(data)
	if err == nil && to == nil {
		err = refuseUnsealed(string(d))
	}
	return to, err
}

func (d directory) sets(context.Context) (names []string, err error) {
	entries, err := os.ReadDir(string(d))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, err
}

func (d directory) backups(ctx context.Context) (all []copyInfo, err error) {
	names, err := d.sets(ctx) // sorted by name, and so by time
	for _, name := range names {
		if at, own, ok := parseName(name); ok {
			info := copyInfo{name, at, own, 0}
			for _, file := range []string{DatabaseFile, ScriptFile} {
				file = filepath.Join(d.path(name), file)
				info.bytes = max(info.bytes, disk.Size(file), disk.Size(file+sealedSuffix))
			}
			all = append(all, info)
		}
	}
	return all, err
}

func (d directory) incrementals(context.Context) ([]Incremental, error) {
	return incrementalsIn(string(d))
}

func (d directory) copyBackup(_ context.Context, from, set string, to *age.X25519Recipient) (err error) {
	files, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	partial, err := os.MkdirTemp(string(d), PartialPattern)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(partial))
		}
	}()
	for _, f := range files {
		source, target := filepath.Join(from, f.Name()), filepath.Join(partial, f.Name())
		var want []byte
		if to != nil {
			target += sealedSuffix
			want, err = sealFile(source, target, to)
		} else if err = disk.Copy(source, target); err == nil {
			want, err = digestOf(source)
		}
		if err != nil {
			return err
		}
		if got, err := digestOf(target); err != nil || !bytes.Equal(got, want) {
			return errors.Join(fmt.Errorf("%s differs from the original when read back. Check the disk of the backup "+
				"destination", f.Name()),
				err)
		}
	}
	if err := disk.Sync(partial); err != nil {
		return err
	}
	if err := os.Rename(partial, d.path(set)); err != nil {
		return err
	}
	return disk.Sync(string(d))
}

func (d directory) begin(set string) error { return os.Mkdir(d.path(set), 0o700) }

func (d directory) put(_ context.Context, from, set, file string, digest []byte, made time.Time) (err error) {
	partial, err := os.CreateTemp(d.path(set), incrementPartial) // has mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(partial.Name())
		}
	}()
	source, err := os.Open(from)
	if err != nil {
		return errors.Join(err, partial.Close())
	}
	defer source.Close()
	_, err = partial.ReadFrom(source)
	if err := errors.Join(err, partial.Sync(), partial.Close()); err != nil {
		return err
	}
	if got, err := digestOf(partial.Name()); err != nil || !bytes.Equal(got, digest) {
		return errors.Join(errors.New("the file differs from the original when read back. Check the disk of the "+
			"backup destination"), err)
	}
	if err := os.Chtimes(partial.Name(), time.Time{}, made); err != nil {
		return err
	}
	if err := os.Rename(partial.Name(), filepath.Join(d.path(set), file)); err != nil {
		return err
	}
	return disk.Sync(d.path(set))
}

func (d directory) has(_ context.Context, set, file string, bytes int64) (bool, error) {
	info, err := os.Stat(filepath.Join(d.path(set), file))
	return err == nil && info.Size() == bytes, nil
}

func (d directory) finish() error { return disk.Sync(string(d)) }

func (d directory) remove(_ context.Context, set string) error { return os.RemoveAll(d.path(set)) }

// digestOf returns the SHA-256 of a file.
func digestOf(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return h.Sum(nil), err
}
