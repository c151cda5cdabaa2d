package redis

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/holds"
	"holdfast/holds/holdstest"
	"holdfast/holds/redis/redistest"
)

// These tests cover how several nodes on one Redis interact.

var (
	amal = holds.ClientID("client-amal-7c1f0a52d9").Owner()
	bela = holds.ClientID("client-bela-03be8842a6").Owner()
	noon = time.Date(2030, 5, 6, 12, 0, 0, 0, time.UTC)
)

// wish returns a claim for half an hour from noon, with a TTL that is longer than a test on a busy machine.
func wish(specialistID string, owner holds.Owner) holds.Claim {
	end := noon.Add(30 * time.Minute)
	return holds.Claim{
		Span: holds.Span{AppointmentTypeID: "checkup", SpecialistID: specialistID, SlotStart: noon, SlotEnd: end,
			BusyStart: noon, BusyEnd: end},
		Owner: owner, Seats: []int{0}, TTL: 10 * time.Minute, MaxLife: time.Hour,
	}
}

// each runs a test against every server that is installed.
func each(t *testing.T, test func(t *testing.T, s *redistest.Server)) {
	for _, program := range redistest.Programs(t) {
		t.Run(program, func(t *testing.T) { test(t, redistest.Start(t, program)) })
	}
}

func watch(t *testing.T, b holds.Backend) holds.Watch {
	t.Helper()
	w, err := b.Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}

// cut waits until a watch reports that it might have missed events.
func cut(t *testing.T, w holds.Watch) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	if got, err := w.Next(ctx, nil); !errors.Is(err, holds.ErrSlow) {
		t.Fatalf("got %d events, %v, want ErrSlow: events may have been lost", len(got), err)
	}
}

// next returns the next n events of a watch.
func next(t *testing.T, w holds.Watch, n int) (got []holds.Event) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	for len(got) < n {
		batch, err := w.Next(ctx, nil)
		if err != nil {
			t.Fatalf("got %d events and %v, want %d", len(got), err, n)
		}
		got = append(got, batch...)
	}
	return got
}

// TestNodes runs the multi-node suite against every shared backend.
func TestNodes(t *testing.T) {
	for _, program := range redistest.Programs(t) {
		t.Run(program, func(t *testing.T) {
			holdstest.RunNodes(t, holdstest.Nodes{Server: func(t testing.TB) func(func(holds.Hold) bool) holds.Backend {
				s := redistest.Start(t, program)
				return func(booked func(holds.Hold) bool) holds.Backend { return open(t, s, Options{Booked: booked}) }
			}})
		})
	}
}

// TestNothingSecretIsInRedis reads every key and value: they identify a client only by its owner.
func TestNothingSecretIsInRedis(t *testing.T) {
	each(t, func(t *testing.T, s *redistest.Server) {
		const secret = holds.ClientID("client-canary-5d0c88aa41")
		b := open(t, s, Options{})
		ctx := t.Context()
		if _, err := b.Claim(ctx, wish("ada", secret.Owner())); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Select(ctx, secret.Owner(), wish("bob", amal).Span); err != nil {
			t.Fatal(err)
		}
		keys, err := b.client.Keys(ctx, "*").Result()
		if err != nil || len(keys) < 8 {
			t.Fatal(keys, err)
		}
		for _, key := range keys {
			value, err := b.client.Dump(ctx, key).Result()
			if err != nil || strings.Contains(key+value, string(secret)) {
				t.Errorf("%s: it contains the client id, or %v", key, err)
			}
			left, err := b.client.PTTL(ctx, key).Result()
			lapses := strings.HasPrefix(key, "hold:") || strings.HasPrefix(key, "hold-id:") ||
				strings.HasSuffix(key, ":selection")
			if err != nil || lapses && left <= 0 {
				t.Errorf("%s: time to live %v, %v, want one", key, left, err)
			}
		}
		if !slices.Contains(keys, "hold:checkup:2030-05-06T12:00:00Z:ada") ||
			!slices.Contains(keys, "selection:2030-05-06:bob:12:00") {
			t.Errorf("got keys %q, want those in the package comment", keys)
		}
	})
}

func TestServerReportsHealth(t *testing.T) {
	each(t, func(t *testing.T, s *redistest.Server) {
		b := open(t, s, Options{})
		for _, owner := range []holds.Owner{amal, bela} { // the second owner finds the key of the first
			_, _ = b.Claim(t.Context(), wish("ada", owner))
		}
		if _, err := b.client.Get(t.Context(), deadlinesKey+"?").Result(); err == nil { // a miss
			t.Fatal("Get found a key that does not exist")
		}
		got, err := b.Server(t.Context())
		if err != nil || got.UsedMemory < 100_000 || got.ConnectedClients < 2 || got.HitRate <= 0 || got.HitRate >= 1 {
			t.Errorf("got %+v, %v, want some memory, at least two connections, hits and misses", got, err)
		}
	})
}
