package web_test

import (
	"bufio"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestLongLeasesAreShortened: a request for more than an hour gets an hour. An invalid lease is refused.
func TestLongLeasesAreShortened(t *testing.T) {
	h := newHouse(t)
	for asked, want := range map[string]string{
		"60000": `"leaseMs":60000,`, "3600000": `"leaseMs":3600000,`, "3600001": `"leaseMs":3600000,`,
		"2147483647": `"leaseMs":3600000,`,
	} {
		answer, err := http.Get(h.server.URL + "/v1/holds/stream?appointmentTypeId=checkup&leaseMs=" + asked)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		lines := bufio.NewScanner(answer.Body)
		for lines.Scan() && !strings.Contains(lines.Text(), `"init"`) {
		}
		if answer.StatusCode != http.StatusOK || !strings.Contains(lines.Text(), want) {
			t.Errorf("leaseMs=%s: got %d %s, want %s", asked, answer.StatusCode, lines.Text(), want)
		}
	}
	for _, asked := range []string{"99", "-1", "an hour", "1.5"} {
		h.do("GET", "/v1/holds/stream?appointmentTypeId=checkup&leaseMs="+url.QueryEscape(asked), nil).problem(422,
			"validation_failed")
	}
}

// opens opens a stream and returns its status and its lines up to the connected frame.
func (h *house) opens(path string, headers ...header) (status int, lines []string) {
	h.t.Helper()
	q, err := http.NewRequest("GET", h.server.URL+path, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, set := range headers {
		for name, value := range set {
			q.Header.Set(name, value)
		}
	}
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		h.t.Fatal(err)
	}
	defer answer.Body.Close()
	read := bufio.NewScanner(answer.Body)
	for answer.StatusCode == http.StatusOK && read.Scan() {
		lines = append(lines, read.Text())
		if strings.Contains(read.Text(), `"connected"`) {
			break
		}
	}
	return answer.StatusCode, lines
}

// TestStreamTicketOpensOneStream: a ticket authorizes one stream for the client that requested it.
func TestStreamTicketOpensOneStream(t *testing.T) {
	h := newHouse(t)
	h.hold(1, "checkup", h.at(0), map[string]any{"specialistId": "ada"}).want(201)
	own := `"clientId":"` + client(1) + `"`
	for name, ask := range map[string]func() *reply{
		"header": func() *reply {
			return h.do("POST", "/v1/holds/stream-ticket", nil, header{"Holdfast-Client": client(1)})
		},
		"body": func() *reply {
			return h.do("POST", "/v1/holds/stream-ticket", map[string]any{"clientId": client(1)})
		},
	} {
		least := time.Now().Add(30*time.Second - time.Millisecond) // the response has whole milliseconds
		got := ask().want(201)
		if ends, err := time.Parse("2006-01-02T15:04:05.000Z", got.text("expiresAt")); err != nil ||
			ends.Before(least) || time.Until(ends) > 30*time.Second {
			t.Errorf("%s: the ticket expires at %s, want in 30 s", name, got.text("expiresAt"))
		}
		path := "/v1/holds/stream?appointmentTypeId=checkup&ticket=" + got.text("ticket")
		h.do("HEAD", path, nil).want(200) // does not use up the ticket
		if status, _ := h.opens(path, header{"Last-Event-ID": "replaced-1"}); status != 204 {
			t.Errorf("%s: a replaced stream that reconnects got %d, want 204", name, status)
		}
		if status, lines := h.opens(path); status != 200 || !strings.Contains(strings.Join(lines, "\n"), own) {
			t.Errorf("%s: the stream got %d and does not mark its client's hold: %q", name, status, lines)
		}
		h.do("GET", path, nil).problem(401, "unauthorized")
	}
	again := header{"Idempotency-Key": "one", "Holdfast-Client": client(1)}
	first, second := h.do("POST", "/v1/holds/stream-ticket", nil, again).want(201),
		h.do("POST", "/v1/holds/stream-ticket", nil, again).want(201)
	if first.text("ticket") == second.text("ticket") {
		t.Error("the same ticket was returned again")
	}
	for _, path := range []string{"/v1/holds/stream?appointmentTypeId=checkup&ticket=made-up",
		"/v1/holds/stream?appointmentTypeId=checkup&ticket=" + strings.Repeat("A", 9000)} {
		h.do("GET", path, nil).problem(401, "unauthorized")
	}
	both := "/v1/holds/stream?appointmentTypeId=checkup&clientId=" + client(1) + "&ticket=" + first.text("ticket")
	h.do("GET", both, nil).problem(422, "validation_failed").field("ticket")
	if status, _ := h.opens("/v1/staff/stream?ticket="+first.text("ticket"), asAdmin); status != 200 {
		t.Errorf("the desk's stream with a ticket got %d", status)
	}
	// a ticket is not a credential of staff
	h.do("GET", "/v1/staff/stream?ticket="+second.text("ticket"), nil).problem(401, "unauthorized")
	h.do("POST", "/v1/holds/stream-ticket", map[string]any{"clientId": "short"}).problem(422,
		"validation_failed").field("clientId")
	h.do("POST", "/v1/holds/stream-ticket", nil).problem(422, "validation_failed").field("clientId")
	if strings.Contains(h.log.String(), first.text("ticket")) || strings.Contains(h.log.String(), client(1)) {
		t.Error("the log contains a ticket or a client")
	}
}

// TestPagesKeepSecretsOutOfURLs: a page opens its stream with a ticket, and a search is a POST. Package deploy proves
// that the documented proxies do not log queries.
func TestPagesKeepSecretsOutOfURLs(t *testing.T) {
	query := regexp.MustCompile(`get\([^)]*(clientId: client|[{ ]q[,:])|URLSearchParams\([^)]*clientId|\?clientId=|[?&]q=`)
	err := filepath.WalkDir("ui", func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".js" {
			return err
		}
		text, err := os.ReadFile(path)
		if found := query.Find(text); found != nil {
			t.Errorf("%s has %q", path, found)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestSearchEqualsList: a search returns the same page of the same appointments as the list, without the search words
// in the address.
func TestSearchEqualsList(t *testing.T) {
	h := newHouse(t)
	for n := range 3 {
		h.book(n, "checkup", map[string]any{"slotStartDate": h.at(30 * n)}).want(201)
	}
	name := patient(1)["name"].(string)
	day := h.start.Format(time.DateOnly)
	for what, c := range map[string]struct {
		query url.Values
		body  map[string]any
	}{
		"a name": {url.Values{"q": {name}}, map[string]any{"q": name}},
		"a day": {url.Values{"from": {day}, "specialistId": {"ada"}},
			map[string]any{"from": day, "specialistId": "ada"}},
		"a page":  {url.Values{"limit": {"2"}}, map[string]any{"limit": 2}},
		"nothing": {nil, map[string]any{}},
	} {
		want, got := h.do("GET", "/v1/appointments?"+c.query.Encode(), nil, asAdmin).want(200),
			h.do("POST", "/v1/appointments/search", c.body, asAdmin).want(200)
		if got.raw != want.raw {
			t.Errorf("%s: the search returns %s, the list %s", what, got.raw, want.raw)
		}
	}
	if found := h.do("POST", "/v1/appointments/search", map[string]any{"q": name},
		asAdmin).want(200); strings.Count(found.raw, `"patient"`) != 1 {
		t.Errorf("one patient is found as %s", found.raw)
	}
	h.do("POST", "/v1/appointments/search", map[string]any{"q": name}).problem(401, "unauthorized")
	h.do("POST", "/v1/appointments/search", map[string]any{"q": strings.Repeat("x", 201)}, asAdmin).problem(422,
		"validation_failed").field("q")
	h.do("POST", "/v1/appointments/search", map[string]any{"limit": 501}, asAdmin).problem(422,
		"validation_failed").field("limit")
	h.do("GET", "/v1/appointments/search", nil, asAdmin).problem(404, "not_found")
	h.do("DELETE", "/v1/appointments/search", nil, asAdmin).problem(405, "method_not_allowed")
	if strings.Contains(h.log.String(), name) {
		t.Error("the log contains the words of a search")
	}
}
