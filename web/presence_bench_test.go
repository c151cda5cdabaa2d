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

// These benchmarks measure presence and polling; see bench_test.go.

// benchPoll prepares a day of 20 specialists with a third of it booked and twelve slots held. If looks is set, clients
// also select the slots. It returns the address that a page polls and the tag of its response. A selection expires
// after ten seconds, and the tag with it.
func benchPoll(b *testing.B, looks bool) (url, tag string, size int) {
	b.Helper()
	server, day := benchHouse(b, 20), benchMonday()
	for i := range 12 {
		at := day.Add(time.Duration(i) * 30 * time.Minute).Format(time.RFC3339)
		slot := fmt.Sprintf(`"appointmentTypeId":"checkup","slotStartDate":"%s","specialistId":"s%02d","clientId":"client-secret-%016d"}`, at, i, i)
		sendOnce(b, post(b, server.URL+"/v1/holds", `{"ttlSeconds":600,`+slot))
		if looks {
			sendOnce(b, post(b, server.URL+"/v1/slots/select", "{"+slot))
		}
		if i%3 == 0 {
			for s := range 20 {
				body := fmt.Sprintf(`{"slotStartDate":"%s","specialistId":"s%02d","clientId":"client-booking-%02d-%02d","patient":{"name":"P"}}`,
					day.Add(time.Duration(i+1)*30*time.Minute).Format(time.RFC3339), s, i, s)
				sendOnce(b, post(b, server.URL+"/v1/appointment-types/checkup/book", body))
			}
		}
	}
	url = server.URL + "/v1/slots/poll?appointmentTypeId=checkup&date=" + day.Format(time.DateOnly) +
		"&clientId=client-secret-of-a-visitor"
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
	b.Run("whole", func(b *testing.B) {
		url, _, size := benchPoll(b, true)
		peer := noop(b, "GET", size)
		versus(b, asked{func(int64) *http.Request { return get(b, url) }, http.StatusOK},
			asked{func(int64) *http.Request { return get(b, peer.URL+"/v1/slots/poll") }, http.StatusOK}, 4000)
	})
	b.Run("unchanged", func(b *testing.B) {
		url, tag, _ := benchPoll(b, false)
		peer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNotModified)
		}))
		defer peer.Close()
		poll := func(url string) asked {
			return asked{func(int64) *http.Request {
				r := get(b, url)
				r.Header.Set("If-None-Match", tag)
				return r
			}, http.StatusNotModified}
		}
		versus(b, poll(url), poll(peer.URL), 4000)
	})
}

func asKey(r *http.Request, key string) *http.Request {
	r.Header.Set("Authorization", key)
	return r
}

// presenceKey returns an API key with the presence scope.
func presenceKey(b *testing.B, server *httptest.Server) string {
	b.Helper()
	_, body := sendOnce(b, asKey(post(b, server.URL+"/v1/api-keys", `{"name":"bench","scope":"presence"}`), "Bearer "+
		adminKey))
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
	peer := noop(b, "POST", len(`{"ok":true}`))
	beat := func(url string) asked {
		return asked{func(n int64) *http.Request {
			return asKey(post(b, fmt.Sprintf("%s/v1/specialists/s%02d/heartbeat", url, n%20), ""), key)
		}, http.StatusOK}
	}
	versus(b, beat(server.URL), beat(peer.URL), 4000)
}
