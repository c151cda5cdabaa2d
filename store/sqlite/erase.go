package sqlite

import (
	"context"
	"time"

	"holdfast/store"
	"holdfast/store/table"
)

// Erase implements store.Store. It also removes the blanked texts from the files (scrub.go).
func (s *Store) Erase(ctx context.Context, p store.Person, at time.Time,
	last func(store.Tx, store.Erased) error) (store.Erased, error) {
	if err := p.Validate(); err != nil {
		return store.Erased{}, err
	}
	if err := store.Trial(ctx); err != nil {
		return store.Erased{}, err
	}
	if err := s.scrubbing.take(ctx); err != nil {
		return store.Erased{}, err
	}
	defer s.scrubbing.give()
	erased, err := table.Erase(ctx, table.Erasure{
		Source: s.reads, Write: s.Write,
		Begin: func(x store.Tx) error { return x.(*tx).wantScrub() },
		Ended: s.scrubbing.stepped,
	}, p, at, last)
	if err != nil {
		return store.Erased{}, err
	}
	if err := s.scrub(context.WithoutCancel(ctx)); err != nil {
		s.scrubbing.later(err, s.writer.log)
	}
	return erased, nil
}
