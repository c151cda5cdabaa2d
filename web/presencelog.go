package web

import (
	"net/http"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/presence"
	"holdfast/store"
)

// maxHistory is the longest time range of the presence log that one request can read.
const maxHistory = 400 * 24 * time.Hour

type presenceLineJSON struct {
	At     string `json:"at"`
	Change string `json:"change"`
}

type onlineSpanJSON struct {
	From  string `json:"from"`
	To    string `json:"to"`
	Ended string `json:"ended,omitempty"`
}

type onlineDayJSON struct {
	Date    string `json:"date"`
	Seconds int64  `json:"seconds"`
}

// getPresenceLog is `GET /v1/specialists/{id}/presence-log?from=&to=`: when a specialist was online, by default in the
// last seven local days, today included. A specialist can read only their own log.
func (s *Server) getPresenceLog(c *call) error {
	if !c.caller.reaches(c.param("id")) {
		return errForbidden.with("You can read your own presence log only.")
	}
	zone, err := s.engine.Booking.ListingZone("", c.param("id"))
	if err != nil {
		return store.ErrNotFound
	}
	q, today := c.query(), store.DateOf(time.Now().In(zone))
	from, to := q.bound("from", zone), q.bound("to", zone)
	if to.IsZero() {
		to = availability.StartOfDay(zone, today.AddDays(1))
	}
	if from.IsZero() {
		from = availability.StartOfDay(zone, store.DateOf(to.In(zone)).AddDays(-7))
	}
	switch {
	case !from.Before(to):
		q.add("to", "must be later than from")
	case to.Sub(from) > maxHistory:
		q.add("to", "must be at most 400 days after from")
	}
	if err := q.err(); err != nil {
		return err
	}
	h, err := s.engine.Presence.History(c.ctx(), c.param("id"), from, to)
	if err != nil {
		return err
	}
	lines := each(h.Log, func(x *store.PresenceChange) presenceLineJSON {
		return presenceLineJSON{httpTime(x.At), x.Change}
	})
	spans := each(h.Spans, func(x *presence.OnlineSpan) onlineSpanJSON {
		return onlineSpanJSON{httpTime(x.From), httpTime(x.To), x.Ended}
	})
	days := each(h.Days, func(d *presence.OnlineDay) onlineDayJSON {
		return onlineDayJSON{d.Date.String(), int64(d.Online.Round(time.Second).Seconds())}
	})
	return c.json(http.StatusOK, map[string]any{
		"timezone": h.Zone.String(), "from": httpTime(from), "to": httpTime(to), "log": lines, "spans": spans,
		"days": days,
	})
}
