package web

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/booking"
	"holdfast/holds"
	"holdfast/store"
	"holdfast/web/instant"
)

type selectBody struct {
	clientBody
	AppointmentTypeID string `json:"appointmentTypeId"`
	SlotStartDate     string `json:"slotStartDate"`
	SpecialistID      string `json:"specialistId"`
	Lock              bool   `json:"lock"`
}

func (b *selectBody) request(c *call) booking.SelectRequest {
	return booking.SelectRequest{
		AppointmentTypeID: b.AppointmentTypeID, SlotStart: c.wrong.instant("slotStartDate", b.SlotStartDate),
		SpecialistID: b.SpecialistID, Client: c.client, Lock: b.Lock,
	}
}

// selectedJSON is the response to a selection. TTL is in seconds: the time to live of the hold, or of the selection if
// there is no hold.
type selectedJSON struct {
	Success       bool   `json:"success"`
	ClientID      string `json:"clientId"`
	SpecialistID  string `json:"specialistId"`
	Locked        bool   `json:"locked"`
	Storage       string `json:"storage"`
	TTL           int    `json:"ttl"`
	HoldID        string `json:"holdId,omitempty"`
	HoldExpiresAt string `json:"holdExpiresAt,omitempty"`
}

// selectSlot records that a client is looking at a slot. The response repeats the client id that the client sent.
func (s *Server) selectSlot(c *call, b *selectBody) error {
	r := b.request(c)
	if err := s.visible(c, b.AppointmentTypeID); err != nil {
		return err
	}
	r.Limit = s.holdLimit(c, "")
	x, err := s.engine.Booking.Select(c.ctx(), r)
	if err != nil {
		return err
	}
	if x.Hold != nil {
		if err := s.admitHold(c, x.Hold, ""); err != nil {
			return err
		}
	}
	answer := selectedJSON{
		Success: true, ClientID: string(c.client), SpecialistID: x.SpecialistID, Storage: s.options.StorageMode(),
		TTL: secondsUntil(x.ExpiresAt),
	}
	if x.Hold != nil {
		answer.Locked, answer.HoldID, answer.TTL = true, x.Hold.ID, secondsUntil(x.Hold.ExpiresAt)
		answer.HoldExpiresAt = string(instant.AppendMilli(nil, x.Hold.ExpiresAt))
	}
	return c.json(http.StatusOK, answer)
}

// secondsUntil returns the time until t, rounded to the nearest second.
func secondsUntil(t time.Time) int { return int(time.Until(t).Round(time.Second).Seconds()) }

// deselectSlot ends a selection and releases the lock that the selection took.
func (s *Server) deselectSlot(c *call, b *selectBody) error {
	r := b.request(c)
	done, err := s.engine.Booking.Deselect(c.ctx(), r)
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, map[string]any{"success": true, "released": done, "storage": s.options.StorageMode()})
}

// pollSlots is `GET /v1/slots/poll?date=&specialistId=&appointmentTypeId=&clientId=&selected=`. It returns one day for
// a page without a live stream. The day can be restricted to a type and to a specialist; without a type, the date is
// required. The tag of the response does not cover the response's timestamp, so a page that polls an unchanged day gets
// a
// 304. The pages in a waiting room poll every few seconds, so the JSON is written without reflection.
func (s *Server) pollSlots(c *call) error {
	q := c.query()
	r := booking.PollRequest{AppointmentTypeID: q.id("appointmentTypeId"), Date: q.date("date"),
		SpecialistID: q.id("specialistId"), Client: q.client(c)}
	if q.text("appointmentTypeId") == "" && q.text("date") == "" {
		q.add("date", "add a day, such as ?date=2026-11-23; with an appointmentTypeId you can omit it")
	}
	clock, at := q.selected()
	if err := q.err(); err != nil {
		return err
	}
	if err := s.visible(c, r.AppointmentTypeID); err != nil {
		return err
	}
	if r.Client != "" { // the poll renews or creates the client's selection
		if err := s.admitPoll(c); err != nil {
			return err
		}
	}
	zone, err := s.engine.Booking.ListingZone(r.AppointmentTypeID, r.SpecialistID)
	if err != nil {
		return err
	}
	if r.Date == (store.Date{}) {
		r.Date = store.DateOf(time.Now().In(zone))
	}
	if r.Selected = at; clock >= 0 {
		r.Selected = availability.WallTime(zone, r.Date, clock)
	}
	p, err := s.engine.Booking.Poll(c.ctx(), r)
	if err != nil {
		return err
	}
	b := appendPoll(make([]byte, 0, 512+8*(len(p.Booked)+len(p.Locked)+len(p.Looking))), &p, s.storage(c.ctx()))
	sum := sha256.Sum256(b)
	tag := `"` + hex.EncodeToString(sum[:8]) + `"`
	h := c.rw.Header()
	h["Etag"] = []string{tag}
	h["Cache-Control"] = noCache
	if hasTag(c.r.Header["If-None-Match"], tag) {
		return c.empty(http.StatusNotModified)
	}
	b = append(b, `,"timestamp":"`...)
	b = instant.AppendMilli(b, p.CheckedAt)
	c.status, c.out = http.StatusOK, append(b, `"}}`...)
	return nil
}

var noCache = []string{"private, no-cache"}

// appendPoll appends the response without its timestamp.
func appendPoll(b []byte, p *booking.Poll, storage storage) []byte {
	b = append(b, `{"activeSelections":`...)
	b = appendWallClock(b, p.Looking, p.Zone)
	b = append(b, `,"bookedSlots":`...)
	b = appendWallClock(b, p.Booked, p.Zone)
	b = append(b, `,"lockedSlots":`...)
	b = appendWallClock(b, p.Locked, p.Zone)
	b = append(b, `,"timezone":"`...)
	b = append(b, p.Zone.String()...)
	b = append(b, `","generation":`...)
	b = strconv.AppendUint(b, p.Generation, 10)
	b = append(b, `,"redisStatus":"`...)
	b = append(b, storage.redisStatus...)
	b = append(b, `","storageMode":"`...)
	b = append(b, storage.mode...)
	b = append(b, `","cacheInfo":{"redisEnabled":`...)
	b = strconv.AppendBool(b, storage.redis)
	b = append(b, `,"healthCheckUsed":`...)
	return strconv.AppendBool(b, storage.redis)
}

// appendWallClock appends instants as local times in a zone.
func appendWallClock(b []byte, list []time.Time, zone *time.Location) []byte {
	b = append(b, '[')
	for i, t := range list {
		if i > 0 {
			b = append(b, ',')
		}
		hour, minute, _ := t.In(zone).Clock()
		b = append(b, '"')
		b = append(instant.AppendClock(b, hour, minute), '"')
	}
	return append(b, ']')
}

// hasTag reports whether If-None-Match contains a tag. It uses the weak comparison of RFC 9110, because a proxy that
// compresses a response weakens its tag.
func hasTag(header []string, tag string) bool {
	for _, line := range header {
		if line == tag { // the usual case
			return true
		}
		for one := range strings.SplitSeq(line, ",") {
			if one = strings.TrimPrefix(strings.TrimSpace(one), "W/"); one == tag || one == "*" {
				return true
			}
		}
	}
	return false
}

// selected reads the slot that a polling client has selected: a local time of day, or an instant. The time of day is -1
// if the client sent an instant or nothing.
func (q *query) selected() (store.TimeOfDay, time.Time) {
	s := q.text("selected")
	if t, err := store.ParseTimeOfDay(s); err == nil {
		return t, time.Time{}
	}
	if s != "" && !strings.Contains(s, "T") {
		q.add("selected", "must be a start like 09:30 or 2026-11-23T09:30:00Z")
		return -1, time.Time{}
	}
	return -1, q.instant("selected")
}

// storage describes the backend of the live state, in the terms of the API.
type storage struct {
	mode        string // memory, redis, postgres or fallback
	redis       bool   // Redis is configured, so its health is reported
	redisStatus string // available, unavailable or disabled
}

// storage returns the state of the live state's backend. If the backend is Redis, it pings Redis at most once a second
// for all callers together.
func (s *Server) storage(ctx context.Context) storage {
	x := storage{mode: s.options.StorageMode(), redisStatus: "disabled"}
	switch x.mode {
	case "redis":
		x.redis, x.redisStatus = true, "available"
		if s.engine.Booking.LiveStateHealth(ctx) != nil {
			x.redisStatus = "unavailable"
		}
	case "fallback":
		x.redis, x.redisStatus = true, "unavailable"
	}
	return x
}

// getStorage is `GET /v1/debug/storage`: the state of the live state's backend, for people who operate the server.
func (s *Server) getStorage(c *call) error {
	stats, err := s.engine.Booking.HoldStats(c.ctx())
	if err != nil {
		s.log.Warn("failed to count holds", "error", err)
	}
	x := s.storage(c.ctx())
	answer := map[string]any{
		"storageMode": x.mode, "enabled": x.redis, "redisStatus": x.redisStatus, "healthCheck": err == nil &&
			s.engine.Booking.LiveStateHealth(c.ctx()) == nil,
		"stats": map[string]int{
			"holds": stats.Holds, "selections": stats.Selections, "online": stats.Online, "watches": stats.Watches,
			"streams": s.hub.Count(),
		},
	}
	if server, err := s.engine.Booking.HoldServer(c.ctx()); err == nil {
		answer["usedMemory"], answer["connectedClients"], answer["hitRate"] = server.UsedMemory,
			server.ConnectedClients, server.HitRate
	}
	return c.json(http.StatusOK, answer)
}

type lockJSON struct {
	AppointmentTypeID string `json:"appointmentTypeId"`
	SlotStartDate     string `json:"slotStartDate"`
	SpecialistID      string `json:"specialistId"`
	Client            string `json:"client"` // a short hash
	TTLSeconds        int    `json:"ttlSeconds"`
}

func (s *Server) getLocks(c *call) error {
	held, err := s.engine.Booking.Holds(c.ctx())
	if err != nil {
		return err
	}
	locks := each(held, func(h *holds.Hold) lockJSON {
		return lockJSON{
			h.AppointmentTypeID, httpTime(h.SlotStart), h.SpecialistID, shortHash(h.Owner), secondsUntil(h.ExpiresAt),
		}
	})
	return c.json(http.StatusOK, map[string]any{"lockedSlots": locks, "count": len(locks),
		"storageMode": s.options.StorageMode()})
}

// shortHash returns the first 4 bytes of an owner, which distinguish owners but do not identify a client.
func shortHash(o holds.Owner) string { return hex.EncodeToString(o[:4]) }
