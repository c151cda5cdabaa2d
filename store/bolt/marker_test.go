package bolt_test

import (
	"path/filepath"
	"testing"

	"holdfast/store/bolt"
)

// TestMarkerSurvivesReopen also checks that a new file has no marker.
func TestMarkerSurvivesReopen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "queue.bolt")
	q := open(t, bolt.Options{Path: path})
	if got, err := q.Marker(t.Context()); err != nil || got != (bolt.Marker{}) {
		t.Errorf("a new file: got %+v, %v; want no marker", got, err)
	}
	want := bolt.Marker{DatabaseID: "harbour", Change: 41}
	for range 2 {
		want.Change++
		if err := q.SetMarker(t.Context(), want); err != nil {
			t.Fatal(err)
		}
	}
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := open(t, bolt.Options{Path: path}).Marker(t.Context()); err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
}
