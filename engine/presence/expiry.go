package presence

import (
	"context"
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
// of life, until ctx is done. It wakes when the next request expires and when this node receives a new request. Once a
// minute, it also checks for idle sessions, and for requests that another node did not expire.
func (pr *Presence) ExpireSessions(ctx context.Context) {
	const patience = time.Minute
	next, quiet := time.NewTimer(0), time.NewTicker(patience)
	defer next.Stop()
	defer quiet.Stop()
	var outage timed.Outage
	for {
		select {
		case <-ctx.Done():
			return
		case <-quiet.C:
			if err := pr.endQuiet(ctx); err != nil && ctx.Err() == nil {
				pr.log.Warn("failed to end idle sessions; retrying in 1 minute", "error", err)
			}
			continue
		case <-pr.requested:
		case <-next.C:
		}
		due, err := pr.endUnanswered(ctx)
		wait := min(due.Sub(record.Now()), patience)
		switch {
		case err != nil && ctx.Err() == nil:
			if outage.Begins() {
				pr.log.Warn("failed to end unanswered session requests; retrying every second", "error", err)
			}
			wait = time.Second
		case due.IsZero():
			wait = patience
		}
		if err == nil && outage.Ends() {
			pr.log.Info("resumed ending unanswered session requests")
		}
		next.Reset(max(0, wait))
	}
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
			Statuses:   []store.SessionStatus{store.SessionActive, store.SessionPendingPayment},
			QuietSince: record.Now().Add(-idle), Limit: mostSessions,
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
