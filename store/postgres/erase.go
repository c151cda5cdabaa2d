package postgres

import (
	"context"
	"time"

	"holdfast/store"
	"holdfast/store/table"
)

// Erase implements store.Store. At the end it makes the server remove the old versions of the rows (scrub.go).
func (s *Store) Erase(ctx context.Context, p store.Person, at time.Time,
	last func(store.Tx, store.Erased) error) (store.Erased, error) {
	if err := p.Validate(); err != nil {
		return store.Erased{}, err
	}
	if err := store.Trial(ctx); err != nil {
		return store.Erased{}, err
	}
	erased, err := table.Erase(ctx, table.Erasure{Source: s.reads, Write: s.Write}, p, at, last)
	if err != nil {
		return store.Erased{}, err
	}
	s.scrub(context.WithoutCancel(ctx))
	return erased, nil
}
