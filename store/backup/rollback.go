package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"holdfast/store/disk"
)

// If an operator restores a snapshot of the whole machine, the data directory is in the state of an earlier instant,
// including the database marker in the queue. Nothing in the directory shows the rollback. But the backup destination
// still contains the increments that were copied after that instant. So the Follower notes each increment in CopiedFile
// before it copies it, and RefuseRolledBack compares the note with the destination.

const (
	// CopiedFile records the last increment that a data directory has sent to each backup destination.
	CopiedFile = "copied.json"
	// rollbackPatience is how long RefuseRolledBack waits for the destination.
	rollbackPatience = 5 * time.Second
)

// sentIncrement is the last increment that a data directory has sent to one destination.
type sentIncrement struct {
	Set  string `json:"trail"`
	File string `json:"step"`
}

// readSent reads the last increments, by destination. If the file does not exist, there are none.
func readSent(data string) (map[string]sentIncrement, error) {
	path := filepath.Join(data, CopiedFile)
	sent := map[string]sentIncrement{}
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return sent, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &sent)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return sent, nil
}

// noteSent notes that an increment is about to be sent to a destination. It replaces a note that cannot be read.
func noteSent(data, destination, set, file string) error {
	sent, err := readSent(data)
	if err != nil {
		sent = map[string]sentIncrement{}
	}
	sent[destination] = sentIncrement{Set: set, File: file}
	b, err := json.Marshal(sent)
	if err != nil {
		return err
	}
	return disk.Replace(filepath.Join(data, CopiedFile), b)
}

// RefuseRolledBack returns an error if the data directory is older than its copies at the backup destination. It
// returns nil if the destination cannot be listed within 5 seconds.
func (b *Backups) RefuseRolledBack(ctx context.Context) error {
	s, isFile := b.sqlite()
	d := b.Plan.destination(b.Data)
	if d == nil || !isFile {
		return nil
	}
	sent, err := readSent(b.Data)
	last, isKnown := sent[d.String()]
	if err != nil || !isKnown {
		return nil // an unreadable note proves nothing; the next increment replaces it
	}
	ctx, cancel := context.WithTimeout(ctx, rollbackPatience)
	defer cancel()
	type listing struct {
		list []Incremental
		err  error
	}
	listed := make(chan listing, 1)
	go func() { // a hung network disk cannot be interrupted
		list, err := d.incrementals(ctx)
		listed <- listing{list, err}
	}()
	select {
	case l := <-listed:
		if l.err != nil {
			return nil // the Follower reports it, and retries
		}
		return b.compareCopies(last, markOf(s.ID()), l.list)
	case <-ctx.Done():
		return nil
	}
}

// compareCopies returns an error if the list contains an increment of this database that is later than the last one
// sent.
func (b *Backups) compareCopies(last sentIncrement, ownMark string, list []Incremental) error {
	number, mark, isIncremental := parseIncrementalName(last.Set)
	step, _, isIncrement := parseIncrementName(last.File)
	if !isIncremental || !isIncrement || mark != ownMark {
		return nil
	}
	newest := Incremental{}
	for _, i := range list {
		if i.Mark == mark && i.Steps > 0 && (i.Number > number || i.Number == number && i.Steps+i.More > step+1) {
			newest = i
		}
	}
	if newest.Steps == 0 {
		return nil
	}
	return fmt.Errorf("%s is older than its copies: the backup destination has changes until %s, in %s, but this "+
		"directory has sent changes only until %s of %s. An old snapshot of the machine or the directory was "+
		"restored, so bookings are missing. Restore the copy with: holdfast restore --data %s %s. Or start once with "+
		"--after-rollback to serve the older state",
		b.Data, newest.Newest.UTC().Format(time.RFC3339), newest.Path, last.File, filepath.Base(last.Set), b.Data,
		newest.Path)
}
