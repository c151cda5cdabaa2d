package web_test

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"holdfast/web"
)

// listening is an open stream.
type listening struct {
	lines *bufio.Scanner
	close func()
}

// listen opens a stream and reads it up to the connected frame.
func (h *house) listen(path string, as header) *listening {
	h.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	q, err := http.NewRequestWithContext(ctx, "GET", h.server.URL+path, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	for name, value := range as {
		q.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(q)
	if err != nil || answer.StatusCode != http.StatusOK {
		h.t.Fatalf("%s: %v, %v", path, answer, err)
	}
	l := &listening{bufio.NewScanner(answer.Body), func() { cancel(); answer.Body.Close() }}
	for l.lines.Scan() {
		if strings.Contains(l.lines.Text(), `"connected"`) {
			return l
		}
	}
	h.t.Fatalf("%s ended before connected", path)
	return nil
}

// end reads the stream to its end and returns the last line that is not empty.
func (l *listening) end() (last string) {
	for l.lines.Scan() {
		if s := l.lines.Text(); s != "" {
			last = s
		}
	}
	return last
}

// TestRevokedCredentialEndsStreams: the streams of a revoked credential end immediately, with a reason. No other
// streams end. The periodic check, which would end them a moment later, does not run here.
func TestRevokedCredentialEndsStreams(t *testing.T) {
	user := func(h *house, email string) string {
		for _, one := range h.do("GET", "/v1/users", nil, asAdmin).want(200).body["users"].([]any) {
			if u := one.(map[string]any); u["email"] == email {
				return "/v1/users/" + u["id"].(string)
			}
		}
		h.t.Fatalf("no user %s", email)
		return ""
	}
	desk, ada := "desk@clinic.example", "ada@clinic.example"
	for name, c := range map[string]struct {
		path   string
		as     func(*house) header
		revoke func(*house, header)
	}{
		"signed out": {"/v1/staff/stream", func(h *house) header { return h.signedIn(desk, "reception", "") },
			func(h *house, as header) { h.do("POST", "/v1/auth/sign-out", nil, as).want(200) }},
		"switched off": {"/v1/staff/stream", func(h *house) header { return h.signedIn(desk, "reception", "") },
			func(h *house, _ header) {
				h.do("PATCH", user(h, desk), map[string]any{"active": false}, asAdmin).want(200)
			}},
		"another role": {"/v1/presence/stream", func(h *house) header { return h.signedIn(desk, "owner", "") },
			func(h *house, _ header) {
				h.do("PATCH", user(h, desk), map[string]any{"role": "reception"}, asAdmin).want(200)
			}},
		"another password": {"/v1/staff/stream", func(h *house) header { return h.signedIn(desk, "reception", "") },
			func(h *house, _ header) {
				h.do("PATCH", user(h, desk), map[string]any{"password": "some other words"}, asAdmin).want(200)
			}},
		"specialist deactivated": {"/v1/presence/stream", func(h *house) header {
			return h.signedIn(ada, "specialist", "ada")
		},
			func(h *house, _ header) {
				h.do("PATCH", "/v1/specialists/ada", map[string]any{"active": false}, asAdmin).want(200)
			}},
		"key revoked": {"/v1/presence/stream", func(h *house) header { return h.key("presence") },
			func(h *house, _ header) {
				for _, one := range h.do("GET", "/v1/api-keys", nil, asAdmin).want(200).body["apiKeys"].([]any) {
					if k := one.(map[string]any); k["scope"] == "presence" {
						h.do("DELETE", "/v1/api-keys/"+k["id"].(string), nil, asAdmin).want(200)
					}
				}
			}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t, web.NeverSweep)
			as := c.as(h)
			other := h.listen(c.path, h.signedIn("other@clinic.example", "owner", ""))
			defer other.close()
			bootstrap := h.listen("/v1/staff/stream", asAdmin)
			defer bootstrap.close()
			stream := h.listen(c.path, as)
			defer stream.close()
			c.revoke(h, as)
			begun := time.Now()
			// otherwise the stream is open until its credential expires
			late := time.AfterFunc(time.Minute, stream.close)
			defer late.Stop()
			if last, took := stream.end(), time.Since(begun); !strings.Contains(last,
				`"type":"end","reason":"unknown"`) {
				t.Errorf("the stream ended after %v with %q, want the reason unknown immediately", took, last)
			} else {
				t.Logf("ended after %s", took.Round(time.Millisecond))
			}
			if n := h.do("GET", "/v1/debug/storage", nil, asAdmin).want(200).get("stats", "streams"); n != 2.0 {
				t.Errorf("%v streams remain, want those of the two other keys", n)
			}
		})
	}
}
