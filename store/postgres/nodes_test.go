package postgres

import (
	"errors"
	"testing"
	"time"
)

// TestNodesReportOthers checks that Nodes reports other nodes, and that all nodes agree on their signing key.
func TestNodesReportOthers(t *testing.T) {
	o := Options{URL: migrated(t), Live: "postgres", Timeout: 2 * time.Second}
	want := func(what string, s *Store, others, before bool) {
		t.Helper()
		if gotOthers, gotBefore, err := s.Nodes(t.Context()); err != nil || gotOthers != others || gotBefore != before {
			t.Errorf("%s: got others %v, before %v, %v; want %v, %v", what, gotOthers, gotBefore, err, others, before)
		}
	}
	first := mustOpen(t, o)
	want("one node", first, false, false)
	second := mustOpen(t, o)
	want("the first of two", first, true, false)
	want("the second", second, true, true)

	agree := func(s *Store, chosen string, refuse error) (known string, others bool) {
		t.Helper()
		err := s.AgreeOnKeys(t.Context(), func(k string, o bool) (string, error) {
			known, others = k, o
			return chosen, refuse
		})
		if !errors.Is(err, refuse) {
			t.Errorf("got %v, want %v", err, refuse)
		}
		return known, others
	}
	if known, others := agree(first, "one", nil); known != "" || !others {
		t.Errorf("at first: got %q, %v", known, others)
	}
	no := errors.New("no")
	for range 2 {
		if known, others := agree(second, "two", no); known != "one" || !others {
			t.Errorf("at the second node: got %q, %v; want one, as at the first", known, others)
		}
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if known, others := agree(second, "two", nil); known != "one" || others {
		t.Errorf("alone: got %q, %v", known, others)
	}
	want("when the first has gone", second, false, false)
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestClosedNodeIsGone: once Close has returned, other nodes no longer see the node.
func TestClosedNodeIsGone(t *testing.T) {
	o := Options{URL: migrated(t), Live: "postgres"}
	stays := mustOpen(t, o)
	for n := range 20 {
		if err := mustOpen(t, o).Close(); err != nil {
			t.Fatal(err)
		}
		if others, _, err := stays.Nodes(t.Context()); err != nil || others {
			t.Fatalf("after closing node %d: others are running: %t, %v", n, others, err)
		}
	}
}
