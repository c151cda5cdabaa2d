package web

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// TestPanicDoesNotBlockPublication: a panic while the files are being built does not affect later callers.
func TestPanicDoesNotBlockPublication(t *testing.T) {
	t.Parallel()
	var k bulk
	func() {
		defer func() {
			if recover() == nil {
				t.Error("Go's HTTP server did not receive the panic")
			}
		}()
		_, _ = k.ready(t.Context(), "", func(context.Context, *bulkFiles) (*bulkFiles, error) { panic("broken") })
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	refused := errors.New("refused")
	if _, err := k.ready(ctx, "", func(context.Context, *bulkFiles) (*bulkFiles, error) {
		return nil, refused
	}); !errors.Is(err, refused) {
		t.Fatalf("after a panic: %v", err)
	}
	want := &bulkFiles{made: time.Now()}
	if got, err := k.ready(ctx, "", func(context.Context, *bulkFiles) (*bulkFiles, error) {
		return want, nil
	}); err != nil || got != want {
		t.Errorf("the files are %v, %v", got, err)
	}
}

// TestSmartSchedulingPublishesNearestSlots: if more slots are free than the server publishes, it publishes the next
// days of every type.
func TestSmartSchedulingPublishesNearestSlots(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC)
	free := nearest{most: 6}
	for _, schedule := range []string{"a", "b", "c"} {
		for day := range 14 {
			free.add(freeSlot{schedule: schedule, start: from.AddDate(0, 0, day)})
		}
	}
	free.cut()
	var got strings.Builder
	for _, f := range free.all {
		got.WriteString(f.schedule + f.start.Format("02 "))
	}
	if want := "a23 b23 c23 a24 b24 c24 "; got.String() != want {
		t.Errorf("the published files are %s, want %s", got.String(), want)
	}
}

// TestSmartSchedulingCompressesOnce: if the address is known only from requests, a file is written and compressed once
// per address, and only a few addresses are cached.
func TestSmartSchedulingCompressesOnce(t *testing.T) {
	t.Parallel()
	all := &bulkFiles{files: map[string]*bulkFile{"slots.ndjson": packed([]byte(bulkBase + "/?type=checkup"))}}
	first := all.of("slots.ndjson", "https://a.example")
	if string(first.text) != "https://a.example/?type=checkup" || len(first.packed) == 0 {
		t.Errorf("the file is %s", first.text)
	}
	for range 5 {
		if other := all.of("slots.ndjson", "https://b.example"); other.tag == first.tag {
			t.Error("two addresses have the same ETag")
		}
		if all.of("slots.ndjson", "https://a.example") != first {
			t.Error("the file was generated again")
		}
	}
	for _, host := range []string{"c", "d", "e"} {
		all.of("slots.ndjson", "https://"+host+".example")
	}
	if len(all.hosts) != bulkHosts {
		t.Errorf("the files of %d addresses are stored", len(all.hosts))
	}
}
