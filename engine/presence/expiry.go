package presence

import (
	"context"
	"slices"
	"time"

	"holdfast/engine/record"
	"holdfast/engine/timed"
	"holdfast/store"
)

// Sessions do not stay open forever. A request expires if no specialist accepts it in time. A session in progress
// expires when its last sign of life is too old. The signs of life are accepting, rerouting, changing the payment
// state, and repeating one of these calls.

// lifeEvery is the minimum time before a repeated call is stored as a new sign of life.
const lifeEvery = time.Minute

// signOfLife reports whether to store a repeated call as the session's last sign of life, in UpdatedAt.
func signOfLife(s *store.Session, now time.Time) bool { return now.Sub(s.UpdatedAt) >= lifeEvery }

// ExpireSessions expires session requests that no specialist accepted in time, and sessions in progress without a sign
// of life, until ctx is done. While there are such sessions, it checks when the next request expires, and at least once
// a minute. Otherwise it waits until a node opens a session.
func (pr *Presence) ExpireSessions(ctx context.Context) {
	const patience = SessionRequestTTL // not longer, so that no new request expires before the next check
	next := time.NewTimer(0)
	defer next.Stop()
	var outage timed.Outage
	for {
		select {
		case <-ctx.Done():
			return
		case <-pr.opened:
		case <-next.C:
		}
		pr.waits.Store(true) // before the check: a session that is opened during it leads to another check
		due, open, err := pr.endDue(ctx)
		switch {
		case err != nil:
			if ctx.Err() == nil && outage.Begins() {
				pr.log.Warn("failed to end unanswered or idle sessions; retrying every second", "error", err)
			}
			next.Reset(time.Second)
			continue
		case outage.Ends():
			pr.log.Info("resumed ending unanswered and idle sessions")
		}
		if !open {
			next.Stop()
			continue
		}
		pr.waits.Store(false)
		wait := patience
		if !due.IsZero() {
			wait = max(0, min(due.Sub(record.Now()), patience))
		}
		next.Reset(wait)
	}
}

// FollowSession wakes ExpireSessions if it waits for a session that is open.
func (pr *Presence) FollowSession(status store.SessionStatus) {
	if slices.Contains(openSessions, status) && pr.waits.CompareAndSwap(true, false) {
		select {
		case pr.opened <- struct{}{}:
		default: // a signal is already pending
		}
	}
}

// openSessions are the states of a session that can expire.
var openSessions = append([]store.SessionStatus{store.SessionRequested}, busySessions...)

// busySessions are the states of a session in progress.
var busySessions = []store.SessionStatus{store.SessionActive, store.SessionPendingPayment}

// endDue expires the sessions that are due. It reports whether any open session is left, and when the next request is
// due, or the zero time if no specialist needs to answer one.
func (pr *Presence) endDue(ctx context.Context) (due time.Time, open bool, err error) {
	if due, err = pr.endUnanswered(ctx); err != nil {
		return due, false, err
	}
	if err := pr.endQuiet(ctx); err != nil {
		return due, false, err
	}
	left, err := pr.store.Sessions(ctx, store.SessionFilter{Statuses: openSessions, Limit: 1})
	return due, len(left) > 0, err
}

// mostSessions is the maximum number of sessions that one query reads.
const mostSessions = 500

// endUnanswered expires the requests that are due. It returns when the next request is due, or the zero time if there
// is none.
func (pr *Presence) endUnanswered(ctx context.Context) (due time.Time, err error) {
	waiting, err := pr.store.Sessions(ctx, store.SessionFilter{Statuses: []store.SessionStatus{store.SessionRequested},
		Limit: mostSessions})
	if err != nil {
		return due, err
	}
	now := record.Now()
	for _, w := range waiting {
		if now.Before(w.ExpiresAt) {
			if due.IsZero() || w.ExpiresAt.Before(due) {
				due = w.ExpiresAt
			}
			continue
		}
		if len(waiting) == mostSessions {
			due = now // there may be more
		}
		err := pr.expire(ctx, w.ID, func(s *store.Session, now time.Time) bool {
			return s.Status == store.SessionRequested && !now.Before(s.ExpiresAt)
		})
		if err != nil {
			return due, err
		}
	}
	return due, nil
}

// endQuiet expires the sessions in progress whose last sign of life is too old. Each session is checked again in its
// transaction.
func (pr *Presence) endQuiet(ctx context.Context) error {
	for {
		idle := pr.clinic.Settings().SessionIdle()
		list, err := pr.store.Sessions(ctx, store.SessionFilter{
			Statuses: busySessions, QuietSince: record.Now().Add(-idle), Limit: mostSessions,
		})
		if err != nil {
			return err
		}
		for _, q := range list {
			err := pr.expire(ctx, q.ID, func(s *store.Session, now time.Time) bool {
				return counts(s) && now.Sub(s.UpdatedAt) >= idle
			})
			if err != nil {
				return err
			}
		}
		if len(list) < mostSessions {
			return nil
		}
	}
}

// expire sets a session to expired if isDue is still true in the transaction that writes it.
func (pr *Presence) expire(ctx context.Context, id string, isDue func(*store.Session, time.Time) bool) error {
	_, err := pr.changeSession(ctx, id, func(_ store.Tx, s *store.Session, now time.Time) (bool, error) {
		if !isDue(s, now) {
			return false, nil
		}
		s.Status, s.EndedAt = store.SessionExpired, now
		return true, nil
	})
	return err
}
