package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// # A data directory that was rolled back
//
// A machine snapshot that is put back has the whole data directory of an earlier instant, with the witness of its database. The backup
// destination still has the steps that were copied after that instant. So the data directory notes each step before it is copied, and a
// server whose destination has a later step than the note does not start.

const (
	copiedFile       = "copied.json"
	rollbackPatience = 5 * time.Second // for a backup destination that does not answer at the start
)

// copiedStep is the last step that a data directory has sent to one backup destination.
type copiedStep struct {
	Trail string `json:"trail"`
	Step  string `json:"step"`
}

// copiedSteps reads the last steps, by backup destination. Without the file there are none.
func (d *dataDir) copiedSteps() (map[string]copiedStep, error) {
	steps := map[string]copiedStep{}
	b, err := os.ReadFile(d.file(copiedFile))
	if errors.Is(err, fs.ErrNotExist) {
		return steps, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &steps)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.file(copiedFile), err)
	}
	return steps, nil
}

// noteCopied notes that a step is about to be copied to a backup destination. A note that cannot be read is replaced.
func (d *dataDir) noteCopied(destination, trail, step string) error {
	steps, err := d.copiedSteps()
	if err != nil {
		steps = map[string]copiedStep{}
	}
	steps[destination] = copiedStep{Trail: trail, Step: step}
	b, err := json.Marshal(steps)
	if err != nil {
		return err
	}
	return replaceFile(d.file(copiedFile), b)
}

// refuseRolledBack refuses a data directory that is older than its copies at the backup destination. A destination that does not answer
// in time refuses nothing.
func (h *house) refuseRolledBack(ctx context.Context, cfg config) error {
	if cfg.afterRollback || cfg.backups.second == "" || cfg.database != "" {
		return nil
	}
	second := cfg.backups.place(h.dir.path)
	steps, err := h.dir.copiedSteps()
	last, isKnown := steps[second.String()]
	if err != nil || !isKnown {
		return nil // a note that cannot be read proves nothing, and the next step replaces it
	}
	ctx, cancel := context.WithTimeout(ctx, rollbackPatience)
	defer cancel()
	answers := make(chan listedTrails, 1)
	go func() { // a mount that hangs cannot be called back
		list, err := second.trails(ctx)
		answers <- listedTrails{list, err}
	}()
	select {
	case a := <-answers:
		if a.err != nil {
			return nil // the server reports that later, and retries
		}
		return h.compareCopies(last, a.list)
	case <-ctx.Done():
		return nil
	}
}

// listedTrails is the answer of a backup destination that lists its trails.
type listedTrails struct {
	list []trailAt
	err  error
}

// compareCopies returns an error if one of the trails has a step of this database after the last one that was sent.
func (h *house) compareCopies(last copiedStep, list []trailAt) error {
	number, mark, isTrail := parseTrailName(last.Trail)
	step, _, isStep := parseStepName(last.Step)
	if !isTrail || !isStep || mark != trailMark(h.store.ID()) {
		return nil
	}
	newest := trailAt{}
	for _, t := range list {
		if t.mark == mark && t.steps > 0 && (t.number > number || t.number == number && t.steps+t.more > step+1) {
			newest = t
		}
	}
	if newest.steps == 0 {
		return nil
	}
	return fmt.Errorf("%s is older than its copies: the backup destination has changes until %s, in %s, and this directory sent them until %s of %s. "+
		"An old snapshot of the machine or the directory was put back, so bookings are missing. "+
		"Restore the copy with: holdfast restore --data %s %s. Or serve this state once with --after-rollback",
		h.dir.path, newest.newest.UTC().Format(time.RFC3339), newest.path, last.Step, filepath.Base(last.Trail), h.dir.path, newest.path)
}
