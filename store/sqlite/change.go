package sqlite

import (
	"context"
	"strconv"
	"sync"

	"holdfast/store"
)

// feed numbers committed changes and passes them to the followers, in commit order.
//
// The writer calls it between the commit and the responses to the callers, so a follower has received a change before
// the caller's Write returns. The last number is stored in the database in the same commit. So the numbering continues
// after a restart, and an older copy of the files can be distinguished from a newer one.
type feed struct {
	mu        sync.Mutex // held while followers are called, so that they are called in order
	last      int64
	recent    []store.Change // the newest changes, for a follower that is slightly behind
	followers []*follower
	moved     chan struct{} // closed when last increases; nil while no caller waits
}

type follower struct {
	ctx  context.Context
	each func([]store.Change)
}

// recentChanges is the maximum number of changes that a new follower may be behind.
const recentChanges = 1024

const lastChange = "last_change" // the key in meta

func readLastChange(ctx context.Context, c *conn) (int64, error) {
	text, err := oneOn(ctx, c, (*row).Text, `SELECT COALESCE((SELECT value FROM meta WHERE key = ?), '0')`, lastChange)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(text, 10, 64)
}

// LastChange implements store.Feed.
func (s *Store) LastChange() int64 {
	s.feed.mu.Lock()
	defer s.feed.mu.Unlock()
	return s.feed.last
}

// Await implements store.Feed. Only this process writes, so a caller that has seen a change does not have to wait for
// it.
func (s *Store) Await(ctx context.Context, number int64) error {
	for {
		f := &s.feed
		f.mu.Lock()
		if f.last >= number {
			f.mu.Unlock()
			return nil
		}
		if f.moved == nil {
			f.moved = make(chan struct{})
		}
		moved := f.moved
		f.mu.Unlock()
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
	f := &s.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	missed := f.last - after
	if after > f.last || missed > int64(len(f.recent)) {
		return store.ErrBehind
	}
	if missed > 0 {
		each(f.recent[int64(len(f.recent))-missed:])
	}
	f.followers = append(f.followers, &follower{ctx, each})
	return nil
}

// number assigns numbers to the changes of a batch. The numbers are used only if the batch is committed.
func (f *feed) number(changes []store.Change) {
	for i := range changes {
		changes[i].Number = f.last + int64(i) + 1
	}
}

// handOver passes committed changes to the followers.
func (f *feed) handOver(changes []store.Change) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last = changes[len(changes)-1].Number
	f.recent = append(f.recent, changes...)
	if len(f.recent) > 2*recentChanges {
		f.recent = append([]store.Change(nil), f.recent[len(f.recent)-recentChanges:]...)
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
	if f.moved != nil {
		close(f.moved)
		f.moved = nil
	}
}
