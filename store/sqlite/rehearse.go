package sqlite

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"holdfast/store"
)

// Rehearsal is the result of Rehearse.
type Rehearsal struct {
	From, To int           // versions of the schema
	Due      []string      // migrations to apply, in order; if there are none, the other fields are empty
	Bytes    int64         // size of the copy; the snapshot before the migrations has the same size
	Took     time.Duration // time for the snapshot and the migrations of the copy
}

// Rehearse copies the database at path into the directory in, migrates the copy and checks it in the same way as
// Store.Check. It only reads the original, which a server may have open. It refuses a file that is not a Holdfast
// database, and a schema that is newer than this program. free is the free space in bytes. The copy and the snapshot
// together need twice the size of the database. If less than 3 times its size is free, Rehearse returns store.ErrFull,
// because a running server may need the rest of the disk.
func Rehearse(ctx context.Context, path, in string, free uint64) (r Rehearsal, err error) {
	if path, err = filepath.Abs(path); err != nil {
		return r, fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	u := url.URL{Scheme: "file", Path: path}
	c, err := openConn(u.String() + "?mode=ro&_pragma=busy_timeout(10000)")
	if err != nil {
		return r, fmt.Errorf("reading %s: %w", path, err)
	}
	defer c.close()
	known, err := store.ReadMigrations(migrations)
	if err != nil {
		return r, err
	}
	applied, err := appliedMigrations(ctx, c)
	if err != nil {
		return r, fmt.Errorf("%s is not a database of this program: %w", path, err)
	}
	if err := recognise(applied, known); err != nil {
		return r, fmt.Errorf("%s: %w", path, err)
	}
	r.From, r.To = len(applied), len(known)
	for _, m := range known[r.From:] {
		r.Due = append(r.Due, m.Name)
	}
	if len(r.Due) == 0 {
		return r, nil
	}
	whole, err := os.Stat(path)
	if err != nil {
		return r, fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	if need := 3 * uint64(whole.Size()); need > free {
		return r, fmt.Errorf("%w: the upgrade takes a snapshot, which needs %d bytes of free space, but only %d "+
			"bytes are free",
			store.ErrFull, need, free)
	}
	tried := filepath.Join(in, filepath.Base(path))
	if err := copyInto(ctx, c, tried); err != nil {
		return r, fmt.Errorf("copying %s: %w", path, err)
	}
	info, err := os.Stat(tried)
	if err != nil {
		return r, fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	r.Bytes = info.Size()
	began := time.Now()
	s, err := Open(ctx, Options{Path: tried, SnapshotDir: filepath.Join(in, "snapshots")})
	if err != nil {
		return r, err
	}
	r.Took = time.Since(began)
	return r, errors.Join(s.Check(ctx), s.Close())
}
