package postgres

import (
	"context"
	"errors"
	"sync"

	"holdfast/store"
)

// feed passes the changes committed by any node to the followers of this node, in commit order.
//
// It has two sources: the writer, between its commit and its responses, and follow, which receives the changes of other
// nodes. Both sources can deliver the same change. The feed passes it on only once, because it skips numbers that it
// has already passed on. The changes are in the order of their numbers, which are assigned under the order lock. So a
// reader that sees one committed change also sees all earlier ones.
type feed struct {
	reads reads
	fatal func(error)

	mu        sync.Mutex // held while followers are called, so that they are called in order
	last      int64
	from      int64          // recent contains all changes after this number
	recent    []store.Change // the newest changes, for a follower that is slightly behind
	followers []*follower
	moved     chan struct{} // closed when last increases
	given     bool          // fatal was called for lost changes
}

type follower struct {
	ctx  context.Context
	each func([]store.Change)
}

// recentChanges is the minimum number of changes in memory for a new follower that is behind. A follower that is
// further behind reads them from the database.
const recentChanges = 1024

func newFeed(last int64, r reads, fatal func(error)) *feed {
	return &feed{reads: r, fatal: fatal, last: last, from: last, moved: make(chan struct{})}
}

// LastChange implements store.Feed. It returns the last change that this node has received.
func (s *Store) LastChange() int64 { return s.feed.lastChange() }

func (f *feed) lastChange() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last
}

// Await implements store.Feed.
func (s *Store) Await(ctx context.Context, number int64) error {
	for {
		s.feed.mu.Lock()
		last, moved := s.feed.last, s.feed.moved
		s.feed.mu.Unlock()
		if last >= number {
			return nil
		}
		select {
		case <-moved:
		case <-s.writer.done:
			return store.ErrClosed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Changes implements store.Feed.
func (s *Store) Changes(ctx context.Context, after int64, each func([]store.Change)) error {
	f := s.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	if after > f.last {
		return store.ErrBehind
	}
	missed := newer(f.recent, after)
	if after < f.from {
		read, behind, err := f.load(ctx, after)
		if err != nil {
			return err
		}
		if behind {
			return store.ErrBehind
		}
		missed = newer(read, after)
		for len(missed) > 0 && missed[len(missed)-1].Number > f.last {
			missed = missed[:len(missed)-1] // the followers will receive it later
		}
	}
	if len(missed) > 0 {
		each(missed)
	}
	f.followers = append(f.followers, &follower{ctx, each})
	return nil
}

// newer returns the changes in a sorted list whose number is greater than after.
func newer(list []store.Change, after int64) []store.Change {
	for i := range list {
		if list[i].Number > after {
			return list[i:]
		}
	}
	return nil
}

// load reads the changes after a number. behind reports whether some of them have been deleted.
func (f *feed) load(ctx context.Context, after int64) (list []store.Change, behind bool, err error) {
	err = f.reads.snapshot(ctx,
		asks(func(*row) { behind = true }, prunedAfter, after),
		asks(func(r *row) { list = append(list, scanChange(r)) }, changesAfter, after))
	return list, behind, err
}

// catchUp reads the committed changes that this node does not have yet and passes them on.
func (f *feed) catchUp() error {
	list, behind, err := f.load(context.Background(), f.lastChange())
	if err != nil {
		return err
	}
	if behind {
		f.lost(errLost)
	}
	f.take(list)
	return nil
}

// confirm checks that a newly connected server has the last change of this process. A standby that was promoted without
// that change assigns its number to a different change. Then the data in the memory of this process is wrong.
func (f *feed) confirm(ctx context.Context, c *conn) error {
	f.mu.Lock()
	last, known := f.last, store.Change{}
	if n := len(f.recent); n > 0 {
		known = f.recent[n-1]
	}
	f.mu.Unlock()
	if last == 0 {
		return nil
	}
	there, err := oneOn(ctx, c, scanChange, `SELECT number, change FROM changes WHERE number = $1`, last)
	switch {
	case errors.Is(err, store.ErrNotFound):
		// A change can be deleted after one hour, but only if a later change exists.
		if _, err = oneOn(ctx, c, (*row).Int64, `SELECT number FROM changes WHERE number > $1 LIMIT 1`,
			last); err == nil {
			return nil
		}
		if !errors.Is(err, store.ErrNotFound) {
			return err
		}
	case err != nil:
		return err
	case known.Number != last ||
		there.Noun == known.Noun && there.ID == known.ID && there.Version == known.Version && there.What == known.What:
		return nil
	}
	f.lost(errRewound)
	return errRewound
}

// take passes the new changes in a list, which is sorted by number, to the followers.
func (f *feed) take(changes []store.Change) {
	f.mu.Lock()
	defer f.mu.Unlock()
	changes = newer(changes, f.last)
	if len(changes) == 0 {
		return
	}
	f.last = changes[len(changes)-1].Number
	f.recent = append(f.recent, changes...)
	if n := len(f.recent) - recentChanges; n > recentChanges {
		f.from = f.recent[n-1].Number
		f.recent = append([]store.Change(nil), f.recent[n:]...)
	}
	following := f.followers[:0]
	for _, each := range f.followers {
		if each.ctx.Err() == nil {
			each.each(changes)
			following = append(following, each)
		}
	}
	clear(f.followers[len(following):])
	f.followers = following
	close(f.moved)
	f.moved = make(chan struct{})
}

// lost calls fatal, once, with the reason why this process can no longer follow the database.
func (f *feed) lost(why error) {
	f.mu.Lock()
	told := f.given
	f.given = true
	f.mu.Unlock()
	if !told && f.fatal != nil {
		f.fatal(why)
	}
}
