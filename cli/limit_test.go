package cli

import (
	"bytes"
	"log/slog"
	"math"
	"strings"
	"testing"
)

// TestStreamsLeaveDescriptorsForBookings: descriptors stay free for bookings, however high or low the limit of the
// process is.
func TestStreamsLeaveDescriptorsForBookings(t *testing.T) {
	t.Parallel()
	for files, want := range map[uint64]int{0: 1, 64: 1, 100: 36, 256: 192, 1024: 768, 20_000: 15_000,
		math.MaxUint64: 1_000_000} {
		if got := roomForStreams(files); got != want {
			t.Errorf("%d descriptors: got room for %d streams, want %d", files, got, want)
		}
	}
	const limit = 10
	if got := streamsWithin(limit); got != limit {
		t.Errorf("a limit below the maximum: got %d, want %d", got, limit)
	}
}

// TestDefaultsCauseNoWarning: a machine with the usual limit of descriptors supports fewer streams than the default,
// and the server does not warn about it.
func TestDefaultsCauseNoWarning(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args  []string
		room  int
		level string // empty: there is no message
		want  int
	}{
		"by default":              {nil, 15_000, "", 15_000},
		"by default, with room":   {nil, 20_000, "", 20_000},
		"by hand":                 {[]string{"--max-streams", "18000"}, 15_000, "WARN", 15_000},
		"by hand, with room":      {[]string{"--max-streams", "12000"}, 15_000, "", 12_000},
		"by hand, as the default": {[]string{"--max-streams", "20000"}, 15_000, "WARN", 15_000},
	} {
		cfg, _, err := resolved(t, nil, c.args...)
		if err != nil {
			t.Fatal(err)
		}
		var said bytes.Buffer
		cfg.fitStreams(slog.New(slog.NewTextHandler(&said, nil)), c.room)
		if got := strings.Contains(said.String(), "level="+c.level+" "); cfg.limits.Streams != c.want ||
			got != (c.level != "") || (c.level == "") != (said.Len() == 0) {
			t.Errorf("%s: got %d streams and %q, want %d and the level %q", name, cfg.limits.Streams, said.String(),
				c.want, c.level)
		}
	}
}
