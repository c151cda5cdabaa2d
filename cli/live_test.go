package cli

import (
	"errors"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"holdfast/holds"
	"holdfast/holds/redis"
	"holdfast/holds/redis/redistest"
)

// TestServeWithRedis: the server holds a time in Redis, keeps the hold during an outage of Redis, and returns to Redis
// with the hold.
func TestServeWithRedis(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Programs(t)[0])
	const adminKey = "an-admin-key-of-the-tests-0001"
	_, base, stop, ended := served(t, clinicDir(t), "--redis", s.URL(), "--admin-key", adminKey)
	beside, err := redis.Open(redis.Options{URL: s.URL()})
	if err != nil {
		t.Fatal(err)
	}
	defer beside.Close()

	status, body := get(t, base+"/v1/appointment-types/checkup/next-available", "")
	starts := regexp.MustCompile(`"start":"([^"]+)"`).FindStringSubmatch(body)
	if starts == nil {
		t.Fatalf("no slot: %d %s", status, body)
	}
	hold := func(client string) int {
		t.Helper()
		status, _ := posted(t, base+"/v1/holds", map[string]any{
			"appointmentTypeId": "checkup", "slotStartDate": starts[1], "clientId": client, "ttlSeconds": 60,
		}, nil)
		return status
	}
	poll := func(want ...string) {
		t.Helper()
		_, body := get(t, base+"/v1/slots/poll?appointmentTypeId=checkup&date="+starts[1][:10]+
			"&clientId=a-polling-client-0001", "")
		contains(t, "poll", body, want...)
	}
	mode := func(want string) {
		t.Helper()
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for deadline := time.After(10 * time.Minute); ; {
			status, body := get(t, base+"/readyz", "")
			if status != http.StatusOK {
				t.Fatalf("readyz: got %d %s, want ready", status, body)
			}
			if strings.Contains(body, `"storageMode":"`+want+`"`) {
				return
			}
			select {
			case <-tick.C:
			case <-deadline:
				t.Fatalf("got %s, want mode %s", body, want)
			}
		}
	}
	held := func() []holds.Hold {
		t.Helper()
		for deadline := time.Now().Add(5 * time.Minute); ; {
			list, err := beside.List(t.Context())
			if err == nil {
				return list
			}
			// a call has a short time limit, and the machine may be busy
			if !errors.Is(err, holds.ErrUnavailable) || time.Now().After(deadline) {
				t.Fatal(err)
			}
		}
	}

	mode("redis")
	if status := hold("a-holding-client-0001"); status != http.StatusCreated {
		t.Fatalf("hold: got %d, want 201", status)
	}
	first := held()
	if len(first) != 1 || first[0].Owner != holds.ClientID("a-holding-client-0001").Owner() {
		t.Fatalf("in Redis: got %+v, want the hold", first)
	}
	poll(`"redisStatus":"available"`, `"storageMode":"redis"`, `"redisEnabled":true`)

	_, body = get(t, base+"/v1/debug/storage", adminKey)
	contains(t, "debug page", body, `"usedMemory":`, `"connectedClients":`, `"hitRate":`, `"holds":1`)
	_, body = get(t, base+"/metrics", adminKey)
	contains(t, "metrics", body, `holdfast_storage_mode{mode="redis"} 1`, `holdfast_storage_mode{mode="fallback"} 0`)

	s.Kill()
	if status := hold("a-holding-client-0001"); status >= 300 {
		t.Errorf("without Redis, for its own client: got %d, want the hold", status)
	}
	mode("fallback")
	poll(`"redisStatus":"unavailable"`, `"storageMode":"fallback"`, `"redisEnabled":true`)

	s.Restart()
	mode("redis")
	if again := held(); len(again) != 1 || again[0].ID != first[0].ID {
		t.Errorf("in the Redis that returned empty: got %+v, want hold %s", again, first[0].ID)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("got %v, want nil", err)
	}
}

// TestRedisRefusesSecondDatabase: a server with a different database may not use the same Redis. The error contains the
// action to take.
func TestRedisRefusesSecondDatabase(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Programs(t)[0])
	_, _, stop, ended := served(t, clinicDir(t), "--redis", s.URL())
	cfg, _, err := resolved(t, nil, "--data", clinicDir(t), "--redis", s.URL())
	if err != nil {
		t.Fatal(err)
	}
	open := func() error {
		h, err := openHouse(t.Context(), cfg, houseOptions{version: "test", log: slog.New(slog.DiscardHandler)})
		if err == nil {
			err = h.close()
		}
		return err
	}
	// On a busy machine, the server can start without Redis and use it a moment later.
	eventually(t, "the second server is refused", func() bool { err = open(); return err != nil })
	var taken *redis.LeaseError
	if !errors.As(err, &taken) || !strings.Contains(err.Error(), "--redis") ||
		!strings.Contains(err.Error(), "one database") {
		t.Errorf("got %v, want an error with a solution", err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := open(); err != nil {
		t.Errorf("after the first has stopped: got %v", err)
	}
}

// TestServeStartsWithoutRedis: the server is ready even though Redis is unreachable.
func TestServeStartsWithoutRedis(t *testing.T) {
	t.Parallel()
	_, base, _, _ := served(t, clinicDir(t), "--redis", "unix:///nowhere/there.sock")
	status, body := get(t, base+"/readyz", "")
	if status != http.StatusOK {
		t.Errorf("got %d %s, want ready", status, body)
	}
	contains(t, "readyz", body, `"storageMode":"fallback"`)
}
