package outbound

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast/store"
)

// handedOver is the age at which an operation in the outbox must be in the queue: by then, the relay has received it
// after its commit, or a comparison has found it.
const handedOver = reconcileAge + 2*reconcileEvery

// Differences lists, in words, the operations in the outbox that should be in the queue but are not, and those that are
// completed in the queue but still in the outbox. The result can include an operation that completes during the call,
// so only entries that every call returns are errors.
func (out *Outbound) Differences(ctx context.Context) (found []string, err error) {
	if out.Queue == nil {
		return nil, nil
	}
	for op, err := range store.AllOutbox(ctx, out.store) {
		if err != nil {
			return nil, err
		}
		known, err := out.Queue.Operation(ctx, op.ID)
		switch {
		case errors.Is(err, store.ErrNotFound):
			if out.Now().Sub(op.CreatedAt) > handedOver {
				found = append(found,
					fmt.Sprintf("queue: operation %s was written to the outbox at %s but is not in the queue",
						op.ID, op.CreatedAt.Format(time.RFC3339)))
			}
		case err != nil:
			return nil, err
		case known.Status == store.OperationCompleted:
			found = append(found,
				fmt.Sprintf("queue: operation %s is completed in the queue but still in the outbox", op.ID))
		}
	}
	return found, nil
}
