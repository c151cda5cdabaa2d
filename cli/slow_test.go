package cli

import (
	"bufio"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/engine/enginetest"
	"holdfast/holds/redis/redistest"
)

// holdAt holds the n-th half hour after noon in two days. The hold lasts five minutes, so that it does not expire
// during a test on a busy machine. holdAt returns the hold's id if there is one. It repeats the request while the
// answer is 503, as a client does.
func holdAt(t *testing.T, base, client string, n int) (status int, id, body string) {
	t.Helper()
	status, body = insisted(t, base+"/v1/holds", map[string]any{
		"appointmentTypeId": "checkup", "clientId": client, "ttlSeconds": 300,
		"slotStartDate": enginetest.Noon(time.UTC, 2).Add(time.Duration(n) * 30 * time.Minute).Format(time.RFC3339),
	}, nil)
	var made struct {
		HoldID string
		Hold   struct{ HoldID, ID string }
	}
	if err := json.Unmarshal([]byte(body), &made); err != nil {
		t.Fatal(err)
	}
	return status, made.HoldID + made.Hold.HoldID + made.Hold.ID, body
}

// follow reads a node's stream for the type checkup until the test ends.
func follow(t *testing.T, base string) *transcript {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+
		"/v1/holds/stream?appointmentTypeId=checkup&clientId=a-client-that-only-looks", nil)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	said := &transcript{}
	over := make(chan struct{})
	go func() {
		defer close(over)
		for lines := bufio.NewScanner(reply.Body); lines.Scan(); {
			_, _ = said.Write(append(lines.Bytes(), '\n'))
		}
	}()
	t.Cleanup(func() {
		reply.Body.Close()
		<-over
	})
	eventually(t, "the stream is open", func() bool { return strings.Contains(said.String(), `"type":"connected"`) })
	return said
}

// TestSlowRedisDelaysNoHold runs two complete servers on one Redis. It delays every response from Redis by ten
// minutes, or loses the response even though Redis has executed the call. Clients get their responses long before Redis
// responds, and lose none of their holds. Pages on the other server show the holds, and no operator has to act.
func TestSlowRedisDelaysNoHold(t *testing.T) {
	t.Parallel() // it waits for separate processes
	const late = 10 * time.Minute
	redis := redistest.Start(t, redistest.Programs(t)[0])
	line := redis.Proxy(t)
	c := newNodesWith(t, 2, nil, "--redis", line.URL())
	a, b := c.all[0].base, c.all[1].base
	slot := 0
	for _, fault := range []struct {
		name        string
		strike, end func()
	}{
		{"late", func() { line.Delay(late) }, func() { line.Delay(0) }},
		{"lost", func() { line.Mute(true) }, func() { line.Mute(false) }},
	} {
		for _, base := range []string{a, b} {
			eventually(t, "it serves from Redis", func() bool { return storageModeOf(t, base) == "redis" })
		}
		there := follow(t, b)
		var waited []time.Duration
		timed := func(ask func() (int, string, string)) (int, string, string) {
			began := time.Now()
			status, id, body := ask()
			waited = append(waited, time.Since(began))
			return status, id, body
		}
		fault.strike()
		for n := range 4 {
			slot++
			client, other := fmt.Sprintf("a-slow-client-%s-%d", fault.name, n),
				fmt.Sprintf("another-client-%s-%d", fault.name, n)
			status, id, body := timed(func() (int, string, string) { return holdAt(t, a, client, slot) })
			if status != http.StatusCreated || id == "" {
				t.Fatalf("%s: hold %d: got %d %s", fault.name, n, status, body)
			}
			for _, base := range []string{a, b} {
				if status, again, body := timed(func() (int, string, string) {
					return holdAt(t, base, client, slot)
				}); status >= 300 || again != id {
					t.Errorf("%s: hold %d for its own client again: got %d %s, want %s", fault.name, n, status, body,
						id)
				}
				if status, _, body := timed(func() (int, string, string) {
					return holdAt(t, base, other, slot)
				}); status != http.StatusConflict {
					t.Errorf("%s: hold %d for another client: got %d %s, want 409", fault.name, n, status, body)
				}
			}
			eventually(t, "the stream of the other node tells of it", func() bool {
				return strings.Contains(there.String(), enginetest.Noon(time.UTC,
					2).Add(time.Duration(slot)*30*time.Minute).Format("2006-01-02T15:04:05"))
			})
			if n%2 == 0 {
				status, _, body := timed(func() (int, string, string) {
					status, body := bookAs(t, b, client, slot)
					return status, "", body
				})
				if status != http.StatusCreated {
					t.Errorf("%s: booking a held time: got %d %s", fault.name, status, body)
				}
			}
		}
		for _, base := range []string{a, b} {
			if got := storageModeOf(t, base); got != "fallback" {
				t.Errorf("%s: got storage mode %s, want fallback", fault.name, got)
			}
		}
		longest := slices.Max(waited)
		t.Logf("%s: of %d requests the longest took %v", fault.name, len(waited), longest)
		if longest >= late { // independent of the machine's speed
			t.Errorf("%s: the longest request took %v: it waited for Redis, which answers after %v", fault.name, longest, late)
		}
		fault.end()
		for _, base := range []string{a, b} {
			eventually(t, "it serves from Redis again", func() bool { return storageModeOf(t, base) == "redis" })
			if status, _, body := holdAt(t, base, "another-client-of-the-last", slot); status != http.StatusConflict {
				t.Errorf("%s: a time held in the meantime: got %d %s, want 409", fault.name, status, body)
			}
			if status, _, body := holdAt(t, base, fmt.Sprintf("a-slow-client-%s-3", fault.name), slot); status >= 300 {
				t.Errorf("%s: a time held in the meantime, for its client: got %d %s, want success", fault.name, status, body)
			}
		}
		if strings.Contains(there.String(), `"type":"end"`) {
			t.Errorf("%s: the stream ended: %s", fault.name, there)
		}
	}
}

// storageModeOf returns the mode of the live state that a node reports.
func storageModeOf(t *testing.T, base string) string {
	t.Helper()
	var ready struct{ StorageMode string }
	_, body := get(t, base+"/readyz", "")
	_ = json.Unmarshal([]byte(body), &ready)
	return ready.StorageMode
}

// bookAs books the n-th half hour after noon in two days for a client. It repeats the request while the answer is 503.
func bookAs(t *testing.T, base, client string, n int) (int, string) {
	t.Helper()
	return insisted(t, base+"/v1/appointment-types/checkup/book", map[string]any{
		"clientId": client, "slotStartDate": enginetest.Noon(time.UTC,
			2).Add(time.Duration(n) * 30 * time.Minute).Format(time.RFC3339),
		"patient": map[string]any{"name": "Jo Doe", "phone": "030 1234567"},
	}, map[string]string{"Idempotency-Key": rand.Text()})
}
