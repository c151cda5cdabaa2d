package clinic

import (
	"context"

	"holdfast/engine/record"
	"holdfast/store"
)

// feedAudit is the audit entry for the address of a specialist's calendar feed.
type feedAudit struct {
	Names bool `json:"names"`
}

// PutCalendarFeed replaces the address of a specialist's calendar feed. The zero value removes it. Errors:
// store.ErrNotFound.
func (cl *Clinic) PutCalendarFeed(ctx context.Context, actor record.Actor, specialistID string,
	f store.CalendarFeed) error {
	c := ScheduleChange{Actor: actor, Action: record.ActionSpecialistFeedEnded, Subject: "specialist:" + specialistID}
	if f.Hash != "" {
		c.Action, c.after = record.ActionSpecialistFeedMade, feedAudit{f.Names}
	}
	return cl.changeStored(ctx, &c, func(tx store.Tx, s *store.Schedule) error {
		p := specialistIn(s, specialistID)
		if p == nil {
			return store.ErrNotFound
		}
		if p.Page.Feed.Hash != "" {
			c.before = feedAudit{p.Page.Feed.Names}
		}
		p.Page.Feed = f
		return tx.PutSpecialist(ctx, *p)
	})
}
