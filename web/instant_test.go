package web

import (
	"testing"
	"time"
)

func TestAppendInstant(t *testing.T) {
	for _, at := range []time.Time{
		time.Unix(0, 0), time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC), time.Date(2000, 2, 29, 23, 59, 59, 999e6, time.UTC),
		time.Date(1969, 12, 31, 23, 59, 58, 1e6, time.UTC), time.Date(2200, 3, 1, 0, 0, 0, 5e6, time.UTC), time.Date(1600, 1, 1, 0, 0, 0, 0, time.UTC),
	} {
		if got, want := string(appendInstant(nil, at)), at.UTC().Format(time.RFC3339); got != want {
			t.Errorf("instant: got %s, want %s", got, want)
		}
		if got, want := string(appendInstantMilli(nil, at)), at.UTC().Format("2006-01-02T15:04:05.000Z"); got != want {
			t.Errorf("with milliseconds: got %s, want %s", got, want)
		}
	}
	for day := time.Date(1890, 1, 1, 0, 0, 0, 0, time.UTC); day.Year() < 2110; day = day.AddDate(0, 0, 1) {
		if got, want := string(appendInstant(nil, day)), day.Format(time.RFC3339); got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	}
}
