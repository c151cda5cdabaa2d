package record

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"holdfast/engine/timed"
	"holdfast/store"
)

// # Expired records
//
// Appointments and the audit log are stored forever. All other records are deleted by age, so disk use grows only with
// the number of appointments.

// Retention is how long records are stored after they have ended. The zero value of each field means its default.
type Retention struct {
	SignIns    time.Duration // after they have expired; default 7 days
	Records    time.Duration // sessions after their end, deliveries, and the presence log; default 400 days
	Operations time.Duration // of the queue, after delivery; default 30 days
}

// Day is the unit of the ages of records.
const Day = 24 * time.Hour

// WithDefaults returns r with zero values replaced by the defaults.
func (r Retention) WithDefaults() Retention {
	for _, d := range []struct {
		to    *time.Duration
		value time.Duration
	}{{&r.SignIns, 7 * Day}, {&r.Records, 400 * Day}, {&r.Operations, 30 * Day}} {
		if *d.to <= 0 {
			*d.to = d.value
		}
	}
	return r
}

// Expiry deletes the records of one kind once they reach a certain age.
type Expiry struct {
	Of  string // the kind, for the log
	Age time.Duration
	// Delete deletes at most limit records that are older than before, and returns how many it deleted.
	Delete func(tx store.Tx, ctx context.Context, before time.Time, limit int) (int, error)
}

// expiryStep is the number of records that one transaction deletes. A step takes a few milliseconds, and then other
// writes get their turn.
const expiryStep = 500

// RunExpiry deletes expired records every 10 minutes, until ctx is cancelled.
func (r *Records) RunExpiry(ctx context.Context, log *slog.Logger, all []Expiry) {
	timed.Every(ctx, 10*time.Minute, func(now time.Time) {
		if err := r.DeleteExpired(ctx, now, all); err != nil && ctx.Err() == nil {
			log.Warn("failed to delete expired records; retrying in 10 minutes", "error", err)
		}
	})
}

// DeleteExpired deletes all records that have expired at an instant, in steps of one transaction each.
func (r *Records) DeleteExpired(ctx context.Context, now time.Time, all []Expiry) error {
	for _, x := range all {
		for n := expiryStep; n == expiryStep; {
			err := r.store.Write(ctx, func(tx store.Tx) (err error) {
				n, err = x.Delete(tx, ctx, now.Add(-x.Age), expiryStep)
				return err
			})
			if err != nil {
				return fmt.Errorf("%s: %w", x.Of, err)
			}
		}
	}
	return nil
}
