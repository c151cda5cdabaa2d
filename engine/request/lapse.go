package request

import (
	"cmp"
	"context"
	"errors"
	"time"

	"holdfast/engine/message"
	"holdfast/engine/record"
	"holdfast/engine/timed"
	"holdfast/store"
)

// lapseEvery is how often the server checks for expired requests. KeptForApproval is how long a request for approval is
// stored after it expires. It is longer than a long weekend during which a server may be off, so waiting patients still
// get the email saying that their request has expired.
const (
	lapseEvery      = time.Minute
	KeptForApproval = 7 * 24 * time.Hour
)

// NotifyExpired notifies the patient and the clinic of each request for approval that expires undecided, until ctx is
// done.
func (rq *Requests) NotifyExpired(ctx context.Context) {
	last := time.Now()
	timed.Every(ctx, lapseEvery, func(now time.Time) {
		if err := rq.tellLapsed(ctx, last, now); err != nil {
			if ctx.Err() == nil {
				rq.log.Warn("failed to notify patients of expired requests; retrying in 1 minute", "error", err)
			}
			return
		}
		last = now
	})
}

// tellLapsed closes the expired requests for approval. The patient, who expects a reply, gets an email saying that the
// request was declined; the desk gets an email saying that it expired. The transaction that writes the emails to the
// outbox also declines the request, so only one of several nodes sends them.
//
// tellLapsed also releases the hold of every request that has expired since the last check. Holds expire by the
// machine's monotonic clock, which stops while the machine sleeps; requests expire by the wall clock.
func (rq *Requests) tellLapsed(ctx context.Context, last, now time.Time) error {
	list, err := rq.store.BookingRequests(ctx, now.Add(-KeptForApproval))
	if err != nil {
		return err
	}
	for i := range list {
		r := &list[i]
		if now.Before(r.ExpiresAt) {
			continue
		}
		if r.ExpiresAt.After(last) {
			rq.releaseHold(ctx, r)
		}
		if !r.Approval {
			continue
		}
		at := record.Now()
		mail := rq.messages.RequestMail(r, message.MailLapsed, at)
		err := rq.store.Write(ctx, func(tx store.Tx) error {
			if now, err := tx.BookingRequest(ctx, r.ID); err != nil || now.HoldOwner != r.HoldOwner {
				return cmp.Or(err, store.ErrNotFound) // the desk has just proposed another time
			}
			if err := tx.DeclineBookingRequest(ctx, r.ID); err != nil {
				return err
			}
			return rq.record(ctx, tx, record.ActionRequestLapsed, r, "system", at, mail)
		})
		switch {
		case err == nil:
			rq.outbound.Enqueue(mail...)
		case !errors.Is(err, store.ErrNotFound): // otherwise it has been decided, or another node has sent the emails
			return err
		}
	}
	return nil
}

// Forget returns the function that deletes requests by age: those that need approval, or those that the patient had to
// confirm.
func Forget(approval bool) func(store.Tx, context.Context, time.Time, int) (int, error) {
	return func(tx store.Tx, ctx context.Context, before time.Time, limit int) (int, error) {
		return tx.ForgetBookingRequests(ctx, approval, before, limit)
	}
}
