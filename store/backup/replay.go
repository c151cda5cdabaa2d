package backup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"filippo.io/age"

	"holdfast/store"
	"holdfast/store/sqlite"
)

// Replayed describes the part of an incremental backup that was restored.
type Replayed struct {
	Begun time.Time // when the first increment was made
	Last  time.Time // when the last restored increment was made
	Steps int       // number of restored increments
	// Broken is the reason why later increments were not restored; if nil, all requested increments were restored.
	Broken error
}

// replay writes the database and the keys of an incremental backup into an existing directory. It stops at the first
// damaged increment. If until is not zero, it also stops at the first increment made after until. It returns an error
// if not even the first increment can be read, if the directory cannot be written, or if ctx ends. Errors contain
// called as the name of the incremental backup.
func replay(ctx context.Context, path, called, into string, key *Key, until time.Time) (r Replayed, err error) {
	found := readIncremental(path)
	if found.Steps == 0 && found.Unread != nil {
		return r, fmt.Errorf("%s cannot be read: %w", called, found.Unread)
	}
	if found.Steps == 0 {
		return r, fmt.Errorf("%s has no first increment (%s), and cannot be restored without it", called,
			incrementName(0, found.Sealed))
	}
	file, err := sqlite.CreatePageFile(filepath.Join(into, DatabaseFile))
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	put := func(number int, page []byte) error { return errors.Join(ctx.Err(), file.Put(number, page)) }
	var before incrementHead
	var end incrementEnd
	for n := range found.Steps {
		if err := ctx.Err(); err != nil {
			return r, err
		}
		store.BeginStep(ctx, "restoring increments", store.Of(n, found.Steps))
		step, name := filepath.Join(path, incrementName(n, found.Sealed)), called+"/"+incrementName(n, found.Sealed)
		head, next, broken := checkIncrement(step, key, file.Sums,
			func(head incrementHead) error { return requireNext(head, before, end, n) })
		if broken == nil && !until.IsZero() && head.Made.After(until) {
			if n == 0 {
				return r, fmt.Errorf("%s starts at %s, which is after --until. Choose an older incremental "+
					"backup", called,
					head.Made.Format(time.RFC3339))
			}
			break
		}
		if broken != nil && n == 0 {
			return r, explainBroken(name, broken)
		}
		if broken != nil {
			r.Broken = explainBroken(name, broken)
			break
		}
		if _, err := readIncrement(step, key, func(incrementHead) error { return ctx.Err() }, put); err != nil {
			return r, fmt.Errorf("%s could be read the first time, but not the second: %w", name, err)
		}
		if err := file.Truncate(next.pages); err != nil {
			return r, err
		}
		if n == 0 {
			r.Begun = head.Made
		}
		before, end = head, next
		r.Last, r.Steps = head.Made, n+1
	}
	if r.Broken == nil && r.Steps == found.Steps && found.More > 0 {
		r.Broken = fmt.Errorf("%s is missing, so the %s after it cannot be used", called+"/"+found.Missing,
			Increments(found.More))
	}
	return r, os.WriteFile(filepath.Join(into, KeysFile), before.Keys, 0o600)
}

// requireNext returns an error unless head belongs to the increment that follows before. An increment of a different
// incremental backup, or at a different position, does not follow.
func requireNext(head, before incrementHead, end incrementEnd, n int) error {
	if head.Number != n || head.After != end.digest || n > 0 && head.Set != before.Set {
		return fmt.Errorf("the file is increment %d of %s and does not follow the previous "+
			"increment", head.Number, head.Set)
	}
	return nil
}

// explainBroken returns an error that names the increment and states why it cannot be used.
func explainBroken(path string, err error) error {
	var wrong *age.NoIdentityMatchError
	if errors.As(err, &wrong) {
		return otherKey(path)
	}
	return fmt.Errorf("%s is incomplete or damaged: %w", path, err)
}
