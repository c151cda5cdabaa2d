package web_test

import (
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"holdfast/web"
)

// These tests check the limits of the public: the holds per network, the holds per network with one specialist on one
// day, and the streams.

func limited(l web.Limits) func(*web.Options) {
	return func(o *web.Options) {
		o.RateLimit, o.Limits = true, l
		o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	}
}

func from(address string) header { return header{"X-Forwarded-For": address} }

// holdFrom holds the nth half hour for the nth client.
func (h *house) holdFrom(n int, address string, more ...header) *reply {
	h.t.Helper()
	return h.do("POST", "/v1/holds", map[string]any{
		"appointmentTypeId": "checkup", "slotStartDate": h.at(30 * n), "specialistId": "ada", "clientId": client(n),
		"ttlSeconds": 600,
	}, append(more, from(address))...)
}

func TestNetworkHoldLimit(t *testing.T) {
	t.Parallel() // waits on the real clock
	h := newHouse(t, limited(web.Limits{HoldsPerAddress: 3}))
	ids := make([]string, 4)
	for n := 1; n <= 3; n++ {
		ids[n] = h.holdFrom(n, "203.0.113.7").want(201).text("holdId")
	}
	refused := h.holdFrom(4, "203.0.113.7").problem(429, "rate_limited")
	if refused.header.Get("Retry-After") == "" {
		t.Errorf("the refusal has no Retry-After: %s", refused.raw)
	}
	if held := h.do("GET", "/v1/holds", nil,
		header{"Holdfast-Client": client(4)}).want(200).body["holds"].([]any); len(held) != 0 {
		t.Errorf("a refused time is held: %v", held)
	}
	h.do("POST", "/v1/slots/select", map[string]any{"appointmentTypeId": "checkup", "slotStartDate": h.at(600),
		"clientId": client(5), "lock": true}, from("203.0.113.7")).problem(429, "rate_limited")
	h.holdFrom(1, "203.0.113.7").want(201)          // the client's own hold
	h.holdFrom(4, "203.0.113.8").want(201)          // another network
	h.holdFrom(5, "203.0.113.7", asAdmin).want(201) // the clinic's own programs
	h.do("DELETE", "/v1/holds", map[string]any{"holdId": ids[2], "clientId": client(2)}).want(200)
	h.eventually("a hold given back makes room", func() bool { return h.holdFrom(6, "203.0.113.7").status == 201 })
	h.eventually("full again", func() bool { return h.holdFrom(7, "203.0.113.7").status == 429 })
	// One household has an entire IPv6 /64.
	for n := 11; n <= 13; n++ {
		h.holdFrom(n, fmt.Sprintf("2001:db8:1:2::%d", n)).want(201)
	}
	h.holdFrom(14, "2001:db8:1:2:ffff::1").problem(429, "rate_limited")
}

func TestDayHoldLimit(t *testing.T) {
	h := newHouse(t, limited(web.Limits{HoldsPerDay: 2}))
	const first = 24 // midnight
	h.holdFrom(first, "203.0.113.1").want(201)
	h.holdFrom(first+1, "203.0.113.2").want(201)
	h.holdFrom(first+2, "203.0.113.3").problem(429, "rate_limited")
	h.holdFrom(first+48, "203.0.113.3").want(201) // the next day
	h.do("POST", "/v1/holds", map[string]any{
		"appointmentTypeId": "checkup", "slotStartDate": h.at(30 * (first + 2)), "specialistId": "bea",
		"clientId": client(90),
	}, from("203.0.113.3")).want(201) // another specialist
}

func TestNetworkHoldsFifthOfDay(t *testing.T) {
	h := newHouse(t, limited(web.Limits{}))
	const first = 24 // midnight; the day has 48 slots
	for n := first; n < first+9; n++ {
		h.holdFrom(n, fmt.Sprintf("2001:db8:1:2::%d", n)).want(201)
	}
	refused := h.holdFrom(first+9, "2001:db8:1:2:ffff::1").problem(429, "rate_limited")
	if refused.header.Get("Retry-After") == "" {
		t.Errorf("the refusal has no Retry-After: %s", refused.raw)
	}
	if held := h.do("GET", "/v1/holds", nil,
		header{"Holdfast-Client": client(first + 9)}).want(200).body["holds"].([]any); len(held) != 0 {
		t.Errorf("a refused time is held: %v", held)
	}
	lock := map[string]any{"appointmentTypeId": "checkup", "slotStartDate": h.at(30 * (first + 10)),
		"specialistId": "ada", "clientId": client(200), "lock": true}
	h.do("POST", "/v1/slots/select", lock, from("2001:db8:1:2::1")).problem(429, "rate_limited")
	h.holdFrom(first+9, "2001:db8:1:3::1").want(201)           // another network
	h.holdFrom(first+48, "2001:db8:1:2::1").want(201)          // the next day
	h.holdFrom(first+10, "2001:db8:1:2::1", asAdmin).want(201) // the clinic's own programs
	h.do("POST", "/v1/holds", map[string]any{
		"appointmentTypeId": "checkup", "slotStartDate": h.at(30 * first), "specialistId": "bea",
		"clientId": client(90),
	}, from("2001:db8:1:2::1")).want(201) // another specialist
}

// TestHoldAnySkipsSpecialistOverShare: a network has used up its share of one specialist's day. If it then requests a
// hold with any specialist, it gets one with another specialist.
func TestHoldAnySkipsSpecialistOverShare(t *testing.T) {
	h := newHouse(t, limited(web.Limits{}))
	const first = 24 // midnight; the day has 48 slots, so the share is 9
	take := func(n, who int) *reply {
		return h.do("POST", "/v1/holds", map[string]any{"appointmentTypeId": "checkup",
			"slotStartDate": h.at(30 * n), "clientId": client(who), "ttlSeconds": 300}, from("203.0.113.7"))
	}
	for n := first; n < first+9; n++ {
		if got := take(n, n).want(201).text("specialistId"); got != "ada" {
			t.Fatalf("hold %d is with %s, want ada, who has the higher priority", n, got)
		}
	}
	if got := take(first+9, 100).want(201).text("specialistId"); got != "bea" {
		t.Errorf("with ada's share used up, the hold is with %s, want bea", got)
	}
	take(first, first).want(201) // its own hold is renewed
	lock := map[string]any{"appointmentTypeId": "checkup", "slotStartDate": h.at(30 * (first + 10)),
		"clientId": client(200), "lock": true}
	if got := h.do("POST", "/v1/slots/select", lock, from("203.0.113.7")).want(200).text("specialistId"); got != "bea" {
		t.Errorf("with ada's share used up, the lock is with %s, want bea", got)
	}
	for n := first + 11; n < first+18; n++ {
		take(n, n).want(201)
	}
	take(first+18, 300).problem(429, "rate_limited") // both shares are held
}

// TestListingHidesWhatNetworkMayNotHold: a network holds its share of every specialist's day, one specialist after the
// other. The listing then omits the times of that specialist for this network.
func TestListingHidesWhatNetworkMayNotHold(t *testing.T) {
	h := newHouse(t, limited(web.Limits{HoldShare: 1})) // two seats of a day and of a week
	slots := func(more ...header) (ada, n int) {
		t.Helper()
		day := h.at(24 * 60)[:10]
		for _, x := range h.do("GET", "/v1/appointment-types/checkup/timeslots?from="+day+"&to="+nextDay(t, day), nil,
			more...).want(200).body["slots"].([]any) {
			slot := x.(map[string]any)
			if slot["held"].(float64) > 0 && slot["available"].(float64) == 0 {
				continue
			}
			n++
			if strings.Contains(fmt.Sprint(slot["specialistIds"]), "ada") {
				ada++
			}
		}
		return ada, n
	}
	const first = 48 // midnight of the next day
	_, all := slots(from("203.0.113.7"))
	h.holdFrom(first, "203.0.113.7").want(201)
	h.holdFrom(first+1, "203.0.113.7").want(201)
	if ada, n := slots(from("203.0.113.7")); ada != 0 || n != all {
		t.Errorf("with ada's share used up: got %d times of ada of %d, want none of %d", ada, n, all)
	}
	if ada, n := slots(from("203.0.113.8")); ada != all-2 || n != all {
		t.Errorf("another network: got %d times of ada of %d, want %d of %d", ada, n, all-2, all)
	}
	for n := range 2 {
		h.do("POST", "/v1/holds", map[string]any{
			"appointmentTypeId": "checkup", "slotStartDate": h.at(30 * (first + 4 + n)), "specialistId": "bea",
			"clientId": client(90 + n),
		}, from("203.0.113.7")).want(201)
	}
	if _, n := slots(from("203.0.113.7")); n != 0 {
		t.Errorf("with both shares used up: got %d times, want none", n)
	}
	if _, n := slots(from("203.0.113.7"), asAdmin); n != all {
		t.Errorf("the clinic's own programs: got %d times, want %d", n, all)
	}
}

// nextDay returns the next date.
func nextDay(t *testing.T, date string) string {
	t.Helper()
	day, err := time.Parse(time.DateOnly, date)
	if err != nil {
		t.Fatal(err)
	}
	return day.AddDate(0, 0, 1).Format(time.DateOnly)
}

func TestNetworkHoldsFifthOfWeek(t *testing.T) {
	h := newHouse(t, limited(web.Limits{}))
	var hours []map[string]any // five slots a day
	for day := range 7 {
		hours = append(hours, map[string]any{"weekday": strings.ToLower(time.Weekday(day).String()), "start": "12:00",
			"end": "14:30"})
	}
	h.do("PUT", "/v1/specialists/ada/weekly-hours", hours, asAdmin).want(200)
	monday := (8 - int(h.start.Weekday())) % 7
	hold := func(day, n int) *reply { return h.holdFrom(48*(monday+day)+n, "203.0.113.7") }
	for day := range 3 {
		hold(day, 0).want(201)
		hold(day, 1).want(201) // two holds are always allowed
		hold(day, 2).problem(429, "rate_limited")
	}
	hold(3, 0).want(201)
	hold(3, 1).problem(429, "rate_limited") // 7 of 35
	hold(6, 0).problem(429, "rate_limited")
	hold(7, 0).want(201) // the next week
	t.Log("one network held 7 of the 35 slots of a week")
}

// TestPublicHoldTTLIsCapped: with the limits per network, the server caps the TTL that a visitor requests for a hold.
// A program with a key may request a longer one.
func TestPublicHoldTTLIsCapped(t *testing.T) {
	h := newHouse(t, limited(web.Limits{HoldShare: 100}))
	h.do("PATCH", "/v1/appointment-types/surgery", map[string]any{"holdTtlSeconds": 400}, asAdmin).want(200)
	for n, c := range []struct {
		appointmentType string
		who             header
		asked, want     int
	}{
		{"checkup", nil, 600, 300}, {"checkup", nil, 301, 300}, {"checkup", nil, 300, 300}, {"checkup", nil, 200, 200},
		{"surgery", nil, 600, 400}, {"checkup", asAdmin, 600, 600},
	} {
		body := map[string]any{"appointmentTypeId": c.appointmentType, "slotStartDate": h.at(180 * n),
			"clientId": client(n), "ttlSeconds": c.asked}
		r := h.do("POST", "/v1/holds", body, c.who).want(201)
		if got := r.get("ttlMs").(float64) / 1000; !lasts(got, c.want) {
			t.Errorf("%s for %d s as %v: got %.3f s, want %d", c.appointmentType, c.asked, c.who, got, c.want)
		}
		r = h.do("PATCH", "/v1/holds", map[string]any{"holdId": r.text("holdId"), "clientId": client(n),
			"ttlSeconds": c.asked}, c.who).want(200)
		if got := r.get("ttlMs").(float64) / 1000; !lasts(got, c.want) {
			t.Errorf("%s extended for %d s as %v: got %.3f s, want %d", c.appointmentType, c.asked, c.who, got, c.want)
		}
	}
	h.hold(9, "checkup", h.at(-60), map[string]any{"ttlSeconds": 601}).problem(422,
		"validation_failed").field("ttlSeconds")
}

// lasts reports whether a hold for some seconds can have this remaining time. A busy machine answers late.
func lasts(remaining float64, seconds int) bool {
	return remaining <= float64(seconds) && remaining > float64(seconds)*0.8
}

// TestHoldTTLWithoutRateLimit: without the limits per network, a visitor gets every TTL that the contract allows.
func TestHoldTTLWithoutRateLimit(t *testing.T) {
	h := newHouse(t)
	r := h.hold(1, "checkup", h.at(0), map[string]any{"ttlSeconds": 600}).want(201)
	if got := r.get("ttlMs").(float64) / 1000; !lasts(got, 600) {
		t.Errorf("a hold for 600 s got %.3f s", got)
	}
	r = h.do("PATCH", "/v1/holds", map[string]any{"holdId": r.text("holdId"), "clientId": client(1), "restart": true,
		"ttlSeconds": 600}).want(200)
	if got := r.get("ttlMs").(float64) / 1000; !lasts(got, 600) {
		t.Errorf("extended for 600 s, the hold has %.3f s", got)
	}
	h.hold(2, "checkup", h.at(60), map[string]any{"ttlSeconds": 601}).problem(422,
		"validation_failed").field("ttlSeconds")
}

func TestNetworkSessionLimit(t *testing.T) {
	t.Parallel() // waits on the real clock
	h := newHouse(t, limited(web.Limits{SessionsPerAddress: 2}))
	ask := func(n int, address string, more ...header) *reply {
		t.Helper()
		return h.do("POST", "/v1/sessions", map[string]any{"clientId": client(n)}, append(more, from(address))...)
	}
	first := ask(1, "203.0.113.7").want(201).text("session", "id")
	ask(2, "203.0.113.7").want(201)
	if ask(3, "203.0.113.7").problem(429, "rate_limited").header.Get("Retry-After") == "" {
		t.Error("the refusal has no Retry-After")
	}
	ask(1, "203.0.113.7").want(201) // the client's own stream
	ask(3, "203.0.113.8").want(201) // another network
	ask(4, "203.0.113.7", asAdmin).want(201)
	h.do("POST", "/v1/sessions/"+first+"/cancel", map[string]any{"clientId": client(1)}).want(200)
	h.eventually("a request that is over makes room", func() bool { return ask(5, "203.0.113.7").status == 201 })
}

func TestHoldsAreUnlimitedWhenRateLimitIsOff(t *testing.T) {
	h := newHouse(t, limited(web.Limits{HoldsPerAddress: 1, HoldsPerDay: 1}), func(o *web.Options) {
		o.RateLimit = false
	})
	for n := 1; n <= 5; n++ {
		h.holdFrom(n, "203.0.113.7").want(201)
	}
}

func TestNetworkStreamLimit(t *testing.T) {
	t.Parallel() // waits on the real clock
	h := newHouse(t, limited(web.Limits{StreamsPerAddress: 2, Streams: 4}))
	var opened []*http.Response
	open := func(address string) *http.Response {
		r, err := http.NewRequest("GET", h.server.URL+"/v1/holds/stream?appointmentTypeId=checkup", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Forwarded-For", address)
		answer, err := h.server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { answer.Body.Close() })
		opened = append(opened, answer)
		return answer
	}
	for i, c := range []struct {
		address string
		want    int
	}{
		{"203.0.113.7", 200}, {"203.0.113.7", 200}, {"203.0.113.7", 429}, {"203.0.113.8", 200}, {"203.0.113.9", 200},
		{"203.0.113.10", 503},
	} {
		answer := open(c.address)
		if got := answer.StatusCode; got != c.want {
			t.Errorf("stream %d, of %s: got %d, want %d", i+1, c.address, got, c.want)
		}
		if got := answer.Header.Get("Retry-After"); c.want != 200 && got != "60" {
			t.Errorf("stream %d, of %s: Retry-After is %q, want 60", i+1, c.address, got)
		}
		if c.want == 429 {
			said, err := io.ReadAll(answer.Body)
			if err != nil || !strings.Contains(string(said), "Too many live streams from this network") {
				t.Errorf("stream %d, of %s: got %s (%v), want the limit by name", i+1, c.address, said, err)
			}
		}
	}
	for _, left := range opened {
		left.Body.Close()
	}
	h.eventually("who leaves makes room", func() bool { return open("203.0.113.7").StatusCode == 200 })
}

// TestLogHasClientAddressOnDemand: the log line of a request contains the client's address only if the operator has
// enabled LogClientAddress.
func TestLogHasClientAddressOnDemand(t *testing.T) {
	for _, wanted := range []bool{false, true} {
		h := newHouse(t, func(o *web.Options) {
			o.LogClientAddress = wanted
			o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
		})
		h.do("GET", "/v1/clinic", nil, from("198.51.100.77")).want(200)
		if got := strings.Contains(h.log.String(), `"client":"198.51.100.77"`); got != wanted {
			t.Errorf("LogClientAddress %v: the log contains the address: %v\n%s", wanted, got, h.log.String())
		}
	}
}
