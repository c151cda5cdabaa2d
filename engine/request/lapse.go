package request

import (
	"context"
	"errors"
	"time"

	"holdfast/engine/message"
	"holdfast/engine/record"
	"holdfast/engine/timed"
	"holdfast/store"
)

// lapseEvery is how often requests that nobody decided about are looked for. KeptForApproval is how long one for the desk is kept after it has
// lapsed: longer than a server is off over a long weekend, since whoever waits for the clinic's word hears by mail that there is none.
const (
	lapseEvery      = time.Minute
	KeptForApproval = 7 * 24 * time.Hour
)

// NotifyExpired tells of requests for approval that lapse undecided, until ctx ends.
func (rq *Requests) NotifyExpired(ctx context.Context) {
	last := time.Now()
	timed.Every(ctx, lapseEvery, func(now time.Time) {
		if err := rq.tellLapsed(ctx, last, now); err != nil {
			if ctx.Err() == nil {
				rq.log.Warn("expired requests not announced; retrying in a minute", "error", err)
			}
			return
		}
		last = now
	})
}

// tellLapsed ends what has lapsed: the patient, who was told to wait, hears that it came to nothing, and the desk that somebody did. The
// request is declined in the transaction that promises the mails, so of several nodes one tells.
//
// Its time is given back, too, if it lapsed since the last look: a hold lapses by the machine's own clock, which stands still while the machine
// sleeps, and a request by the clock on the wall.
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
			rq.letGo(ctx, r)
		}
		if !r.Approval {
			continue
		}
		at := record.Now()
		mail := rq.messages.RequestMail(r, message.MailLapsed, at)
		err := rq.store.Write(ctx, func(tx store.Tx) error {
			if err := tx.DeclineBookingRequest(ctx, r.ID); err != nil {
				return err
			}
			return rq.record(ctx, tx, record.ActionRequestLapsed, r, "system", at, mail)
		})
		switch {
		case err == nil:
			rq.outbound.Enqueue(mail...)
		case !errors.Is(err, store.ErrNotFound): // else it was decided about, or told of, meanwhile
			return err
		}
	}
	return nil
}

// Forget returns the function that deletes requests by age: those for approval, or those that the patient had to confirm.
func Forget(approval bool) func(store.Tx, context.Context, time.Time, int) (int, error) {
	return func(tx store.Tx, ctx context.Context, before time.Time, limit int) (int, error) {
		return tx.ForgetBookingRequests(ctx, approval, before, limit)
	}
}
