package memory

import (
	"testing"

	"holdfast/holds"
)

func TestAWatcherThatKeepsUpCostsNoMemory(t *testing.T) {
	b := New(Options{})
	defer b.Close()
	w, err := b.Watch(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	buf := make([]holds.Event, 0, pageSize)
	perPage := testing.AllocsPerRun(20, func() {
		for range pageSize {
			if err := b.Publish(ctx, holds.Event{Kind: holds.EventCancel}); err != nil {
				t.Fatal(err)
			}
			if buf, err = w.Next(ctx, buf); err != nil || len(buf) != 1 {
				t.Fatalf("got %d events, %v, want 1", len(buf), err)
			}
		}
	})
	if pages := len(b.log.pages); perPage >= 1 || pages > 2 {
		t.Errorf("got %v allocations for %d events and %d pages, want none and at most 2", perPage, pageSize, pages)
	}
}

func TestASlowWatcherCostsNoMoreThanItsQueue(t *testing.T) {
	b := New(Options{WatchQueue: 1000})
	defer b.Close()
	w, err := b.Watch(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for range 10_000 {
		if err := b.Publish(ctx, holds.Event{Kind: holds.EventCancel}); err != nil {
			t.Fatal(err)
		}
	}
	if pages := len(b.log.pages) + len(b.log.spare); pages > 5 {
		t.Errorf("got %d pages, want at most four for the queue and one being written", pages)
	}
}

func TestAQueueIsAsLongAsAsked(t *testing.T) {
	b := New(Options{WatchQueue: 1000})
	defer b.Close()
	w, err := b.Watch(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for n := uint64(1); n <= 1000; n++ {
		if err := b.Publish(ctx, holds.Event{Kind: holds.EventCancel}); err != nil {
			t.Fatal(err)
		}
	}
	var buf []holds.Event
	for n := uint64(0); n < 1000; {
		if buf, err = w.Next(ctx, buf); err != nil {
			t.Fatalf("after %d events: got %v, want all 1000", n, err)
		}
		for _, e := range buf {
			if n++; e.Seq != n {
				t.Fatalf("got event %d, want %d", e.Seq, n)
			}
		}
	}
}
