package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"
	"time"
)

// listed is a line of what restore --list prints.
type listed struct {
	path string
	made time.Time
	size int64
	note string
	rank time.Time // by which it is sorted: a trail is newer than those with smaller numbers, whatever the clock was when they were made
}

// listBackups prints the backups in the data directory and in the places named, the newest first.
func (c *config) listBackups(ctx context.Context, to io.Writer, places []string) error {
	here := filepath.Join(c.data, backupsDir)
	all, err := listPlace(ctx, directory(here), nil)
	if err != nil {
		return err
	}
	for _, name := range places {
		p, err := c.placeNamed(name)
		if err != nil {
			return err
		}
		if _, err := os.Stat(name); p == directory(name) && err != nil {
			return err
		}
		if all, err = listPlace(ctx, p, all); err != nil {
			return err
		}
	}
	if len(all) == 0 {
		_, err := fmt.Fprintf(to, "no backup was found in %s\n", strings.Join(append([]string{here}, places...), ", "))
		return err
	}
	sort.SliceStable(all, func(i, j int) bool { return all[j].rank.Before(all[i].rank) })
	for _, b := range all {
		if _, err := fmt.Fprintf(to, "%s  %7.1f MB  %s%s\n", b.made.Format(time.RFC3339), float64(b.size)/1e6, b.path, b.note); err != nil {
			return err
		}
	}
	return nil
}

// listPlace puts what is in a place before all. Trails come in the order of their numbers, the last first.
func listPlace(ctx context.Context, p place, all []listed) ([]listed, error) {
	backups, err := p.backups(ctx)
	if err != nil {
		return nil, err
	}
	for _, b := range backups {
		all = append([]listed{{p.path(b.name), b.made, b.bytes, "", b.made}}, all...)
	}
	if d, ok := p.(directory); ok {
		earlier, err := earlierStatesIn(string(d))
		if err != nil {
			return nil, err
		}
		for _, s := range earlier {
			all = append(all, listed{p.path(s.name), s.made, s.bytes, "  " + s.note, s.made})
		}
	}
	trails, err := p.trails(ctx)
	if err != nil {
		return nil, err
	}
	newest := map[string]time.Time{} // rank of the trails before, by their mark
	for _, t := range trails {
		if t.steps > 0 {
			if t.last.After(newest[t.mark]) {
				newest[t.mark] = t.last
			}
			all = append([]listed{{t.path, t.last.UTC(), t.bytes, "  " + t.words(), newest[t.mark]}}, all...)
		}
	}
	return all, nil
}

// placeNamed is the place that somebody names on the command line.
func (c *config) placeNamed(name string) (place, error) {
	if strings.HasPrefix(name, bucketScheme) {
		return c.bucketNamed(name)
	}
	return directory(name), nil
}

func (c *config) bucketNamed(name string) (*bucketPlace, error) {
	name, err := parseBucket(name)
	if err == nil {
		err = c.backups.s3.missing(name)
	}
	if err != nil {
		return nil, usageError{err}
	}
	return c.backups.s3.openBucket(name, c.data), nil
}

// splitSet cuts the name of a set off what somebody names in a bucket.
func splitSet(name string) (in, set string) {
	in, set = path.Split(strings.TrimSuffix(strings.TrimPrefix(name, bucketScheme), "/"))
	return bucketScheme + in, set
}

// fetched brings a backup or a trail of a bucket into the data directory, as it is, and returns the directory, which clear removes.
func (c *config) fetched(ctx context.Context, name string) (dir string, clear func() error, err error) {
	clear = func() error { return nil }
	in, set := splitSet(name)
	p, err := c.bucketNamed(in)
	if err != nil {
		return "", clear, err
	}
	if err := os.MkdirAll(c.data, 0o700); err != nil {
		return "", clear, err
	}
	whole, err := os.MkdirTemp(c.data, unsealedDir)
	if err != nil {
		return "", clear, err
	}
	clear = func() error { return os.RemoveAll(whole) }
	dir = filepath.Join(whole, set)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", clear, err
	}
	return dir, clear, p.fetch(ctx, set, dir)
}

// newerTrails are those of one database, by its mark, that lie beside a backup and go on after it was made; last is that instant of a backup that is a
// trail. An error says that there may be more of them than those.
func (c *config) newerTrails(ctx context.Context, backup string, last time.Time, mark string) (newer []trailAt, err error) {
	var beside string
	if strings.HasPrefix(backup, bucketScheme) {
		var set string
		beside, set = splitSet(backup)
		backup = beside + set
	} else {
		whole, err := filepath.Abs(backup)
		if err != nil {
			return nil, err
		}
		backup, beside = whole, filepath.Dir(whole)
	}
	p, err := c.placeNamed(beside)
	if err != nil {
		return nil, err
	}
	if last.IsZero() {
		last, _, _ = madeAt(filepath.Base(backup))
	}
	if last.IsZero() {
		last = lastWritten(backup)
	}
	all, err := p.trails(ctx)
	for _, t := range all {
		if t.mark == mark && t.path != backup && t.steps > 0 && t.last.After(last) {
			newer = append(newer, t)
		}
	}
	return newer, err
}
