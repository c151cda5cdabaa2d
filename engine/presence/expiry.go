package presence

import (
	"context"
	"time"

	"holdfast/engine/record"
	"holdfast/store"
)

// Sessions that nobody ends do not stay for ever. A request lapses when nobody accepted it in time. A session in progress
// expires when its last sign of life is too long ago: being accepted, handed on, paid for, or one of these said again.

// lifeEvery is how often a repeat is written down as a sign of life, at most.
const lifeEvery = time.Minute

// signOfLife reports whether what was said again is to be remembered as the session's last sign of life, its UpdatedAt.
func signOfLife(s *store.Session, now time.Time) bool { return now.Sub(s.UpdatedAt) >= lifeEvery }

// ExpireSessions ends the requests that nobody accepted in time and the sessions that nobody ended. It wakes for the next
// request that lapses and when one is made here, and looks once a minute for those that another server has left and for
// sessions that have gone quiet.
func (pr *Presence) ExpireSessions(ctx context.Context) {
	const patience = time.Minute
	next, quiet := time.NewTimer(0), time.NewTicker(patience)
	defer next.Stop()
	defer quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-quiet.C:
			if err := pr.endQuiet(ctx); err != nil && ctx.Err() == nil {
				pr.log.Warn("quiet sessions not ended; retrying in a minute", "error", err)
			}
			continue
		case <-pr.requested:
		case <-next.C:
		}
		due, err := pr.endUnanswered(ctx)
		wait := min(due.Sub(record.Now()), patience)
		switch {
		case err != nil && ctx.Err() == nil:
			pr.log.Warn("unanswered session requests not ended; retrying in a second", "error", err)
			wait = time.Second
		case due.IsZero():
			wait = patience
		}
		next.Reset(max(0, wait))
	}
}

// mostSessions is how many sessions are looked at at once.
const mostSessions = 500

// endUnanswered ends the requests whose time has come, and returns when that of the next one comes; zero if there is none.
func (pr *Presence) endUnanswered(ctx context.Context) (due time.Time, err error) {
	waiting, err := pr.store.Sessions(ctx, store.SessionFilter{Statuses: []store.SessionStatus{store.SessionRequested}, Limit: mostSessions})
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

// endQuiet ends the sessions in progress whose last sign of life is too long ago. Each is asked again in its transaction.
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

// expire ends a session if its time has come in the transaction that ends it.
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
