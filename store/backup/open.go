package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"holdfast/store"
	"holdfast/store/disk"
	"holdfast/store/sqlite"
)

// OpenOptions names a backup and holds the settings for opening it.
type OpenOptions struct {
	// Path is the backup: a directory, a snapshot (a .db file), an incremental backup, or one of these in a bucket
	// (s3://bucket/prefix/name).
	Path   string
	Data   string // data directory; the backup is unsealed into a temporary directory in it
	Access Access // for connecting to the bucket
	// ReadKey returns the key of a sealed backup. If ReadKey is nil, the caller has no key.
	ReadKey func() (Key, error)
	// Until excludes increments made after it. The zero time excludes none.
	Until time.Time
	// ParseKeys checks the text of KeysFile and returns the text to write. Open returns its error.
	ParseKeys func(text []byte) ([]byte, error)
}

// Opened is a backup that is ready to be restored.
type Opened struct {
	// Replayed describes the restored part of an incremental backup; nil for other backups.
	Replayed *Replayed

	options   OpenOptions
	database  string // path of the database file of the backup
	keys      []byte // for KeysFile; nil for a snapshot, which has no keys
	key       *Key   // the key that unsealed the backup; nil if it was not sealed
	temporary []string
}

// Open prepares a backup for a restore. It downloads, unseals or replays the backup into a temporary directory in the
// data directory, which Close removes. It checks that the files exist. It does not check the database; Restore does.
func Open(ctx context.Context, o OpenOptions) (b *Opened, err error) {
	b = &Opened{options: o}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.Close())
		}
	}()
	dir := o.Path
	if strings.HasPrefix(o.Path, bucketScheme) {
		if dir, err = b.fetch(ctx); err != nil {
			return b, err
		}
	} else if err := missing(o.Path); err != nil {
		return b, err
	}
	sealed, incremental := isSealed(dir), isIncremental(dir)
	switch {
	case !sealed && o.ReadKey != nil:
		return b, fmt.Errorf("%s is not encrypted. Omit --key", o.Path)
	case sealed && o.ReadKey == nil:
		return b, fmt.Errorf("%s is encrypted. Pass the file that contains its key with --key FILE, or type the key "+
			"with --key -",
			o.Path)
	case sealed:
		store.BeginStep(ctx, "", nil) // the user may need time to type the key
		key, err := o.ReadKey()
		if err != nil {
			return b, err
		}
		b.key = &key
	}
	if sealed || incremental {
		if dir, err = b.unpack(ctx, dir, incremental); err != nil {
			return b, err
		}
	}
	return b, b.inspect(dir)
}

// missing returns an error if there is nothing at a path, such as after a typing error or while a disk is not mounted.
func missing(path string) error {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s does not exist. To list the backups, run: holdfast restore --list %s", path,
			DestinationOf(path))
	}
	return nil
}

// Close removes the temporary files.
func (b *Opened) Close() (err error) {
	for _, dir := range b.temporary {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	b.temporary = nil
	return err
}

// temporaryDir creates a directory that Close removes.
func (b *Opened) temporaryDir() (string, error) {
	if err := os.MkdirAll(b.options.Data, 0o700); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(b.options.Data, OpenedPattern)
	if err == nil {
		b.temporary = append(b.temporary, dir)
	}
	return dir, err
}

// fetch downloads a backup from a bucket, still sealed, and returns its directory.
func (b *Opened) fetch(ctx context.Context) (dir string, err error) {
	in, set := split(b.options.Path)
	if in, err = parseBucket(in); err != nil {
		return "", err
	}
	whole, err := b.temporaryDir()
	if err != nil {
		return "", err
	}
	dir = filepath.Join(whole, set)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	return dir, b.options.Access.open(in, b.options.Data).fetch(ctx, set, dir)
}

// unpack unseals a backup, or replays an incremental one, and returns the directory with its files.
func (b *Opened) unpack(ctx context.Context, from string, incremental bool) (dir string, err error) {
	if dir, err = b.temporaryDir(); err != nil {
		return "", err
	}
	called := b.options.Path
	if incremental {
		r, err := replay(ctx, from, called, dir, b.key, b.options.Until)
		b.Replayed = &r
		return dir, err
	}
	store.BeginStep(ctx, "decrypting the backup", sizeOf(filepath.Join(dir, DatabaseFile),
		disk.Size(filepath.Join(from, DatabaseFile+sealedSuffix))))
	if err := unseal(from, called, dir, *b.key); err != nil {
		return "", err
	}
	if refuseScript(dir) != nil {
		file, first := called+"/"+ScriptFile+sealedSuffix, ""
		if strings.HasPrefix(called, bucketScheme) {
			file, first = ScriptFile+sealedSuffix, "download both of its files with any S3 client, and "
		}
		return "", fmt.Errorf("%s is a backup of PostgreSQL, which psql restores: %sdecrypt both of its files with\n"+
			"  age --decrypt --identity FILE-WITH-THE-KEY %s >%s\nThen continue as described in "+
			"docs/cluster.md", called, first, file, ScriptFile)
	}
	return dir, nil
}

// inspect checks that a directory or a snapshot contains the files of a backup.
func (b *Opened) inspect(dir string) error {
	called := b.options.Path
	if err := refuseScript(dir); err != nil {
		return err
	}
	b.database = databaseOf(dir)
	if err := disk.Regular(b.database); err != nil {
		return fmt.Errorf("%s is not a backup: %w", called, err)
	}
	if b.database == dir {
		return nil // a snapshot has no keys
	}
	file := filepath.Join(dir, KeysFile)
	if err := disk.Regular(file); err != nil {
		return fmt.Errorf("%s is an incomplete backup: %w", called, err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("%s is an incomplete backup: %w", called, err)
	}
	if b.keys, err = b.options.ParseKeys(text); err != nil {
		return fmt.Errorf("%s: %w", called+"/"+KeysFile, err)
	}
	return nil
}

// databaseOf returns the database file of a backup's directory, or the snapshot itself.
func databaseOf(backup string) string {
	if info, err := os.Stat(backup); err == nil && !info.IsDir() {
		return backup
	}
	return filepath.Join(backup, DatabaseFile)
}

// refuseScript returns an error for a backup of PostgreSQL, and nil for other backups. The error explains how to
// restore it.
func refuseScript(backup string) error {
	script := backup + string(os.PathSeparator) + ScriptFile
	if _, err := os.Stat(script); err != nil { // a snapshot is a single file, without a script
		return nil
	}
	return fmt.Errorf("%s is a backup of PostgreSQL. Restore it into an empty database with: psql -v "+
		"ON_ERROR_STOP=1 -1 -f %s postgres://… , and "+
		"copy its %s into the data directory", backup, script, KeysFile)
}

// Verify copies the database of a backup, migrates the copy to the current schema and calls check with it. The backup
// does not change.
func Verify(ctx context.Context, backup string, check func(context.Context, store.Store) error) error {
	if !InBucket(backup) {
		if err := missing(backup); err != nil {
			return err
		}
	}
	if err := refuseScript(backup); err != nil {
		return fmt.Errorf("verify does not read a script of psql: %w. Start a server on that database, then run: "+
			"holdfast verify --data DIR", err)
	}
	key, sealed := "", isSealed(backup) || InBucket(backup)
	if sealed {
		key = "--key FILE "
	}
	if sealed || isIncremental(backup) {
		return fmt.Errorf("verify reads only backups that are neither encrypted nor incremental. To check this one, "+
			"restore it into a new directory: holdfast restore --data DIR %s%s", key, backup)
	}
	scratch, err := os.MkdirTemp("", "holdfast-verify-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	return checkCopy(ctx, databaseOf(backup), filepath.Join(scratch, DatabaseFile), check)
}

// checkCopy copies a database file, migrates the copy to the current schema, and calls check with it. No process may
// have the database open.
func checkCopy(ctx context.Context, from, to string, check func(context.Context, store.Store) error) error {
	if err := disk.Regular(from); err != nil {
		return err
	}
	store.BeginStep(ctx, "copying the database", sizeOf(to, disk.Size(from)))
	if err := disk.Copy(from, to); err != nil {
		return err
	}
	s, err := sqlite.Open(ctx, sqlite.Options{Path: to})
	if err != nil {
		return err
	}
	return errors.Join(check(ctx, s), s.Close())
}

// sizeOf returns a Measure for a file that grows to a total size.
func sizeOf(path string, total int64) store.Measure {
	return func() (int64, int64) { return max(disk.Size(path), 0), total }
}

// IsIncremental reports whether a path belongs to an incremental backup; it checks the name and the content.
func IsIncremental(name string) bool {
	_, _, named := parseIncrementalName(path.Base(name))
	return named || isIncremental(name)
}

// InBucket reports whether a name refers to a bucket, or to a backup in a bucket.
func InBucket(name string) bool { return strings.HasPrefix(name, bucketScheme) }

// DestinationOf returns the destination that contains a backup.
func DestinationOf(backup string) string {
	if InBucket(backup) {
		in, _ := split(backup)
		return in
	}
	return filepath.Dir(backup)
}

// split splits the name of a backup in a bucket into the name of the destination and the name of the set.
func split(name string) (in, set string) {
	in, set = path.Split(strings.TrimSuffix(strings.TrimPrefix(name, bucketScheme), "/"))
	return bucketScheme + in, set
}

// Check returns an error if a bucket's name is invalid, or if settings for connecting to it are missing. It accepts
// every directory.
func (a Access) Check(destination string) error {
	if !InBucket(destination) {
		return nil
	}
	name, err := parseBucket(destination)
	if err != nil {
		return err
	}
	return a.Missing(name)
}

// named returns the destination with a name that the operator has given.
func (a Access) named(name, spool string) (destination, error) {
	if !InBucket(name) {
		return directory(name), nil
	}
	name, err := parseBucket(name)
	return a.open(name, spool), err
}

// Newer lists the incremental backups that contain later changes than this backup. They are of the same database and at
// the same destination. mark is Restored.Mark. If Newer returns an error, the list may be incomplete.
func (b *Opened) Newer(ctx context.Context, mark string) (newer []Incremental, err error) {
	backup := b.options.Path
	in := DestinationOf(backup)
	if InBucket(backup) {
		_, set := split(backup)
		backup = in + set
	} else {
		if backup, err = filepath.Abs(backup); err != nil {
			return nil, err
		}
		in = filepath.Dir(backup)
	}
	d, err := b.options.Access.named(in, b.options.Data)
	if err != nil {
		return nil, err
	}
	var last time.Time
	if b.Replayed != nil {
		last = b.Replayed.Last
	}
	if last.IsZero() {
		last, _, _ = parseName(filepath.Base(backup))
	}
	if last.IsZero() {
		last = disk.LastWritten(backup)
	}
	all, err := d.incrementals(ctx)
	for _, i := range all {
		if i.Mark == mark && i.Path != backup && i.Steps > 0 && i.Last.After(last) {
			newer = append(newer, i)
		}
	}
	return newer, err
}
