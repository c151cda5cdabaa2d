package availability

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"holdfast/store"
)

// The expected assignments are in testdata/assign/vectors.json, along with the hash for each case, as defined by
// FNV-1a's authors.

func TestAssignVectors(t *testing.T) {
	raw, err := os.ReadFile("../../testdata/assign/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors struct {
		About string
		Cases []struct {
			Name              string
			AppointmentTypeID string
			Start             time.Time
			Candidates        []struct {
				SpecialistID string
				Priority     int
			}
			Hashed string // the string that is hashed
			FNV1a  string // eight hexadecimal digits
			Want   string // empty means no specialist
		}
	}
	if err := json.Unmarshal(raw, &vectors); err != nil {
		t.Fatal(err)
	}
	for _, c := range vectors.Cases {
		t.Run(c.Name, func(t *testing.T) {
			if got := c.AppointmentTypeID + ":" + c.Start.UTC().Format(time.RFC3339); got != c.Hashed {
				t.Errorf("the hashed text is %q, want %q", got, c.Hashed)
			}
			if got := fmt.Sprintf("%08x", assignHash(c.AppointmentTypeID, c.Start)); got != c.FNV1a {
				t.Errorf("hash %s, want %s", got, c.FNV1a)
			}
			var candidates []store.Assignment
			for _, a := range c.Candidates {
				candidates = append(candidates, store.Assignment{SpecialistID: a.SpecialistID, Priority: a.Priority})
			}
			got, ok := Assign(c.AppointmentTypeID, c.Start, candidates)
			if got != c.Want || ok != (c.Want != "") {
				t.Errorf("assigned %q, %v, want %q", got, ok, c.Want)
			}
		})
	}
	if len(vectors.Cases) < 15 {
		t.Errorf("%d vectors, want at least 15", len(vectors.Cases))
	}
}

func TestAssignPicksTheHighestPriorityInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		candidates := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) store.Assignment {
			return store.Assignment{
				SpecialistID: rapid.StringMatching(`[A-Za-z0-9_-]{1,8}`).Draw(t, "id"),
				Priority:     rapid.SampledFrom([]int{-1 << 63, -5, 0, 10, 1<<63 - 1}).Draw(t, "priority"),
			}
		}), 1, 8, func(a store.Assignment) string { return a.SpecialistID }).Draw(t, "candidates")
		start := time.Unix(60*rapid.Int64Range(0, 1<<26).Draw(t, "start"), 0)

		before := slices.Clone(candidates)
		got, ok := Assign("checkup", start, candidates)
		if !slices.Equal(candidates, before) {
			t.Fatalf("the candidates changed: %v", candidates)
		}
		other, _ := Assign("checkup", start.In(time.FixedZone("", 19800)),
			rapid.Permutation(candidates).Draw(t, "order"))
		if !ok || got != other {
			t.Fatalf("assigned %q, but %q in another order", got, other)
		}
		for _, c := range candidates {
			picked := candidates[slices.IndexFunc(candidates, func(a store.Assignment) bool {
				return a.SpecialistID == got
			})]
			if c.Priority > picked.Priority {
				t.Fatalf("assigned %v although %v has a higher priority", picked, c)
			}
		}
	})
}

// Specialists of equal priority share the day: over a month of half-hour start times, each of three specialists gets at
// least a quarter.
func TestAssignSpreadsOverEquals(t *testing.T) {
	candidates := []store.Assignment{{SpecialistID: "ada"}, {SpecialistID: "bob"}, {SpecialistID: "cleo"}}
	counts := make(map[string]int)
	start, n := time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC), 30*48
	for i := range n {
		id, _ := Assign("checkup", start.Add(time.Duration(i)*30*time.Minute), candidates)
		counts[id]++
	}
	for _, c := range candidates {
		if counts[c.SpecialistID] < n/4 {
			t.Errorf("%s is assigned %d of %d starts, want at least a quarter: %v", c.SpecialistID,
				counts[c.SpecialistID], n, counts)
		}
	}
}
