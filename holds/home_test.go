package holds_test

import (
	"reflect"
	"testing"
	"time"

	"holdfast/holds"
)

// TestLocalKeepsRemainingTime: the server's clock is an hour ahead. Local converts every time to this process's clock,
// leaves zero times zero, and does not change the original snapshot.
func TestLocalKeepsRemainingTime(t *testing.T) {
	t.Parallel()
	asked := nine
	server := asked.Add(time.Hour)
	read := func() holds.Snapshot {
		return holds.Snapshot{
			At: server, Asked: asked,
			Holds: []holds.Remains{{
				Hold:     holds.Hold{ID: "1", ExpiresAt: server.Add(minutes(2)), MaxExpiresAt: server.Add(minutes(15))},
				LapsesAt: server.Add(minutes(1)),
			}},
			Selections: []holds.Selection{{ExpiresAt: server.Add(10 * time.Second)}},
			Present: []holds.Present{{SpecialistID: "ada", HeartbeatAt: server.Add(-time.Second)},
				{SpecialistID: "ben"}},
		}
	}
	from := read()
	to := from.Local()
	h := to.Holds[0]
	for _, c := range []struct {
		what string
		got  time.Time
		want time.Duration // from asked
	}{
		{"the snapshot", to.At, 0},
		{"the end of the hold", h.ExpiresAt, minutes(2)},
		{"its maximum", h.MaxExpiresAt, minutes(15)},
		{"its end without the pin", h.LapsesAt, minutes(1)},
		{"the end of the selection", to.Selections[0].ExpiresAt, 10 * time.Second},
		{"the heartbeat", to.Present[0].HeartbeatAt, -time.Second},
	} {
		if got := c.got.Sub(asked); got != c.want {
			t.Errorf("%s: got %s from now, want %s", c.what, got, c.want)
		}
	}
	if at := to.Present[1].HeartbeatAt; !at.IsZero() {
		t.Errorf("a specialist without a heartbeat has the heartbeat %s", at)
	}
	if !reflect.DeepEqual(from, read()) {
		t.Errorf("Local changed the original: %+v", from)
	}
}
