package broadcast

import (
	"errors"
	"testing"

	"holdfast/holds"
)

func TestFastWatcherCostsNoMemory(t *testing.T) {
	l := New(0)
	defer l.Close()
	w, err := l.Watch()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	buf := make([]holds.Event, 0, pageSize)
	perPage := testing.AllocsPerRun(20, func() {
		for range pageSize {
			l.Publish(&holds.Event{Kind: holds.EventCancel})
			if buf, err = w.Next(t.Context(), buf); err != nil || len(buf) != 1 {
				t.Fatalf("got %d events, %v, want 1", len(buf), err)
			}
		}
	})
	if pages := len(l.pages); perPage >= 1 || pages > 2 {
		t.Errorf("got %v allocations for %d events and %d pages, want none and at most 2", perPage, pageSize, pages)
	}
}

func TestSlowWatcherCostsOnlyItsQueue(t *testing.T) {
	l := New(1000)
	defer l.Close()
	w, err := l.Watch()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for range 10_000 {
		l.Publish(&holds.Event{Kind: holds.EventCancel})
	}
	if pages := len(l.pages) + len(l.spare); pages > 5 {
		t.Errorf("got %d pages, want at most four in the queue and one being written", pages)
	}
}

func TestQueueLengthIsConfigurable(t *testing.T) {
	l := New(1000)
	defer l.Close()
	w, err := l.Watch()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for n := uint64(1); n <= 1000; n++ {
		l.Publish(&holds.Event{Kind: holds.EventCancel})
	}
	var buf []holds.Event
	for n := uint64(0); n < 1000; {
		if buf, err = w.Next(t.Context(), buf); err != nil {
			t.Fatalf("after %d events: got %v, want all 1000", n, err)
		}
		for _, e := range buf {
			if n++; e.Seq != n {
				t.Fatalf("got event %d, want %d", e.Seq, n)
			}
		}
	}
}

func TestBreakEndsWatchesAndEpoch(t *testing.T) {
	l := New(0)
	defer l.Close()
	before := l.Epoch()
	w, err := l.Watch("ada")
	if err != nil {
		t.Fatal(err)
	}
	l.Publish(&holds.Event{Kind: holds.EventCancel, Span: holds.Span{SpecialistID: "ada"}})
	l.Break()
	if _, err := w.Next(t.Context(), nil); !errors.Is(err, holds.ErrSlow) {
		t.Errorf("got %v, want ErrSlow: events may have been lost", err)
	}
	w.Close()
	if l.Epoch() == before {
		t.Error("got the old epoch, want a new one: the numbers of two epochs cannot be compared")
	}
	again, err := l.Watch("ada")
	if err != nil {
		t.Fatal(err)
	}
	l.Publish(&holds.Event{Kind: holds.EventCancel, Span: holds.Span{SpecialistID: "ada"}})
	if got, err := again.Next(t.Context(), nil); err != nil || len(got) != 1 {
		t.Errorf("second watch: got %d events, %v, want 1", len(got), err)
	}
	again.Close()
	if n := l.Watching(); n != 0 || len(l.pages)+len(l.all)+len(l.about) > 0 {
		t.Errorf("got %d watches and %d pages, want none", n, len(l.pages))
	}
}
