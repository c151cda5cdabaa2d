package web_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/web"
)

// These tests check selections over HTTP: which slots other clients are looking at, and the poll for pages without a
// stream.

// selects selects a checkup as client n.
func (h *house) selects(n int, start string, more map[string]any) *reply {
	h.t.Helper()
	body := map[string]any{"appointmentTypeId": "checkup", "slotStartDate": start, "clientId": client(n)}
	for k, v := range more {
		body[k] = v
	}
	return h.do("POST", "/v1/slots/select", body)
}

func (h *house) deselects(n int, start string) *reply {
	h.t.Helper()
	return h.do("POST", "/v1/slots/deselect", map[string]any{"appointmentTypeId": "checkup",
		"slotStartDate": start, "clientId": client(n)})
}

// poll polls the day of the house's start as client n.
func (h *house) poll(n int, more string, headers ...header) *reply {
	h.t.Helper()
	path := "/v1/slots/poll?appointmentTypeId=checkup&date=" + h.start.Format(time.DateOnly) + more
	return h.do("GET", path, nil, append(headers, header{"Holdfast-Client": client(n)})...)
}

// times returns one list from the response to a poll.
func (r *reply) times(name string) []string {
	r.t.Helper()
	list, ok := r.body[name].([]any)
	if !ok {
		r.t.Fatalf("%s is no list in %s", name, r.raw)
	}
	got := []string{}
	for _, v := range list {
		got = append(got, v.(string))
	}
	return got
}

func (r *reply) wantTimes(name string, want ...string) {
	r.t.Helper()
	if got := r.times(name); !slices.Equal(got, want) {
		r.t.Errorf("%s: got %v, want %v", name, got, want)
	}
}

// clock returns the wall-clock time the given number of minutes after the house's start.
func (h *house) clock(minutes int) string {
	return h.start.Add(time.Duration(minutes) * time.Minute).Format("15:04")
}

func TestSelectAndPoll(t *testing.T) {
	h := newHouse(t)
	r := h.selects(1, h.at(30), nil).want(200)
	want := map[string]any{"success": true, "clientId": client(1), "specialistId": "ada", "locked": false,
		"storage": "memory", "ttl": 10.0}
	if !sameFields(r.body, want) {
		t.Errorf("select returns %s, want exactly %v", r.raw, want)
	}
	p := h.poll(2, "").want(200)
	p.wantTimes("activeSelections", h.clock(30))
	p.wantTimes("bookedSlots")
	p.wantTimes("lockedSlots")
	if p.text("redisStatus") != "disabled" || p.text("storageMode") != "memory" || p.text("timezone") != "UTC" {
		t.Errorf("without Redis, the poll returns %s", p.raw)
	}
	if p.get("cacheInfo", "redisEnabled") != false || p.get("cacheInfo", "healthCheckUsed") != false {
		t.Errorf("cacheInfo: got %v", p.get("cacheInfo"))
	}
	if at, err := time.Parse(time.RFC3339, p.text("cacheInfo", "timestamp")); err != nil ||
		time.Since(at).Abs() > time.Minute {
		t.Errorf("the timestamp is %v, %v", at, err)
	}
	if strings.Contains(p.raw, client(1)) {
		t.Errorf("the poll contains another client: %s", p.raw)
	}
	if own := h.poll(1, "").want(200); own.header.Get("ETag") != p.header.Get("ETag") {
		t.Errorf("the selecting client gets %s, other clients %s", own.raw, p.raw)
	}

	for _, id := range []string{"ada", "bea"} {
		h.book(5, "checkup", map[string]any{"slotStartDate": h.at(0), "specialistId": id}).want(201)
	}
	h.hold(6, "checkup", h.at(60), map[string]any{"specialistId": "ada"}).want(201)
	h.hold(7, "checkup", h.at(60), map[string]any{"specialistId": "bea"}).want(201)
	p = h.poll(2, "").want(200)
	p.wantTimes("bookedSlots", h.clock(0))
	p.wantTimes("lockedSlots", h.clock(60))
	h.poll(6, "").want(200).wantTimes("lockedSlots", h.clock(60)) // also for the client that holds it

	if r := h.deselects(1, h.at(30)).want(200); r.get("success") != true || r.get("released") != true {
		t.Errorf("deselect returns %s", r.raw)
	}
	if r := h.deselects(1, h.at(30)).want(200); r.get("success") != true || r.get("released") != false {
		t.Errorf("a second deselect returns %s", r.raw)
	}
	h.poll(2, "").want(200).wantTimes("activeSelections")
}

func TestSelectWithLock(t *testing.T) {
	h := newHouse(t)
	before := time.Now()
	r := h.selects(1, h.at(0), map[string]any{"lock": true, "specialistId": "ada"}).want(200)
	if r.get("locked") != true || r.get("ttl") != 600.0 {
		t.Errorf("a lock returns %s, want 600 s", r.raw)
	}
	ends, err := time.Parse("2006-01-02T15:04:05.000Z", r.text("holdExpiresAt"))
	if least := before.Add(600*time.Second - time.Millisecond); err != nil || ends.Before(least) ||
		time.Until(ends) > 600*time.Second {
		t.Errorf("the lock expires at %v, %v, want 600 s after the request", ends, err)
	}
	// the lock is a hold
	h.do("PATCH", "/v1/holds", map[string]any{"holdId": r.text("holdId"), "clientId": client(1)}).want(200)
	h.selects(2, h.at(0), map[string]any{"lock": true, "specialistId": "ada"}).problem(409, "slot_held")
	h.poll(2, "&specialistId=ada").wantTimes("lockedSlots", h.clock(0))
	h.poll(1, "&specialistId=ada").wantTimes("lockedSlots", h.clock(0))
	h.deselects(1, h.at(0)).want(200)
	h.selects(2, h.at(0), map[string]any{"lock": true, "specialistId": "ada"}).want(200)
}

func TestPollHonoursETag(t *testing.T) {
	h := newHouse(t)
	first := h.poll(1, "").want(200)
	tag := first.header.Get("ETag")
	if len(tag) < 4 || tag[0] != '"' || first.header.Get("Cache-Control") != "private, no-cache" {
		t.Fatalf("got the ETag %q and Cache-Control %q", tag, first.header.Get("Cache-Control"))
	}
	time.Sleep(2 * time.Millisecond) // so that the timestamps differ
	if again := h.poll(1, "").want(200).header.Get("ETag"); again != tag {
		t.Errorf("the ETag depends on the time: %s, then %s", tag, again)
	}
	for _, sent := range []string{tag, "W/" + tag, `"other", ` + tag, "*"} {
		r := h.poll(1, "", header{"If-None-Match": sent}).want(304)
		if r.raw != "" || r.header.Get("ETag") != tag {
			t.Errorf("If-None-Match %s: got the body %q and the ETag %q", sent, r.raw, r.header.Get("ETag"))
		}
	}
	h.poll(1, "", header{"If-None-Match": `"other"`}).want(200)
	h.selects(2, h.at(0), nil).want(200)
	changed := h.poll(1, "", header{"If-None-Match": tag}).want(200).header.Get("ETag")
	if changed == tag {
		t.Error("a selection does not change the ETag")
	}
	h.poll(2, "", header{"If-None-Match": changed}).want(304) // the state is the same for all clients
	h.book(3, "checkup", map[string]any{"slotStartDate": h.at(60)}).want(201)
	h.poll(2, "", header{"If-None-Match": tag}).want(200) // the generation of the timeslots has changed
	if r := h.do("HEAD", "/v1/slots/poll?appointmentTypeId=checkup", nil).want(200); r.header.Get("ETag") == "" {
		t.Error("HEAD has no ETag")
	}
}

// TestPollUsesLocalTime: times are in the specialist's zone if the request names a specialist, and otherwise in the
// clinic's.
func TestPollUsesLocalTime(t *testing.T) {
	h := newHouse(t)
	h.do("PATCH", "/v1/specialists/ada", map[string]any{"timezone": "Asia/Kolkata"}, asAdmin).want(200)
	at := h.start.Add(-6 * time.Hour)
	h.selects(1, at.Format(time.RFC3339), map[string]any{"specialistId": "ada"}).want(200)
	local := h.poll(2, "&specialistId=ada").want(200)
	local.wantTimes("activeSelections", "11:30")
	if local.text("timezone") != "Asia/Kolkata" {
		t.Errorf("the zone: got %s", local.text("timezone"))
	}
	h.poll(2, "").want(200).wantTimes("activeSelections", "06:00")
	// The server reads the selected time that a page sends in the same zone.
	h.deselects(1, at.Format(time.RFC3339)).want(200)
	h.poll(1, "&specialistId=ada&selected=11:30").want(200)
	h.poll(2, "").want(200).wantTimes("activeSelections", "06:00")
	h.deselects(1, at.Format(time.RFC3339)).want(200)
	h.poll(1, "&selected="+at.Format(time.RFC3339)).want(200)
	h.poll(2, "").want(200).wantTimes("activeSelections", "06:00")
	if day := h.do("GET", "/v1/slots/poll?appointmentTypeId=checkup",
		nil).want(200); len(day.times("activeSelections")) != 0 {
		t.Errorf("without a date, the poll is for today and has %s", day.raw)
	}
}

func TestPollReportsStorageMode(t *testing.T) {
	for _, c := range []struct {
		mode, status string
		redis        bool
	}{{"memory", "disabled", false}, {"postgres", "disabled", false}, {"redis", "available", true},
		{"fallback", "unavailable", true}} {
		h := newHouse(t, func(o *web.Options) { o.StorageMode = func() string { return c.mode } })
		p := h.poll(1, "").want(200)
		if p.text("storageMode") != c.mode || p.text("redisStatus") != c.status ||
			p.get("cacheInfo", "redisEnabled") != c.redis ||
			p.get("cacheInfo", "healthCheckUsed") != c.redis {
			t.Errorf("in %s, the poll returns %s", c.mode, p.raw)
		}
		r := h.do("GET", "/v1/debug/storage", nil, asAdmin).want(200)
		if r.text("storageMode") != c.mode || r.get("enabled") != c.redis || r.text("redisStatus") != c.status ||
			r.get("healthCheck") != true {
			t.Errorf("in %s the storage is %s", c.mode, r.raw)
		}
	}
}

// TestPollByDateMergesTypes: a poll may name only a day, or a day and a specialist. It then merges the states of all
// types, with each start once.
func TestPollByDateMergesTypes(t *testing.T) {
	h := newHouse(t)
	day := "/v1/slots/poll?date=" + h.start.Format(time.DateOnly)
	h.do("PATCH", "/v1/specialists/ada", map[string]any{"timezone": "Asia/Kolkata"}, asAdmin).want(200)
	empty := h.do("GET", day, nil).want(200)
	empty.wantTimes("bookedSlots")

	h.selects(1, h.at(30), map[string]any{"specialistId": "bea"}).want(200)
	h.book(5, "checkup", map[string]any{"slotStartDate": h.at(0), "specialistId": "ada"}).want(201)
	h.hold(6, "checkup", h.at(60), map[string]any{"specialistId": "ada"}).want(201)
	india := func(minutes int) string {
		return h.start.Add(time.Duration(minutes)*time.Minute + 330*time.Minute).Format("15:04")
	}

	all := h.do("GET", day, nil, header{"Holdfast-Client": client(1)}).want(200)
	all.wantTimes("activeSelections", h.clock(30))
	if all.text("timezone") != "UTC" || all.get("generation").(float64) <= empty.get("generation").(float64) {
		t.Errorf("after a booking, the poll returns %s, before it %s", all.raw, empty.raw)
	}
	ada := h.do("GET", day+"&specialistId=ada", nil).want(200)
	ada.wantTimes("activeSelections")
	if booked := ada.times("bookedSlots"); !slices.Contains(booked, india(0)) || slices.Contains(booked, india(60)) {
		t.Errorf("booked starts of ada: got %v, want %s in it and not %s", booked, india(0), india(60))
	}
	if locked := ada.times("lockedSlots"); !slices.Contains(locked, india(60)) || slices.Contains(locked, india(0)) {
		t.Errorf("locked starts of ada: got %v, want %s in it and not %s", locked, india(60), india(0))
	}
	if ada.text("timezone") != "Asia/Kolkata" {
		t.Errorf("the zone of ada's poll: got %s", ada.text("timezone"))
	}
	for _, name := range []string{"bookedSlots", "lockedSlots"} {
		if got := ada.times(name); !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
			t.Errorf("%s does not have each start once and in order: %v", name, got)
		}
	}
	tag := ada.header.Get("ETag")
	h.do("GET", day+"&specialistId=ada", nil, header{"If-None-Match": tag}).want(304)
	h.do("GET", day+"&specialistId=nobody", nil).problem(422, "validation_failed").field("specialistId")
}

func TestSelectRefusesInvalidRequests(t *testing.T) {
	h := newHouse(t)
	for _, path := range []string{"/v1/slots/select", "/v1/slots/deselect"} {
		for field, bad := range map[string]any{
			"appointmentTypeId": "a b", "specialistId": "a/b", "clientId": "short", "slotStartDate": "tomorrow",
		} {
			body := map[string]any{"appointmentTypeId": "checkup", "slotStartDate": h.at(0), "clientId": client(1)}
			body[field] = bad
			h.do("POST", path, body).problem(422, "validation_failed").field(field)
			if field != "specialistId" {
				delete(body, field)
				h.do("POST", path, body).problem(422, "validation_failed").field(field)
			}
		}
		h.do("POST", path, "{").problem(400, "malformed_body")
		h.do("POST", path, `{"unknown":1}`).problem(400, "malformed_body")
		h.do("POST", path, `{"lock":"yes"}`).problem(422, "validation_failed").field("lock")
		h.do("GET", path, nil).problem(405, "method_not_allowed")
	}
	h.do("POST", "/v1/slots/select", map[string]any{"appointmentTypeId": "unknown", "slotStartDate": h.at(0),
		"clientId": client(1)}).problem(404, "not_found")
	if r := h.selects(1, h.at(7), nil).problem(409, "not_bookable"); r.text("reason") != "not_a_slot_start" {
		t.Errorf("the reason: got %s", r.raw)
	}
	for query, field := range map[string]string{
		"":                                      "date",
		"?specialistId=ada":                     "date",
		"?appointmentTypeId=a%20b":              "appointmentTypeId",
		"?appointmentTypeId=checkup&date=today": "date",
		"?appointmentTypeId=checkup&date=2026-02-30":               "date",
		"?appointmentTypeId=checkup&specialistId=%2F":              "specialistId",
		"?appointmentTypeId=checkup&specialistId=nobody":           "specialistId",
		"?appointmentTypeId=checkup&clientId=short":                "clientId",
		"?appointmentTypeId=checkup&selected=half%20ten":           "selected",
		"?appointmentTypeId=checkup&selected=2026-13-01T00:00:00Z": "selected",
	} {
		h.do("GET", "/v1/slots/poll"+query, nil).problem(422, "validation_failed").field(field)
	}
	h.do("GET", "/v1/slots/poll?appointmentTypeId=unknown", nil).problem(404, "not_found")
}

// TestDebugHidesSecrets: the responses for operators contain no secret: a client is a short hash.
func TestDebugHidesSecrets(t *testing.T) {
	h := newHouse(t)
	h.hold(1, "checkup", h.at(0), map[string]any{"specialistId": "ada"}).want(201)
	h.hold(1, "checkup", h.at(60), map[string]any{"specialistId": "bea"}).want(201)
	h.hold(2, "checkup", h.at(120), map[string]any{"specialistId": "bea"}).want(201)
	h.selects(3, h.at(0), nil).want(200)
	storage := h.do("GET", "/v1/debug/storage", nil, asAdmin).want(200)
	if storage.text("storageMode") != "memory" || storage.get("enabled") != false ||
		storage.get("healthCheck") != true ||
		storage.get("stats", "holds") != 3.0 || storage.get("stats", "selections") != 1.0 {
		t.Errorf("the storage: got %s", storage.raw)
	}
	locks := h.do("GET", "/v1/debug/locks", nil, asAdmin).want(200)
	list, _ := locks.body["lockedSlots"].([]any)
	if len(list) != 3 || locks.get("count") != 3.0 || locks.text("storageMode") != "memory" {
		t.Fatalf("the locks: got %s", locks.raw)
	}
	hashes := map[string]int{}
	for _, one := range list {
		lock := one.(map[string]any)
		if len(lock) != 5 {
			t.Errorf("a lock returns %v", lock)
		}
		if ttl := lock["ttlSeconds"].(float64); ttl < 1 || ttl > 30 {
			t.Errorf("ttlSeconds: got %v", ttl)
		}
		hashes[lock["client"].(string)]++
	}
	if len(hashes) != 2 {
		t.Errorf("two clients have the hashes %v", hashes)
	}
	for hash := range hashes {
		if len(hash) != 8 {
			t.Errorf("the hash %q is not short", hash)
		}
	}
	for n := range 4 {
		if all := fmt.Sprint(storage.raw, locks.raw); strings.Contains(all, client(n)) {
			t.Errorf("%s contains a client", all)
		}
	}
	for _, path := range []string{"/v1/debug/storage", "/v1/debug/locks"} {
		h.do("GET", path, nil).problem(401, "unauthorized")
		h.do("GET", path, nil, h.key("presence")).problem(403, "forbidden")
		h.do("GET", path, nil, h.signedIn("ada-"+path[10:]+"@clinic.example", "specialist", "ada")).problem(403,
			"forbidden")
		// the front desk has access, because its Live page uses these routes
		h.do("GET", path, nil, h.signedIn("desk-"+path[10:]+"@clinic.example", "reception", "")).want(200)
	}
}
