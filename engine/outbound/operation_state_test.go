package outbound

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"holdfast/store"
)

// TestAdvance checks an operation's state machine, row by row: the effect of each outcome on an operation that is being
// processed.
func TestAdvance(t *testing.T) {
	now := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	rules := Limits{}.WithDefaults()
	taken := store.Operation{ID: "op-1-a", Status: store.OperationProcessing, Attempts: 3, MaxAttempts: 10, NextAttemptAt: now.Add(-time.Minute)}
	pending, completed, failed := store.OperationPending, store.OperationCompleted, store.OperationFailed
	for name, test := range map[string]struct {
		change   func(*store.Operation)
		outcome  Outcome
		status   store.OperationStatus
		attempts int
		next     time.Duration // from now; relevant only while pending
		unknown  bool
		review   bool
	}{
		"delivered":                      {nil, Outcome{End: Delivered}, completed, 3, 0, false, false},
		"nothing left to do":             {nil, Outcome{End: NotNeeded}, completed, 3, 0, false, false},
		"refused":                        {nil, Outcome{End: Refused}, failed, 3, 0, false, false},
		"again, the third time":          {nil, Outcome{End: Retryable}, pending, 3, 80 * time.Second, false, false},
		"again, the ninth time":          {func(o *store.Operation) { o.Attempts = 9 }, Outcome{End: Retryable}, pending, 9, 300 * time.Second, false, false},
		"again, the last time":           {func(o *store.Operation) { o.Attempts = 10 }, Outcome{End: Retryable}, failed, 10, 0, false, false},
		"again, near the deadline":       {func(o *store.Operation) { o.Deadline = now.Add(time.Minute) }, Outcome{End: Retryable}, pending, 3, time.Minute, false, false},
		"unknown":                        {nil, Outcome{End: Unknown}, pending, 3, 90 * time.Second, true, false},
		"unknown, the last time":         {func(o *store.Operation) { o.Attempts = 10 }, Outcome{End: Unknown}, pending, 10, 90 * time.Second, true, false},
		"unseen once":                    {func(o *store.Operation) { o.Unknown = true }, Outcome{End: LookupFailed}, pending, 2, 20 * time.Second, true, false},
		"unseen three times":             {func(o *store.Operation) { o.Unknown, o.Lookups = true, 2 }, Outcome{End: LookupFailed}, failed, 2, 0, true, true},
		"cannot be found out":            {nil, Outcome{End: Undecided}, failed, 3, 0, false, true},
		"unreachable":                    {nil, Outcome{End: Unreachable}, pending, 2, -time.Minute, false, false},
		"not its turn":                   {nil, Outcome{End: Deferred, At: now.Add(time.Second)}, pending, 2, time.Second, false, false},
		"not its turn for a second":      {nil, Outcome{End: Deferred, Wait: time.Second}, pending, 2, time.Second, false, false},
		"known after all":                {func(o *store.Operation) { o.Unknown, o.NeedsReview = true, true }, Outcome{End: Delivered}, completed, 3, 0, false, false},
		"not there after all, and again": {func(o *store.Operation) { o.Unknown = true }, Outcome{End: Retryable}, pending, 3, 80 * time.Second, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			op := taken
			if test.change != nil {
				test.change(&op)
			}
			got, _ := advance(op, test.outcome, now, rules)
			if got.Status != test.status || got.Attempts != test.attempts || got.Unknown != test.unknown || got.NeedsReview != test.review {
				t.Errorf("got %s, %d attempts, unknown %v, review %v; want %s, %d, %v, %v",
					got.Status, got.Attempts, got.Unknown, got.NeedsReview, test.status, test.attempts, test.unknown, test.review)
			}
			if got.Status == pending && !got.NextAttemptAt.Equal(now.Add(test.next)) {
				t.Errorf("due %s from now, want %s", got.NextAttemptAt.Sub(now), test.next)
			}
			if got.Status.Final() != !got.FinishedAt.IsZero() {
				t.Errorf("%s with the end %s", got.Status, got.FinishedAt)
			}
		})
	}
}

// TestOperationIDs: ids have the documented form, are never issued twice, and follow the clock when it is set back. Ids
// from the same instant sort in the order in which they were created.
func TestOperationIDs(t *testing.T) {
	shape := regexp.MustCompile(`^op-[0-9]{13}-[0-9a-z]{6}$`)
	var ids operationIDs
	at := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	made := make(map[string]bool)
	last := ""
	for n := range 5000 {
		if n%1000 == 999 {
			at, last = at.Add(-time.Second), ""
		}
		id := ids.Next(at)
		if !shape.MatchString(id) || !strings.HasPrefix(id, idsFrom(at)+"-") {
			t.Fatalf("got %q, want op-<unix ms of %s>-<6 of a-z0-9>", id, at)
		}
		if made[id] || id <= last {
			t.Fatalf("got %q after %q, want a new, greater id", id, last)
		}
		made[id], last = true, id
	}
}

// TestNotesNameTheChild: a note about a child begins with the child's name.
func TestNotesNameTheChild(t *testing.T) {
	for note, want := range map[string]string{
		"Child: Mia Roe": "Mia Roe", "Child: Mia Roe | DOB: 02/03/2015": "Mia Roe", "child: Ben": "Ben", "rings twice": "", "": "",
	} {
		if got := ChildOf(note); got != want {
			t.Errorf("%q is about %q, want %q", note, got, want)
		}
	}
}
