package outbound

import (
	"context"
	"errors"

	"holdfast/engine/record"
	"holdfast/store"
)

// Retried is the result of RetryFailed.
type Retried struct {
	Retried int // operations that are pending again
	Left    int // operations that were skipped because a person must review them or they are being attempted
}

// RetryFailed retries all failed operations from the beginning, as Retry does with one. It skips those that need
// review: for each of them, a person must decide whether to repeat a call that may have taken effect. It does not retry
// any operation twice, even if the operation fails again during the call.
func (out *Outbound) RetryFailed(ctx context.Context, actor record.Actor) (r Retried, err error) {
	if out.Queue == nil {
		return r, nil
	}
	var ids []string
	for after := ""; ; {
		list, err := out.Queue.Operations(ctx, store.OperationFilter{Status: store.OperationFailed,
			After: after, Limit: 500})
		if err != nil {
			return r, err
		}
		for _, op := range list {
			if after = op.ID; op.NeedsReview {
				r.Left++
			} else {
				ids = append(ids, op.ID)
			}
		}
		if len(list) < 500 {
			break
		}
	}
	for _, id := range ids { // in the order of their creation
		switch err := out.Retry(ctx, actor, id); {
		case err == nil:
			r.Retried++
		case errors.Is(err, record.ErrOperationState), errors.Is(err, store.ErrNotFound):
			r.Left++
		default:
			return r, err
		}
	}
	return r, nil
}
