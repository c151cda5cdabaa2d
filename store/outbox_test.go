package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"holdfast/store"
)

// outbox is an outbox in memory, sorted by id. Reading the page after failAt fails.
type outbox struct {
	store.OutboxReader
	ops    []store.Operation
	failAt string
}

func (o outbox) Outbox(_ context.Context, after string, limit int) (page []store.Operation, err error) {
	if o.failAt != "" && after >= o.failAt {
		return nil, store.ErrUnavailable
	}
	for _, op := range o.ops {
		if op.ID > after && len(page) < limit {
			page = append(page, op)
		}
	}
	return page, nil
}

// TestAllOutboxReturnsEveryPage: the sequence contains each operation once, whatever the number of pages, and ends with
// the error of a page that cannot be read.
func TestAllOutboxReturnsEveryPage(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 499, 500, 501, 1000, 1203} {
		var o outbox
		for i := range n {
			o.ops = append(o.ops, store.Operation{ID: fmt.Sprintf("op-%06d", i)})
		}
		i := 0
		for op, err := range store.AllOutbox(t.Context(), o) {
			if err != nil || i >= n || op.ID != o.ops[i].ID {
				t.Fatalf("of %d operations, number %d: got %q, %v", n, i, op.ID, err)
			}
			i++
		}
		if i != n {
			t.Errorf("got %d operations of %d", i, n)
		}
		if n < 501 {
			continue
		}
		o.failAt, i = o.ops[499].ID, 0
		var last error
		for _, err := range store.AllOutbox(t.Context(), o) {
			if i++; err != nil {
				last = err
			}
		}
		if i != 501 || !errors.Is(last, store.ErrUnavailable) {
			t.Errorf("with a second page that fails: got %d elements and %v, want 501 and ErrUnavailable", i, last)
		}
	}
}
