package postgres

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"holdfast/store"
	"holdfast/store/postgres/postgrestest"
	"holdfast/store/storetest"
)

// TestACrashOfTheServerLosesNothingAcknowledged: PostgreSQL dies and comes back while two nodes book. Who was answered has the
// appointment, once; who was told that nothing was written has none and books again; and no hand is needed.
func TestACrashOfTheServerLosesNothingAcknowledged(t *testing.T) {
	if cluster == nil {
		t.Skip("SKIPPED:", absent)
	}
	server, err := postgrestest.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	all := nodes(t, 2, Options{URL: server.Create(t), Timeout: 2 * time.Second})
	over := make(chan struct{})
	var mu sync.Mutex
	acknowledged, unknown, refused := map[string]store.Appointment{}, 0, 0
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-over:
					return
				default:
				}
				a := booking(fmt.Sprintf("s%d", worker%4), (worker/4*100_000+i)*30, (worker/4*100_000+i+1)*30)
				err := insert(all[worker%2], a)
				mu.Lock()
				switch {
				case err == nil:
					acknowledged[a.ID] = a
				case !errors.Is(err, store.ErrUnavailable):
					t.Errorf("worker %d: %v", worker, err)
				default:
					refused++
					if isUnknown(err) {
						unknown++
					}
				}
				mu.Unlock()
			}
		})
	}
	known := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(acknowledged)
	}
	for crash := range 3 {
		for before, began := known(), time.Now(); known() < before+50; {
			if time.Since(began) > 30*time.Second {
				t.Fatalf("crash %d: nothing is booked any more", crash)
			}
			if err := all[0].Ping(t.Context()); err != nil && !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("Ping: %v", err)
			}
		}
		server.Crash()
		if err := server.Run(); err != nil {
			t.Fatal(err)
		}
	}
	for before, began := known(), time.Now(); known() < before+50 && time.Since(began) < 30*time.Second; {
		_ = all[1].Ping(t.Context())
	}
	close(over)
	wg.Wait()
	for id := range acknowledged {
		if !has(t, all[0], id) {
			t.Errorf("%s was acknowledged and is not there", id)
		}
	}
	n, err := one(t.Context(), all[0].reads, (*row).int, `SELECT count(*) FROM appointments`)
	if err != nil || n < len(acknowledged) || n > len(acknowledged)+unknown {
		t.Errorf("%d appointments, %v; %d were acknowledged and of %d nobody knew", n, err, len(acknowledged), unknown)
	}
	t.Logf("%d acknowledged, %d refused, %d of them unknown", len(acknowledged), refused, unknown)
	for _, s := range all {
		await(t, s, max(all[0].LastChange(), all[1].LastChange()))
		if err := s.Check(t.Context()); err != nil {
			t.Error(err)
		}
	}
	for _, s := range all {
		storetest.Verify(t, s) // before the server goes
	}
}
