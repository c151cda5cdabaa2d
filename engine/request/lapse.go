package request

import (
	"context"
	"errors"
	"time"

	"holdfast/engine/message"
	"holdfast/engine/record"
	"holdfast/engine/upkeep"
	"holdfast/store"
)

// lapseEvery is how often requests that nobody decided about are looked for, and lapseReach how far back: longer than any server is
// away, and shorter than what is kept of a request.
const lapseEvery, lapseReach = time.Minute, 24 * time.Hour

// TellLapsed tells of requests for approval that lapse undecided, until ctx ends.
func (rq *Requests) TellLapsed(ctx context.Context) {
	upkeep.Every(ctx, lapseEvery, func(now time.Time) {
		if err := rq.tellLapsed(ctx, now); err != nil && ctx.Err() == nil {
			rq.log.Warn("those who asked for what nobody decided about were not told; the next try is in a minute", "error", err)
		}
	})
}

// tellLapsed ends what has lapsed: the patient, who was told to wait, hears that it came to nothing, and the desk that somebody did. The
// request is declined in the transaction that promises the mails, so of several nodes one tells.
func (rq *Requests) tellLapsed(ctx context.Context, now time.Time) error {
	list, err := rq.store.BookingRequests(ctx, now.Add(-lapseReach))
	if err != nil {
		return err
	}
	for i := range list {
		r := &list[i]
		if !r.Approval || now.Before(r.ExpiresAt) {
			continue
		}
		at := record.Now()
		mail := rq.messages.RequestMail(r, message.MailLapsed, at)
		err := rq.store.Write(ctx, func(tx store.Tx) error {
			if err := tx.DeclineBookingRequest(ctx, r.ID); err != nil {
				return err
			}
			return rq.record(ctx, tx, "request.lapsed", r, "system", at, mail)
		})
		switch {
		case err == nil:
			rq.outbound.HandOver(mail...)
		case !errors.Is(err, store.ErrNotFound): // else it was decided about, or told of, meanwhile
			return err
		}
	}
	return nil
}
