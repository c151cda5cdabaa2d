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
	if got, err := q.Witness(t.Context()); err != nil || got != (bolt.Witness{}) {
		t.Errorf("a new file: got %+v, %v; want nothing", got, err)
	}
	want := bolt.Witness{DatabaseID: "harbour", Change: 41}
	for range 2 {
		want.Change++
		if err := q.SetWitness(t.Context(), want); err != nil {
			t.Fatal(err)
		}
	}
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := open(t, bolt.Options{Path: path}).Witness(t.Context()); err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
}
