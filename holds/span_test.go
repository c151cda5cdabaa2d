package holds_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"holdfast/holds"
)

var nine = time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)

func minutes(n int) time.Duration { return time.Duration(n) * time.Minute }

// span returns a span of ada's time in minutes from nine, with its buffers.
func span(kind string, start, end, before, after, seat int) holds.Span {
	return holds.Span{
		AppointmentTypeID: kind, SpecialistID: "ada", Seat: seat,
		SlotStart: nine.Add(minutes(start)), SlotEnd: nine.Add(minutes(end)),
		BusyStart: nine.Add(minutes(start - before)), BusyEnd: nine.Add(minutes(end + after)),
	}
}

// TestConflictsKeepsLargerBuffer compares Conflicts with the wording of the guarantee: the gap between two appointments
// for a specialist is at least the larger of the after-buffer of the first and the before-buffer of the second.
func TestConflictsKeepsLargerBuffer(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	random := func() (s holds.Span, start, end, before, after int) {
		start, before, after = 5*rnd.IntN(24), 5*rnd.IntN(4), 5*rnd.IntN(4)
		end = start + 5 + 5*rnd.IntN(6)
		return span("checkup", start, end, before, after, 0), start, end, before, after
	}
	for range 20_000 {
		one, start1, end1, before1, after1 := random()
		two, start2, end2, before2, after2 := random()
		fits := start2-end1 >= max(after1, before2) || start1-end2 >= max(after2, before1)
		if one.Conflicts(&two) == fits {
			t.Fatalf("%+v and %+v: Conflicts is %t, but the guarantee accepts both: %t", one, two, !fits, fits)
		}
		if one.Conflicts(&two) != two.Conflicts(&one) {
			t.Fatalf("%+v and %+v: the relation is not symmetric", one, two)
		}
		other := two
		other.SpecialistID = "ben"
		if one.Conflicts(&other) {
			t.Fatalf("%+v and %+v conflict although the specialists differ", one, other)
		}
	}
}

// TestConflictsAllowsSeatsOfOneSession: only two different seats of the same session can overlap.
func TestConflictsAllowsSeatsOfOneSession(t *testing.T) {
	t.Parallel()
	class := span("class", 0, 60, 10, 10, 0)
	for _, c := range []struct {
		name     string
		other    holds.Span
		conflict bool
	}{
		{"another seat", span("class", 0, 60, 10, 10, 1), false},
		{"the same seat", span("class", 0, 60, 10, 10, 0), true},
		{"a seat of another type", span("choir", 0, 60, 10, 10, 1), true},
		{"a seat of a later session", span("class", 30, 90, 10, 10, 1), true},
		{"a seat of a longer session", span("class", 0, 90, 10, 10, 1), true},
	} {
		if got := class.Conflicts(&c.other); got != c.conflict {
			t.Errorf("%s: conflict %t, want %t", c.name, got, c.conflict)
		}
	}
}

// TestExcludesComparesResources: two holds for different specialists exclude each other if they take the same room at
// conflicting times. A room has no seats.
func TestExcludesComparesResources(t *testing.T) {
	t.Parallel()
	one := holds.Hold{Span: span("class", 0, 60, 0, 15, 0), Resources: holds.IDsOf([]string{"room-1", "laser"})}
	for _, c := range []struct {
		name      string
		start     int
		seat      int
		resources []string
		excludes  bool
	}{
		{"another room", 0, 0, []string{"room-2"}, false},
		{"no room", 0, 0, nil, false},
		{"the same room", 0, 0, []string{"room-2", "laser"}, true},
		{"the same room and another seat", 0, 1, []string{"room-1"}, true},
		{"the same room within the buffer", 70, 0, []string{"room-1"}, true},
		{"the same room after the buffer", 75, 0, []string{"room-1"}, false},
	} {
		two := holds.Hold{Span: span("class", c.start, c.start+60, 0, 15, c.seat), Resources: holds.IDsOf(c.resources)}
		two.SpecialistID = "ben"
		if one.Excludes(&two) != c.excludes || two.Excludes(&one) != c.excludes {
			t.Errorf("%s: got %t and %t, want %t", c.name, one.Excludes(&two), two.Excludes(&one), c.excludes)
		}
	}
}

// TestClaimIsUnmeetableWithoutChoice: a claim cannot succeed without a seat, or with a group that has no free resource.
func TestClaimIsUnmeetableWithoutChoice(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		claim holds.Claim
		want  bool
	}{
		{"a seat", holds.Claim{Seats: []int{0}}, false},
		{"no seat", holds.Claim{Needs: [][]string{{"room-1"}}}, true},
		{"a room of each group", holds.Claim{Seats: []int{0}, Needs: [][]string{{"room-1"}, {"laser"}}}, false},
		{"no room of one group", holds.Claim{Seats: []int{0}, Needs: [][]string{{"room-1"}, nil}}, true},
	} {
		if got := c.claim.Unmeetable(); got != c.want {
			t.Errorf("%s: got %t, want %t", c.name, got, c.want)
		}
	}
}
