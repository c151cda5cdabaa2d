package engine

import (
	"context"
	"fmt"
	"time"

	"holdfast/engine/agent"
	"holdfast/engine/request"
	"holdfast/engine/timed"
	"holdfast/engine/waitlist"
	"holdfast/store"
)

// # What is forgotten
//
// Appointments and the audit log stay. Everything that grows beside them is removed by age, so that a clinic that runs for
// years needs the disk of its appointments and no more.

// Retention is how long what is over is kept; the zero value of each field is its default.
type Retention struct {
	SignIns    time.Duration // after they expired; default 7 days
	Records    time.Duration // sessions after their end, deliveries, the log of presence; default 400 days
	Operations time.Duration // of the queue, after they were delivered; default 30 days
}

const day = 24 * time.Hour

func (r Retention) withDefaults() Retention {
	for _, d := range []struct {
		to    *time.Duration
		value time.Duration
	}{{&r.SignIns, 7 * day}, {&r.Records, 400 * day}, {&r.Operations, 30 * day}} {
		if *d.to <= 0 {
			*d.to = d.value
		}
	}
	return r
}

// forgetStep is how many rows one transaction removes: some milliseconds, after which whoever waits has a turn.
const forgetStep = 500

// forgetRecords removes what nobody can need any more, every ten minutes, however much has come together.
func (e *Engine) forgetRecords(ctx context.Context) {
	timed.Every(ctx, 10*time.Minute, func(now time.Time) {
		if err := e.forget(ctx, now); err != nil && ctx.Err() == nil {
			e.log.Warn("old records not deleted; retrying in 10 minutes", "error", err)
		}
	})
}

func requests(approval bool) func(store.Tx, context.Context, time.Time, int) (int, error) {
	return func(tx store.Tx, ctx context.Context, before time.Time, limit int) (int, error) {
		return tx.ForgetBookingRequests(ctx, approval, before, limit)
	}
}

// forget removes everything that is old enough at an instant, one bounded step a transaction.
func (e *Engine) forget(ctx context.Context, now time.Time) error {
	kept := e.options.Retention
	for _, x := range []struct {
		what   string
		remove func(store.Tx, context.Context, time.Time, int) (int, error)
		before time.Time
	}{
		{"remembered answers", store.Tx.ForgetAnswers, now.Add(-store.IdempotencyRetention)},
		{"used booking tokens", store.Tx.ForgetNonces, now},
		{"agents' sessions", store.Tx.ForgetAgentSessions, now.Add(-agent.KeepSessions)},
		{"booking requests", requests(false), now.Add(-day)},
		{"requests for approval", requests(true), now.Add(-request.KeptForApproval)},
		{"who waited", store.Tx.ForgetWaitlist, now.Add(-waitlist.KeepEnded)},
		{"what was counted", store.Tx.ForgetTallies, now.Add(-request.Window)},
		{"sign-ins", store.Tx.ForgetSignIns, now.Add(-kept.SignIns)},
		{"sessions", store.Tx.ForgetSessions, now.Add(-kept.Records)},
		{"deliveries", store.Tx.ForgetDeliveries, now.Add(-kept.Records)},
		{"the log of presence", store.Tx.ForgetPresence, now.Add(-kept.Records)},
	} {
		for n := forgetStep; n == forgetStep; {
			err := e.store.Write(ctx, func(tx store.Tx) (err error) {
				n, err = x.remove(tx, ctx, x.before, forgetStep)
				return err
			})
			if err != nil {
				return fmt.Errorf("%s: %w", x.what, err)
			}
		}
	}
	return nil
}
