package record_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"holdfast/engine/record"
	"holdfast/store"
	"holdfast/store/sqlite"
)

// steps counts the transactions.
type steps struct {
	store.Store
	n int
}

func (s *steps) Write(ctx context.Context, fn func(store.Tx) error) error {
	s.n++
	return s.Store.Write(ctx, fn)
}

// TestDeleteExpiredDeletesAllInBoundedSteps: one call deletes all expired records, even if there are more than one
// transaction may delete.
func TestDeleteExpiredDeletesAllInBoundedSteps(t *testing.T) {
	ctx := t.Context()
	db, err := sqlite.Open(ctx, sqlite.Options{Path: filepath.Join(t.TempDir(), "holdfast.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	counted := &steps{Store: db}
	const step, old = 500, 5*500 + 7
	now := record.Now()
	answer := func(n int, at time.Time) store.IdempotencyRecord {
		return store.IdempotencyRecord{Scope: "s", Key: fmt.Sprint(n), Status: 201, Body: []byte("{}"), CreatedAt: at}
	}
	err = db.Write(ctx, func(tx store.Tx) error {
		for n := range old {
			if err := tx.Remember(ctx, answer(n, now.Add(-store.IdempotencyRetention-time.Minute))); err != nil {
				return err
			}
		}
		return tx.Remember(ctx, answer(old, now.Add(-store.IdempotencyRetention+time.Minute)))
	})
	if err != nil {
		t.Fatal(err)
	}
	counted.n = 0
	answers := record.Expiry{Of: "stored answers", Age: store.IdempotencyRetention, Delete: store.Tx.ForgetAnswers}
	if err := record.New(counted).DeleteExpired(ctx, now, []record.Expiry{answers}); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Recall(ctx, "s", fmt.Sprint(old), time.Time{}); err != nil {
		t.Errorf("the recent answer: %v", err)
	}
	left := 0
	err = db.Write(ctx, func(tx store.Tx) (err error) {
		left, err = tx.ForgetAnswers(ctx, now.Add(-store.IdempotencyRetention), 2*old)
		return err
	})
	if err != nil || left != 0 {
		t.Errorf("%d expired answers remain, %v; want none", left, err)
	}
	if want := old/step + 1; counted.n < want {
		t.Errorf("%d answers were deleted in %d transactions, want at least %d", old, counted.n, want)
	}
}
