package web

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/holds"
	"holdfast/store"
)

type selectBody struct {
	clientBody
	AppointmentTypeID string `json:"appointmentTypeId"`
	SlotStartDate     string `json:"slotStartDate"`
	SpecialistID      string `json:"specialistId"`
	Lock              bool   `json:"lock"`
}

func (b *selectBody) request(c *call) (engine.SelectRequest, error) {
	var m mistakes
	start := m.instant("slotStartDate", b.SlotStartDate)
	return engine.SelectRequest{
		AppointmentTypeID: b.AppointmentTypeID, SlotStart: start, SpecialistID: b.SpecialistID, Client: c.client, Lock: b.Lock,
	}, m.err()
}

// selectedJSON answers a selection. ttl is in seconds: of the hold where there is one, else of the selection.
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

// selectSlot says that a client is looking at a slot. The client is told its own secret, which it sent.
func (s *Server) selectSlot(c *call, b *selectBody) error {
	r, err := b.request(c)
	if err != nil {
		return err
	}
	x, err := s.engine.Select(c.ctx(), r)
	if err != nil {
		return err
	}
	answer := selectedJSON{
		Success: true, ClientID: string(c.client), SpecialistID: x.SpecialistID, Storage: s.options.StorageMode(), TTL: secondsUntil(x.ExpiresAt),
	}
	if x.Hold != nil {
		answer.Locked, answer.HoldID, answer.TTL = true, x.Hold.ID, secondsUntil(x.Hold.ExpiresAt)
		answer.HoldExpiresAt = string(appendInstantMilli(nil, x.Hold.ExpiresAt))
	}
	return c.json(http.StatusOK, answer)
}

// secondsUntil rounds to the nearest second.
func secondsUntil(t time.Time) int { return int(time.Until(t).Round(time.Second).Seconds()) }

// deselectSlot ends a selection and releases the lock that it took.
func (s *Server) deselectSlot(c *call, b *selectBody) error {
	r, err := b.request(c)
	if err != nil {
		return err
	}
	done, err := s.engine.Deselect(c.ctx(), r)
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, map[string]any{"success": true, "released": done, "storage": s.options.StorageMode()})
}

// pollJSON is one day of a type for a page without a live stream. Times are wall clock in timezone.
type pollJSON struct {
	ActiveSelections []string `json:"activeSelections"`
	BookedSlots      []string `json:"bookedSlots"`
	LockedSlots      []string `json:"lockedSlots"`
	Timezone         string   `json:"timezone"`
	Generation       uint64   `json:"generation"`
	RedisStatus      string   `json:"redisStatus"`
	StorageMode      string   `json:"storageMode"`
	CacheInfo        struct {
		RedisEnabled    bool   `json:"redisEnabled"`
		Timestamp       string `json:"timestamp,omitempty"`
		HealthCheckUsed bool   `json:"healthCheckUsed"`
	} `json:"cacheInfo"`
}

// pollSlots is `GET /v1/slots/poll?appointmentTypeId=&date=&specialistId=&clientId=&selected=`. The tag of the answer
// leaves its time out, so a page that asks again for an unchanged day is answered 304.
func (s *Server) pollSlots(c *call) error {
	q := c.query()
	r := engine.PollRequest{AppointmentTypeID: q.id("appointmentTypeId"), Date: q.date("date"), SpecialistID: q.id("specialistId"), Client: q.client(c)}
	if q.text("appointmentTypeId") == "" {
		q.add("appointmentTypeId", "say which appointment type to ask about")
	}
	zone := s.engine.Zone()
	if p, err := s.engine.Specialist(r.SpecialistID); err == nil {
		if loaded, err := time.LoadLocation(p.Timezone); err == nil {
			zone = loaded
		}
	}
	if r.Date == (store.Date{}) {
		r.Date = store.DateOf(time.Now().In(zone))
	}
	r.Selected = q.selected(r.Date, zone)
	if err := q.err(); err != nil {
		return err
	}
	generation := s.engine.Generation(r.AppointmentTypeID)
	p, err := s.engine.Poll(c.ctx(), r)
	if err != nil {
		return err
	}
	answer := pollJSON{
		ActiveSelections: wallClock(p.Looking, p.Zone), BookedSlots: wallClock(p.Booked, p.Zone), LockedSlots: wallClock(p.Locked, p.Zone),
		Timezone: p.Zone.String(), Generation: generation, RedisStatus: redisStatus(s.options.StorageMode()), StorageMode: s.options.StorageMode(),
	}
	answer.CacheInfo.RedisEnabled = answer.StorageMode != "memory"
	untimed, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(untimed)
	tag := `"` + hex.EncodeToString(sum[:8]) + `"`
	h := c.rw.Header()
	h["Etag"] = []string{tag}
	h["Cache-Control"] = noCache
	if c.r.Header.Get("If-None-Match") == tag {
		return c.empty(http.StatusNotModified)
	}
	answer.CacheInfo.Timestamp = string(appendInstantMilli(nil, p.CheckedAt))
	return c.json(http.StatusOK, answer)
}

var noCache = []string{"private, no-cache"}

// selected reads the slot that a polling client says it is looking at: an instant, or a wall-clock time of the day.
func (q *query) selected(day store.Date, zone *time.Location) time.Time {
	s := q.text("selected")
	if s == "" {
		return time.Time{}
	}
	if t, err := store.ParseTimeOfDay(s); err == nil {
		return time.Date(day.Year, day.Month, day.Day, int(t)/60, int(t)%60, 0, 0, zone).UTC()
	}
	if !strings.Contains(s, "T") {
		q.add("selected", "must be a start like 09:30 or 2026-11-23T09:30:00Z")
		return time.Time{}
	}
	return q.instant("selected")
}

func wallClock(list []time.Time, zone *time.Location) []string {
	answer := make([]string, len(list))
	for i, t := range list {
		answer[i] = t.In(zone).Format("15:04")
	}
	return answer
}

// redisStatus says in a word what stands behind a storage mode.
func redisStatus(mode string) string {
	switch mode {
	case "redis":
		return "connected"
	case "fallback":
		return "unreachable"
	}
	return "disabled"
}

// getStorage is for people who operate the server.
func (s *Server) getStorage(c *call) error {
	stats, err := s.engine.HoldStats(c.ctx())
	health := "ok"
	if err != nil {
		health = "failing"
	}
	mode := s.options.StorageMode()
	return c.json(http.StatusOK, map[string]any{
		"storageMode": mode, "enabled": mode != "memory", "healthCheck": health, "stats": map[string]int{
			"holds": stats.Holds, "selections": stats.Selections, "online": stats.Online, "watches": stats.Watches, "streams": s.hub.count(),
		},
	})
}

type lockJSON struct {
	AppointmentTypeID string `json:"appointmentTypeId"`
	SlotStartDate     string `json:"slotStartDate"`
	SpecialistID      string `json:"specialistId"`
	Client            string `json:"client"` // a short hash
	TTLSeconds        int    `json:"ttlSeconds"`
}

func (s *Server) getLocks(c *call) error {
	held, err := s.engine.Holds(c.ctx())
	if err != nil {
		return err
	}
	locks := make([]lockJSON, len(held))
	for i := range held {
		h := &held[i]
		locks[i] = lockJSON{h.AppointmentTypeID, httpTime(h.SlotStart), h.SpecialistID, shortHash(h.Client), secondsUntil(h.ExpiresAt)}
	}
	return c.json(http.StatusOK, map[string]any{"lockedSlots": locks, "count": len(locks), "storageMode": s.options.StorageMode()})
}

// shortHash tells clients apart without naming them.
func shortHash(c holds.ClientID) string {
	hash := c.Hash()
	return hex.EncodeToString(hash[:4])
}
