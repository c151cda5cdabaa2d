package store_test

import (
	"testing"
	"time"

	"holdfast/store"
)

// TestErasureKeepsMessagesToOthers checks that an unsent message about several appointments is kept if one of them
// belongs to another person.
func TestErasureKeepsMessagesToOthers(t *testing.T) {
	t.Parallel()
	traces := store.TracesOf(store.Person{})
	traces.Add("mine", "")
	for _, tc := range []struct {
		what, payload string
		kind          store.OperationKind
		finished      time.Time
		erased        bool
	}{
		{"an email to a family", `{"appointments":["mine","theirs"]}`, store.Email, time.Time{}, false},
		{"a text message to a family", `{"appointments":["mine","theirs"]}`, store.SMS, time.Time{}, false},
		{"a text message about one's own series", `{"appointments":["mine"]}`, store.SMS, time.Time{}, true},
		{"a text message about one appointment", `{}`, store.SMS, time.Time{}, true},
		{"a text message that was sent", `{"appointments":["mine","theirs"]}`, store.SMS, time.Now(), true},
	} {
		op := store.Operation{Kind: tc.kind, AppointmentID: "mine", Payload: []byte(tc.payload),
			FinishedAt: tc.finished}
		if got := traces.InOperation(&op); got != tc.erased {
			t.Errorf("%s: erased is %t, want %t", tc.what, got, tc.erased)
		}
	}
}
