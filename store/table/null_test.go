package table

import (
	"slices"
	"strings"
	"testing"
)

// TestZeroValuesAreNull checks which columns store a zero value as NULL. Otherwise a zero instant would be a date
// before all others, and an empty reference would refer to a missing row.
func TestZeroValuesAreNull(t *testing.T) {
	for _, test := range []struct{ noun, got, want string }{
		{"appointments", nulls(appointments), "arrived_at cancelled_at recall_at"},
		{"api_keys", nulls(apiKeys), "last_used_at revoked_at"},
		{"audit_entries", nulls(auditEntries), "after before"},
		{"booking_requests", nulls(requests), "wanted_start"},
		{"busy_calendars", nulls(busyCalendars), "asked_at read_at"},
		{"clinic", nulls(clinics), "settings"},
		{"outbox", nulls(outbox), "attempted_at created_at deadline finished_at next_attempt_at payload start_time"},
		{"presence", nulls(presence), "last_heartbeat_at last_offline_at last_online_at"},
		{"sessions", nulls(sessions), "accepted_at ended_at expires_at specialist_id"},
		{"undo_states", nulls(undoStates), ""},
		{"users", nulls(users), "last_sign_in_at specialist_id"},
		{"waitlist_entries", nulls(waitlistEntries), "ended_at"},
		{"waitlist_offers", nulls(waitlistOffers), "ended_at"},
	} {
		if test.got != test.want {
			t.Errorf("columns of %s that are NULL: got %q, want %q", test.noun, test.got, test.want)
		}
	}
}

// nulls returns the columns of the zero value that are NULL.
func nulls[T any](n *noun[T]) string {
	var names []string
	var zero T
	for i, v := range n.values(&zero) {
		if v == nil {
			names = append(names, n.columns[i].name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}
