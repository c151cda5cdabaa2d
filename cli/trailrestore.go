package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"filippo.io/age"

	"holdfast/store/sqlite"
)

// followed is how far a trail could be followed.
type followed struct {
	path  string
	begun time.Time // when its first step was made
	last  time.Time // when the last that was followed was made
	steps int
	// broken says why it was not followed further; nil: it was followed as far as it was to be.
	broken error
}

// words say what was restored, and what was not.
func (f followed) words() string {
	var b strings.Builder
	fmt.Fprintf(&b, "the copy is up to %s: %d steps from %s on\n", f.last.Format(time.RFC3339), f.steps, f.begun.Format(time.RFC3339))
	if f.broken != nil {
		fmt.Fprintf(&b, "NOT restored is what changed after that: %v\n", f.broken)
	}
	return b.String()
}

// followTrail puts the database together that a trail tells of, and its keys, in a directory that is there: up to the last whole step, or up to the last
// that was made by until, if that is not zero. The error is about a trail of which not even the first step can be read, or about the directory,
// or ctx has ended. A person calls the trail what called says.
func followTrail(ctx context.Context, path, called, into string, key *age.X25519Identity, until time.Time) (f followed, err error) {
	f.path = called
	there := lookAtTrail(path)
	if there.steps == 0 && there.unread != nil {
		return f, fmt.Errorf("%s cannot be read: %w", called, there.unread)
	}
	if there.steps == 0 {
		return f, fmt.Errorf("%s has no first step, %s, and nothing can be restored without it", called, stepName(0, there.sealed))
	}
	file, err := sqlite.CreatePageFile(filepath.Join(into, databaseFile))
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	put := func(number int, page []byte) error { return errors.Join(ctx.Err(), file.Put(number, page)) }
	var before stepHead
	var end stepEnd
	for n := range there.steps {
		if err := ctx.Err(); err != nil {
			return f, err
		}
		step, name := filepath.Join(path, stepName(n, there.sealed)), called+"/"+stepName(n, there.sealed)
		head, next, broken := checkStep(step, key, file.Sums, func(head stepHead) error { return belongs(head, before, end, n) })
		if broken == nil && !until.IsZero() && head.Made.After(until) {
			if n == 0 {
				return f, fmt.Errorf("%s begins only at %s: name an older one", called, head.Made.Format(time.RFC3339))
			}
			break
		}
		if broken != nil && n == 0 {
			return f, brokenStep(name, broken)
		}
		if broken != nil {
			f.broken = brokenStep(name, broken)
			break
		}
		if _, err := readStep(step, key, func(stepHead) error { return ctx.Err() }, put); err != nil {
			return f, fmt.Errorf("%s could be read once and not twice: %w", name, err)
		}
		if err := file.Truncate(next.pages); err != nil {
			return f, err
		}
		if n == 0 {
			f.begun = head.Made
		}
		before, end = head, next
		f.last, f.steps = head.Made, n+1
	}
	if f.broken == nil && f.steps == there.steps && there.more > 0 {
		f.broken = fmt.Errorf("%s is missing, and %d steps behind it are of no use", called+"/"+there.missing, there.more)
	}
	return f, os.WriteFile(filepath.Join(into, secretFile), before.Keys, 0o600)
}

// belongs refuses a step that is not the one that follows: one of another trail, or of another time of this one.
func belongs(head, before stepHead, end stepEnd, n int) error {
	if head.Number != n || head.After != end.digest || n > 0 && head.Trail != before.Trail {
		return fmt.Errorf("it is step %d of %s, and does not follow the one before it here", head.Number, head.Trail)
	}
	return nil
}

func brokenStep(path string, err error) error {
	var wrong *age.NoIdentityMatchError
	if errors.As(err, &wrong) {
		return fmt.Errorf("%s was sealed for another key", path)
	}
	return fmt.Errorf("%s is not whole: %w", path, err)
}

// checkStep reads a step from end to end, and says whether the pages before, with its own, are the database that it was made of.
func checkStep(path string, key *age.X25519Identity, before sqlite.PageSums, begin func(stepHead) error) (head stepHead, end stepEnd, err error) {
	sums := slices.Clone(before)
	end, err = readStep(path, key, func(h stepHead) error { head = h; return begin(h) }, func(number int, page []byte) error {
		if number > 1<<30 || len(page) < 512 {
			return errNoStep
		}
		sums.Put(number, page)
		return nil
	})
	if err != nil {
		return head, end, err
	}
	if end.pages > len(sums) || sums[:end.pages].State() != end.state {
		return head, end, errors.New("with its pages the database is not the one that it was made of")
	}
	return head, end, nil
}

// words is a line about a trail for a list.
func (t trailAt) words() string {
	words := fmt.Sprintf("%d steps from %s on", t.steps, t.begun.UTC().Format(time.RFC3339))
	if t.missing != "" {
		words += ", and " + t.missing + " is missing"
	}
	if t.unread != nil {
		words += ", and there may be more: " + t.unread.Error()
	}
	return words
}
