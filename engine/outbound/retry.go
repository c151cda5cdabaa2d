package outbound

import (
	"context"
	"errors"

	"holdfast/engine/record"
	"holdfast/store"
)

// Retried is what trying all that failed again came to.
type Retried struct {
	Retried int // tried again
	Left    int // left alone: a person has to say what became of them, or they are being attempted
}

// RetryFailed tries all failed operations again from the beginning, as Retry does with one. What needs review is left:
// to repeat what perhaps took effect is a person's decision, each time. What fails while it goes on is not tried twice.
func (out *Outbound) RetryFailed(ctx context.Context, actor record.Actor) (r Retried, err error) {
	if out.Queue == nil {
		return r, nil
	}
	var ids []string
	for after := ""; ; {
		list, err := out.Queue.Operations(ctx, store.OperationFilter{Status: store.OperationFailed, After: after, Limit: 500})
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
	for _, id := range ids { // in the order in which they were decided
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
