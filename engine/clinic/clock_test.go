package clinic_test

import (
	"testing"
	"time"

	"holdfast/engine/clinic"
)

func TestDoubledHourShowsZone(t *testing.T) {
	for _, c := range []struct{ zone, at, want string }{
		{"Europe/Berlin", "2026-10-24T23:30:00Z", "01:30"},
		{"Europe/Berlin", "2026-10-25T00:00:00Z", "02:00 CEST"},
		{"Europe/Berlin", "2026-10-25T00:30:00Z", "02:30 CEST"},
		{"Europe/Berlin", "2026-10-25T01:00:00Z", "02:00 CET"},
		{"Europe/Berlin", "2026-10-25T01:59:00Z", "02:59 CET"},
		{"Europe/Berlin", "2026-10-25T02:00:00Z", "03:00"},
		{"Europe/Berlin", "2026-03-29T00:59:00Z", "01:59"},
		{"Europe/Berlin", "2026-03-29T01:00:00Z", "03:00"},
		{"America/New_York", "2026-11-01T05:30:00Z", "01:30 EDT"},
		{"America/New_York", "2026-11-01T06:30:00Z", "01:30 EST"},
		{"Australia/Lord_Howe", "2026-04-04T14:45:00Z", "01:45 +11"},
		{"Australia/Lord_Howe", "2026-04-04T15:15:00Z", "01:45 +1030"},
		{"Australia/Lord_Howe", "2026-04-04T15:45:00Z", "02:15"},
		{"UTC", "2026-10-25T01:00:00Z", "01:00"},
	} {
		zone, err := time.LoadLocation(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		at, err := time.Parse(time.RFC3339, c.at)
		if err != nil {
			t.Fatal(err)
		}
		if got := clinic.Clock(at.In(zone)); got != c.want {
			t.Errorf("%s in %s is %q, want %q", c.at, c.zone, got, c.want)
		}
	}
}
