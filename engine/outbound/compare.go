package outbound

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast/store"
)

// handedOver is how old a promise is when the queue has it for certain: it was handed over at once, or found by a comparison.
const handedOver = reconcileAge + 2*reconcileEvery

// Differences lists, in words, the promises of the outbox that the queue does not have although it should, and those that the
// queue has completed and the outbox still holds. One that is completed while it looks may be among them: what is found
// every time is there.
func (out *Outbound) Differences(ctx context.Context) (found []string, err error) {
	if out.Queue == nil {
		return nil, nil
	}
	const page = 500
	for after, n := "", page; n == page; {
		list, err := out.store.Outbox(ctx, after, page)
		if err != nil {
			return nil, err
		}
		n = len(list)
		for _, op := range list {
			after = op.ID
			known, err := out.Queue.Operation(ctx, op.ID)
			switch {
			case errors.Is(err, store.ErrNotFound):
				if out.Now().Sub(op.CreatedAt) > handedOver {
					found = append(found, fmt.Sprintf("queue: operation %s was promised at %s and is not in the queue", op.ID, op.CreatedAt.Format(time.RFC3339)))
				}
			case err != nil:
				return nil, err
			case known.Status == store.OperationCompleted:
				found = append(found, fmt.Sprintf("queue: operation %s is completed in the queue and still promised in the outbox", op.ID))
			}
		}
	}
	return found, nil
}
