package postgres

import (
	"context"
	"time"

	"holdfast/store"
)

// Recall implements store.IdempotencyReader. It returns only records that a failover cannot lose.
//
// If the standby that commits wait for is unreachable, a commit is complete on the primary, but its client got an
// unknown outcome. The client repeats its request and finds the record of that commit. So with such a standby, Recall
// reads the record in a write, which waits for the standby: see awaitStandby. Errors: also those of Write.
func (s *Store) Recall(ctx context.Context, scope, key string, notBefore time.Time) (store.IdempotencyRecord, error) {
	found, err := s.Reads.Recall(ctx, scope, key, notBefore)
	if err != nil {
		return store.IdempotencyRecord{}, err
	}
	standbys, err := one(ctx, s.reads, (*row).Text, `SELECT current_setting('synchronous_standby_names')`)
	if err != nil {
		return store.IdempotencyRecord{}, err
	}
	if standbys == "" {
		return found, nil
	}
	err = s.writer.write(ctx, func(t store.Tx) error { // not Write: in a trial, Write undoes this commit
		found, err = t.Recall(ctx, scope, key, notBefore)
		return err
	})
	if err != nil {
		return store.IdempotencyRecord{}, err
	}
	return found, nil
}
