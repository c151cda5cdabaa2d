package instant

import (
	"testing"
	"time"
)

func TestAppendMatchesFormat(t *testing.T) {
	for _, at := range []time.Time{
		time.Unix(0, 0), time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC),
		time.Date(2000, 2, 29, 23, 59, 59, 999e6, time.UTC), time.Date(1969, 12, 31, 23, 59, 58, 1e6, time.UTC),
		time.Date(2200, 3, 1, 0, 0, 0, 5e6, time.UTC), time.Date(1600, 1, 1, 0, 0, 0, 0, time.UTC),
	} {
		if got, want := string(Append(nil, at)), at.UTC().Format(time.RFC3339); got != want {
			t.Errorf("instant: got %s, want %s", got, want)
		}
		if got, want := string(AppendMilli(nil, at)), at.UTC().Format("2006-01-02T15:04:05.000Z"); got != want {
			t.Errorf("with milliseconds: got %s, want %s", got, want)
		}
	}
	for day := time.Date(1890, 1, 1, 0, 0, 0, 0, time.UTC); day.Year() < 2110; day = day.AddDate(0, 0, 1) {
		if got, want := string(Append(nil, day)), day.Format(time.RFC3339); got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	}
}

func TestAppendCopyWritesTheOtherInstantToo(t *testing.T) {
	first, second := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC), time.Date(2026, 11, 23, 9, 30, 0, 0, time.UTC)
	for _, c := range []struct {
		t    time.Time
		want string
	}{{first, "2026-11-23T09:00:00Z2026-11-23T09:00:00Z"}, {second, "2026-11-23T09:00:00Z2026-11-23T09:30:00Z"}} {
		if got := string(AppendCopy(Append(nil, first), c.t, first, 0)); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

func TestAppendClock(t *testing.T) {
	if got := string(AppendClock(nil, 9, 5)); got != "09:05" {
		t.Errorf("got %s, want 09:05", got)
	}
}
