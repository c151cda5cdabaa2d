package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"filippo.io/age"
)

// place is a backup destination: what is in it are sets of files, each under a name, a backup (auto-…) or a trail (trail-…). It is one of
// two, a directory or a bucket, and the two keep the same promises (place_test.go). What cannot be read is an error and never taken for
// what is not there.
type place interface {
	// String is how a person names the place, path how a person names a set in it.
	String() string
	path(set string) string
	// sealer is what is put there is sealed for; nil: nothing is. It refuses a place that is not there, or where nothing may go as it is.
	sealer(d *dataDir) (*age.X25519Recipient, error)
	// sets are the names of all that is there.
	sets(ctx context.Context) ([]string, error)
	// backups are those that are whole, the oldest first; trails are in the order in which they were begun.
	backups(ctx context.Context) ([]backupAt, error)
	trails(ctx context.Context) ([]trailAt, error)
	// copyBackup copies a backup's directory, whole or not at all, sealed for a recipient if there is one, and compares what it reads back.
	copyBackup(ctx context.Context, from, set string, recipient *age.X25519Recipient) error
	// beginTrail makes room for a set that is not there.
	beginTrail(set string) error
	// putStep puts a file into a set, durably, whole or not at all, with the time at which it was made; one of the same name was never counted.
	// What it reads back has to have the digest. After errUnsure it may be there, or come to be.
	putStep(ctx context.Context, from, set, file string, digest []byte, made time.Time) error
	// hasStep reports whether a file is where it was put.
	hasStep(ctx context.Context, set, file string, bytes int64) (bool, error)
	// finish makes the name of a set durable; remove deletes one.
	finish() error
	remove(ctx context.Context, set string) error
}

// errUnsure: nobody knows whether it was done, and it may be done later. Whoever tries again puts the same bytes.
var errUnsure = errors.New("whether it was done is not known")

// backupAt is a backup in a place, as its name tells of it.
type backupAt struct {
	name  string
	made  time.Time
	own   bool // the server made it by itself
	bytes int64
}

// place is the backup destination of a plan; nil: none is named. spool is a directory for what is on its way.
func (p *backupPlan) place(spool string) place {
	if p.second == "" {
		return nil
	}
	return p.s3.placeOf(p.second, spool)
}

// placeOf is the place that a person names.
func (o s3Config) placeOf(name, spool string) place {
	if strings.HasPrefix(name, bucketScheme) {
		return o.openBucket(name, spool)
	}
	return directory(name)
}

// directory is a place on another disk, or mounted from another machine.
type directory string

func (d directory) String() string         { return string(d) }
func (d directory) path(set string) string { return filepath.Join(string(d), set) }

// sealer implements place. The directory must exist: a disk that is not mounted is not written beside.
func (d directory) sealer(data *dataDir) (*age.X25519Recipient, error) {
	if info, err := os.Stat(string(d)); err != nil {
		return nil, fmt.Errorf("the backup destination is not there: %w. Mount it, or name another with --backup-to", err)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("the backup destination, %s, is no directory. Name another with --backup-to", d)
	}
	recipient, err := data.sealer()
	if err == nil && recipient == nil {
		err = refuseInTheClear(string(d))
	}
	return recipient, err
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

func (d directory) backups(ctx context.Context) (all []backupAt, err error) {
	names, err := d.sets(ctx) // by name, so by time
	for _, name := range names {
		if at, own, ok := madeAt(name); ok {
			file := filepath.Join(d.path(name), databaseFile)
			all = append(all, backupAt{name, at, own, max(size(file), size(file+sealedSuffix), 0)})
		}
	}
	return all, err
}

func (d directory) trails(context.Context) ([]trailAt, error) { return trailsIn(string(d)) }

func (d directory) copyBackup(_ context.Context, from, set string, recipient *age.X25519Recipient) error {
	return copyBackup(from, d.path(set), recipient)
}

func (d directory) beginTrail(set string) error { return os.Mkdir(d.path(set), 0o700) }

func (d directory) putStep(_ context.Context, from, set, file string, digest []byte, made time.Time) error {
	return putStep(from, filepath.Join(d.path(set), file), digest, made)
}

func (d directory) hasStep(_ context.Context, set, file string, bytes int64) (bool, error) {
	info, err := os.Stat(filepath.Join(d.path(set), file))
	return err == nil && info.Size() == bytes, nil
}

func (d directory) finish() error { return syncDir(string(d)) }

func (d directory) remove(_ context.Context, set string) error { return os.RemoveAll(d.path(set)) }
