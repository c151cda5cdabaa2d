package web_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// The figures of presence and polling, each beside a handler that does nothing and sends as many bytes:
//
//	go test ./web -run '^$' -bench 'Poll|Heartbeat|Available' -benchtime 1s

// benchPoll is a day of 20 specialists with a third of it booked, twelve slots held and twelve looked at; it returns what a
// page asks for and the tag it was given.
func benchPoll(b *testing.B) (url, tag string, size int) {
	b.Helper()
	server, day := benchHouse(b, 20), benchMonday()
	for i := range 12 {
		at := day.Add(time.Duration(i) * 30 * time.Minute).Format(time.RFC3339)
		for _, what := range []string{"/v1/holds", "/v1/slots/select"} {
			body := fmt.Sprintf(`{"appointmentTypeId":"checkup","slotStartDate":"%s","specialistId":"s%02d","clientId":"client-secret-%016d"}`, at, i, i)
			sendOnce(b, post(b, server.URL+what, body))
		}
		if i%3 == 0 {
			for s := range 20 {
				body := fmt.Sprintf(`{"slotStartDate":"%s","specialistId":"s%02d","clientId":"client-booking-%02d-%02d","patient":{"name":"P"}}`,
					day.Add(time.Duration(i+1)*30*time.Minute).Format(time.RFC3339), s, i, s)
				sendOnce(b, post(b, server.URL+"/v1/appointment-types/checkup/book", body))
			}
		}
	}
	url = server.URL + "/v1/slots/poll?appointmentTypeId=checkup&date=" + day.Format(time.DateOnly) + "&clientId=client-secret-of-a-visitor"
	answer, body := sendOnce(b, get(b, url))
	return url, answer.Header.Get("ETag"), len(body)
}

func sendOnce(b *testing.B, r *http.Request) (*http.Response, []byte) {
	b.Helper()
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode > 299 && answer.StatusCode != http.StatusConflict {
		b.Fatalf("%s: got %d, %v\n%s", r.URL.Path, answer.StatusCode, err, body)
	}
	return answer, body
}

func BenchmarkPollHTTP(b *testing.B) {
	url, _, _ := benchPoll(b)
	hammer(b, func(int64) *http.Request { return get(b, url) }, http.StatusOK)
}

func BenchmarkPollNoop(b *testing.B) {
	_, _, size := benchPoll(b)
	b.Logf("%d bytes", size)
	server := noop(b, "GET", size)
	hammer(b, func(int64) *http.Request { return get(b, server.URL+"/v1/slots/poll") }, http.StatusOK)
}

func BenchmarkPollUnchangedHTTP(b *testing.B) {
	url, tag, _ := benchPoll(b)
	hammer(b, func(int64) *http.Request {
		r := get(b, url)
		r.Header.Set("If-None-Match", tag)
		return r
	}, http.StatusNotModified)
}

func BenchmarkPollUnchangedNoop(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotModified) }))
	b.Cleanup(server.Close)
	hammer(b, func(int64) *http.Request {
		r := get(b, server.URL+"/v1/slots/poll")
		r.Header.Set("If-None-Match", `"0123456789abcdef"`)
		return r
	}, http.StatusNotModified)
}

func asKey(r *http.Request, key string) *http.Request {
	r.Header.Set("Authorization", key)
	return r
}

// presenceKey is an API key with the scope presence.
func presenceKey(b *testing.B, server *httptest.Server) string {
	b.Helper()
	_, body := sendOnce(b, asKey(post(b, server.URL+"/v1/api-keys", `{"name":"bench","scope":"presence"}`), "Bearer "+adminKey))
	var made struct{ Key string }
	if err := json.Unmarshal(body, &made); err != nil || made.Key == "" {
		b.Fatalf("no key, %v, in %s", err, body)
	}
	return "Bearer " + made.Key
}

func BenchmarkHeartbeatHTTP(b *testing.B) {
	server := benchHouse(b, 20)
	key := presenceKey(b, server)
	for i := range 20 {
		sendOnce(b, asKey(post(b, fmt.Sprintf("%s/v1/specialists/s%02d/online", server.URL, i), ""), key))
	}
	hammer(b, func(n int64) *http.Request {
		return asKey(post(b, fmt.Sprintf("%s/v1/specialists/s%02d/heartbeat", server.URL, n%20), ""), key)
	}, http.StatusOK)
}

func BenchmarkHeartbeatNoop(b *testing.B) {
	server := noop(b, "POST", len(`{"ok":true}`))
	hammer(b, func(n int64) *http.Request {
		return asKey(post(b, fmt.Sprintf("%s/v1/specialists/s%02d/heartbeat", server.URL, n%20), ""), "Bearer hfk_0123456789")
	}, http.StatusOK)
}
