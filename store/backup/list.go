package backup

import (
	"context"
	"os"
	"path/filepath"
	"sort"
	"time"
)

// Listed describes one backup in the result of List.
type Listed struct {
	Path  string
	Made  time.Time // for an incremental backup, the time of its last increment
	Bytes int64
	Note  string
	// the sort key. An incremental backup sorts as newer than those with smaller numbers, even if the clock was set
	// back
	rank time.Time
}

// List lists the backups in a data directory and at the destinations, newest first. It returns an error if a
// destination does not exist.
func List(ctx context.Context, data string, access Access, destinations []string) ([]Listed, error) {
	all, err := appendListed(ctx, directory(filepath.Join(data, Folder)), nil)
	if err != nil {
		return nil, err
	}
	for _, name := range destinations {
		d, err := access.named(name, data)
		if err != nil {
			return nil, err
		}
		if _, err := os.Stat(name); d == directory(name) && err != nil {
			return nil, err
		}
		if all, err = appendListed(ctx, d, all); err != nil {
			return nil, err
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[j].rank.Before(all[i].rank) })
	return all, nil
}

// appendListed adds the backups at a destination to all and returns the result. Incremental backups are in the order of
// their numbers, the last one first.
func appendListed(ctx context.Context, d destination, all []Listed) ([]Listed, error) {
	backups, err := d.backups(ctx)
	if err != nil {
		return nil, err
	}
	for _, b := range backups {
		all = append([]Listed{{d.path(b.name), b.made, b.bytes, "", b.made}}, all...)
	}
	if dir, ok := d.(directory); ok {
		earlier, err := earlierStates(string(dir))
		if err != nil {
			return nil, err
		}
		for _, s := range earlier {
			all = append(all, Listed{d.path(s.name), s.made, s.bytes, s.note, s.made})
		}
	}
	incrementals, err := d.incrementals(ctx)
	if err != nil {
		return nil, err
	}
	newest := map[string]time.Time{} // by mark: the latest time already listed
	for _, i := range incrementals {
		if i.Steps > 0 {
			if i.Last.After(newest[i.Mark]) {
				newest[i.Mark] = i.Last
			}
			all = append([]Listed{{i.Path, i.Last.UTC(), i.Bytes, i.Text(), newest[i.Mark]}}, all...)
		}
	}
	return all, nil
}
