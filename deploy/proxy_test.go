package deploy

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"

	"holdfast/engine/enginetest"
	"holdfast/web"
)

// journey is a visitor of a page behind a proxy.
type journey struct {
	t    *testing.T
	http *http.Client
	base string
}

// do sends a request, as a page of the clinic does. Headers are alternating names and values.
func (j journey) do(method, path, body string, headers ...string) *http.Response {
	j.t.Helper()
	ctx, cancel := context.WithCancel(j.t.Context())
	r, err := http.NewRequestWithContext(ctx, method, j.base+path, strings.NewReader(body))
	if err != nil {
		j.t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answers, failed := make(chan *http.Response, 1), make(chan error, 1)
	go func() {
		if answer, err := j.http.Do(r); err != nil {
			failed <- err
		} else {
			answers <- answer
		}
	}()
	select {
	case answer := <-answers:
		j.t.Cleanup(func() { cancel(); answer.Body.Close() })
		return answer
	case err := <-failed:
		j.t.Fatalf("%s %s: %v", method, path, err)
	case <-time.After(10 * time.Minute):
		j.t.Fatalf("%s %s: no answer within a minute", method, path)
	}
	cancel()
	return nil
}

// want is like do, but requires a response with this status and these words.
func (j journey) want(status int, words, method, path, body string, headers ...string) {
	j.t.Helper()
	answer := j.do(method, path, body, headers...)
	if answer.StatusCode != status {
		begins := make([]byte, 500) // the beginning of a stream, which has no end
		n, _ := answer.Body.Read(begins)
		j.t.Fatalf("%s %s: got %d %s, want %d", method, path, answer.StatusCode, begins[:n], status)
	}
	if text, err := io.ReadAll(answer.Body); err != nil || !strings.Contains(string(text), words) {
		j.t.Errorf("%s %s: got %.500s (%v), want %s", method, path, text, err, words)
	}
}

// streamed is a live stream.
type streamed struct {
	t     *testing.T
	lines chan string // closed at its end
	close func()
}

// stream opens a live stream, and reads it up to the connected frame.
func (j journey) stream(client string, headers ...string) *streamed {
	j.t.Helper()
	s, status := j.opening(client, headers...)
	if s == nil {
		j.t.Fatalf("the stream of %s got %d", client, status)
	}
	s.until(`"connected"`)
	return s
}

// opening returns the stream from its first byte, or nil if the status of the response is not 200.
func (j journey) opening(client string, headers ...string) (*streamed, int) {
	j.t.Helper()
	answer := j.do("GET", "/v1/holds/stream?appointmentTypeId=checkup&clientId="+client, "", headers...)
	if answer.StatusCode != http.StatusOK {
		return nil, answer.StatusCode
	}
	s := &streamed{j.t, make(chan string, 1000), func() { answer.Body.Close() }}
	go func() {
		defer close(s.lines)
		for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
			s.lines <- lines.Text()
		}
	}()
	return s, answer.StatusCode
}

// each yields every line until the stream ends, or until no line has arrived for the duration patience.
func (s *streamed) each(patience time.Duration) iter.Seq[string] {
	return func(yield func(string) bool) {
		for {
			select {
			case line, more := <-s.lines:
				if !more || !yield(line) {
					return
				}
			case <-time.After(patience):
				s.t.Errorf("the stream sent no event for %s", patience)
				return
			}
		}
	}
}

// until reads up to a line with these words.
func (s *streamed) until(words string) {
	s.t.Helper()
	for line := range s.each(time.Minute) {
		if strings.Contains(line, words) {
			return
		}
	}
	s.t.Fatalf("the stream did not send %s", words)
}

// unspeakable lists data that must not be in any log: a client, a key, the token and the name of a calendar, a search
// text.
var unspeakable = []string{"client-secret-", adminKey, "token-secret-1", "calendar-secret-1", "Winterbottom"}

// clientEnded matches the metrics of a server after one client has closed its stream.
var clientEnded = regexp.MustCompile(`(?m)^holdfast_streams_ended_total\{reason="client-[a-z]+"\} 1$`)

// TestBehindAProxy sends the typical requests of a clinic through each proxy in the manual.
func TestBehindAProxy(t *testing.T) {
	if l, err := net.Listen("tcp", "127.0.0.4:0"); err != nil {
		t.Skipf("SKIPPED: its visitors come from 127.0.0.2 to 127.0.0.4, which only Linux has: %v", err)
	} else {
		_ = l.Close()
	}
	for _, p := range proxies {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, func(o *web.Options) {
				o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
				o.RateLimit, o.Limits.StreamsPerAddress = true, 1
				o.Ping = time.Hour // the events arrive as they happen
			})
			to := strings.TrimPrefix(h.url, "http://")
			f := p.start(t, to)
			from := func(address string) journey { return journey{t, f.visitor(t, address), "https://" + proxiedName} }
			patient, other := from("127.0.0.2"), from("127.0.0.3")
			ownPage := []string{"Origin", "https://" + proxiedName}

			patient.want(200, "<html", "GET", "/", "")
			patient.want(200, "Harbour Clinic", "GET", "/v1/clinic", "")
			if v := patient.do("GET", "/", "").ProtoMajor; v != 2 {
				t.Errorf("it speaks HTTP/%d; browsers need 2 for many streams", v)
			}

			// Only the clinic's own pages may write. Links lead to the address that people use.
			slot := func(hours int) string {
				return enginetest.Noon(time.UTC, 2).Add(time.Duration(hours) * time.Hour).Format(time.RFC3339)
			}
			book := func(hours int) string {
				return fmt.Sprintf(`{"clientId":"client-secret-0001","slotStartDate":%q,"patient":{"name":"Jo Winterbottom","email":"jo@example.org"}}`, slot(hours))
			}
			patient.want(201, `"manageUrl":"https://`+proxiedName+`/manage#`, "POST",
				"/v1/appointment-types/checkup/book", book(0), ownPage...)
			patient.want(403, "another site", "POST", "/v1/appointment-types/checkup/book", book(1), "Origin",
				"https://evil.example")
			large := `{"no such field":"` + strings.Repeat("x", 2<<20) + `"}`
			patient.want(400, "is unknown", "POST", "/v1/import", large, "Authorization", "Bearer "+adminKey)
			patient.want(200, `"name":"holdfast"`, "POST", "/mcp",
				`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},`+
					`"clientInfo":{"name":"test","version":"1"}}}`, "Authorization", "Bearer "+adminKey, "Accept",
				"application/json, text/event-stream")

			// Events arrive immediately, while the stream is open.
			watching := patient.stream("client-secret-0002")
			other.want(201, "holdId", "POST", "/v1/holds",
				fmt.Sprintf(`{"appointmentTypeId":"checkup","clientId":"client-secret-0003","slotStartDate":%q}`,
					slot(2)), ownPage...)
			watching.until(`"type":"hold"`)

			// In this test, each address may have one stream. The address is the one that the proxy saw, whatever the
			// client claims.
			patient.want(429, "rate_limited", "GET", "/v1/holds/stream?appointmentTypeId=checkup", "",
				"X-Forwarded-For", "127.0.0.77", "Forwarded", "for=127.0.0.77")
			leaving := other.stream("client-secret-0003", "X-Forwarded-For", "127.0.0.2", "X-Real-Ip", "127.0.0.2")
			past := journey{t, &http.Client{Transport: &http.Transport{DialContext: (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP("127.0.0.4")}}).DialContext}}, h.url}
			past.stream("client-secret-0004", "X-Forwarded-For", "127.0.0.5")
			past.want(429, "rate_limited", "GET", "/v1/holds/stream?appointmentTypeId=checkup", "", "X-Forwarded-For",
				"127.0.0.6")

			// When a page is closed, its stream also ends on the server.
			leaving.close()
			for patience := time.After(10 * time.Minute); !clientEnded.MatchString(h.scrape()); {
				select {
				case <-time.After(20 * time.Millisecond): // between two checks
				case <-patience:
					t.Fatal("a minute after its page was closed, a stream is still open behind the proxy")
				}
			}

			for _, path := range []string{"/v1/appointments?q=Winterbottom",
				"/v1/calendars/calendar-secret-1.ics?token=token-secret-1", "/v1/clinic?clientId=client-secret-0006"} {
				patient.do("GET", path, "", "Authorization", "Bearer "+adminKey, "Holdfast-Client",
					"client-secret-0007", "Referer", "https://"+proxiedName+"/?clientId=client-secret-0008")
			}
			h.stop()
			watching.until(`"reason":"server-shutdown"`)
			for _, path := range []string{"/v1/calendars/calendar-secret-1.ics?token=token-secret-1",
				"/v1/clinic?clientId=client-secret-0009"} {
				if status := patient.do("GET", path, "", "Authorization", "Bearer "+adminKey, "Holdfast-Client",
					"client-secret-0010").StatusCode; status != http.StatusBadGateway {
					t.Errorf("without a server, the proxy answers %d, want 502", status)
				}
			}
			wrote := f.stop()
			if !strings.Contains(wrote, p.logged) {
				t.Errorf("its log does not contain %s", p.logged)
			}
			for _, secret := range unspeakable {
				if strings.Contains(wrote, secret) {
					t.Errorf("the proxy's log contains %s", secret)
				}
			}
		})
	}
}

// TestQuietStreamOutlivesProxyTimeout: without a booking, pings alone keep the stream open. The timeout of the proxy
// and the interval of the pings are fractions of the real ones.
func TestQuietStreamOutlivesProxyTimeout(t *testing.T) {
	const patience = 2 * time.Second
	for _, p := range proxies {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, func(o *web.Options) { o.Ping = patience / 16 })
			var brief []string
			if p.quiet != "" {
				brief = []string{p.quiet, p.brief}
			}
			f := p.start(t, strings.TrimPrefix(h.url, "http://"), brief...)
			patient := journey{t, f.visitor(t, "127.0.0.1"), "https://" + proxiedName}
			// The first response takes longest, and the proxy's time limit applies to it too.
			patient.do("GET", "/v1/clinic", "")
			for attempt := time.Now(); ; {
				s, status := patient.opening("client-secret-0001")
				if s == nil {
					if status != http.StatusGatewayTimeout || time.Since(attempt) > 10*time.Minute {
						t.Fatalf("the stream got %d", status)
					}
					continue
				}
				opened := time.Now()
				last, gap := opened, time.Duration(0)
				for line := range s.each(time.Minute) {
					if !strings.HasPrefix(line, "data: ") {
						continue
					}
					gap, last = time.Since(last), time.Now()
					if time.Since(opened) > patience+patience/2 {
						return
					}
				}
				// If the machine was so busy that the pings were late, the proxy was right to end the stream. The test
				// then repeats the attempt.
				if gap = max(gap, time.Since(last)); gap < patience/2 || time.Since(attempt) > 10*time.Minute {
					t.Fatalf("the stream ended %s after it was opened, with the last ping %s before", time.Since(opened),
						time.Since(last))
				}
			}
		})
	}
}
