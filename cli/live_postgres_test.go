package cli

import (
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"holdfast/holds"
	"holdfast/holds/postgres"
	"holdfast/holds/redis/redistest"
)

// inPostgres starts a server with the clinic of openClinic in a new PostgreSQL database. hold holds a time at the
// server, and beside is a second connection to the live state.
func inPostgres(t *testing.T, more ...string) (base string, hold func(client string) int, beside *postgres.Backend) {
	t.Helper()
	url := postgresURL(t)
	dir, clinic := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "clinic.json")
	writeJSON(t, clinic, openClinic(t))
	must(t, "import", "--data", dir, "--database", url, clinic)
	_, base, _, _ = served(t, dir, append([]string{"--database", url}, more...)...)
	beside, err := postgres.Open(t.Context(), postgres.Options{URL: url, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = beside.Close() })
	status, body := get(t, base+"/v1/appointment-types/checkup/next-available", "")
	starts := regexp.MustCompile(`"start":"([^"]+)"`).FindStringSubmatch(body)
	if starts == nil {
		t.Fatalf("no slot: %d %s", status, body)
	}
	return base, func(client string) int {
		t.Helper()
		status, _ := posted(t, base+"/v1/holds", map[string]any{
			"appointmentTypeId": "checkup", "slotStartDate": starts[1], "clientId": client, "ttlSeconds": 60,
		}, nil)
		return status
	}, beside
}

// storageMode waits until the server reports this mode of the live state.
func storageMode(t *testing.T, base, want string) {
	t.Helper()
	eventually(t, "storage mode "+want, func() bool {
		status, body := get(t, base+"/readyz", "")
		return status == http.StatusOK && strings.Contains(body, `"storageMode":"`+want+`"`)
	})
}

// TestHoldsAreInPostgresWithoutRedis: without Redis, the holds are in PostgreSQL, where another node can read them.
func TestHoldsAreInPostgresWithoutRedis(t *testing.T) {
	t.Parallel()
	base, hold, beside := inPostgres(t)
	storageMode(t, base, "postgres")
	if status := hold("a-holding-client-0001"); status != http.StatusCreated {
		t.Fatalf("hold: got %d, want 201", status)
	}
	list, err := beside.List(t.Context())
	if err != nil || len(list) != 1 || list[0].Owner != holds.ClientID("a-holding-client-0001").Owner() {
		t.Fatalf("in PostgreSQL: got %+v, %v, want the hold", list, err)
	}
	if ok, err := beside.Release(t.Context(), list[0].ID, list[0].Owner, holds.ReasonReleased); !ok || err != nil {
		t.Fatal(ok, err)
	}
	taken := holds.Claim{Span: list[0].Span, Owner: holds.ClientID("a-client-of-another-node").Owner(), Seats: []int{0},
		TTL: time.Minute, MaxLife: time.Minute}
	if _, err := beside.Claim(t.Context(), taken); err != nil {
		t.Fatal(err)
	}
	if status := hold("a-holding-client-0001"); status != http.StatusConflict {
		t.Errorf("a time that another node's client holds: got %d, want 409", status)
	}
	_, body := get(t, base+"/v1/slots/poll?appointmentTypeId=checkup&date="+list[0].SlotStart.Format(time.DateOnly)+
		"&clientId=a-polling-client-0001", "")
	contains(t, "poll", body, `"redisStatus":"disabled"`, `"storageMode":"postgres"`, `"redisEnabled":false`)
}

// TestHoldsAreInPostgresDuringRedisOutage: the holds move from Redis to PostgreSQL and back.
func TestHoldsAreInPostgresDuringRedisOutage(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Programs(t)[0])
	base, hold, beside := inPostgres(t, "--redis", s.URL())
	storageMode(t, base, "redis")
	if status := hold("a-holding-client-0001"); status != http.StatusCreated {
		t.Fatalf("hold: got %d, want 201", status)
	}
	if list, err := beside.List(t.Context()); err != nil || len(list) != 0 {
		t.Fatalf("in PostgreSQL, with Redis: got %+v, %v, want nothing", list, err)
	}
	s.Kill()
	if status := hold("another-client-00001"); status != http.StatusConflict {
		t.Errorf("without Redis, another client's time: got %d, want 409", status)
	}
	storageMode(t, base, "fallback")
	list, err := beside.List(t.Context())
	if err != nil || len(list) != 1 || list[0].Owner != holds.ClientID("a-holding-client-0001").Owner() {
		t.Errorf("in PostgreSQL, without Redis: got %+v, %v, want the hold", list, err)
	}
	s.Restart()
	storageMode(t, base, "redis")
	if status := hold("another-client-00001"); status != http.StatusConflict {
		t.Errorf("in the Redis that returned empty: got %d, want 409", status)
	}
}
