package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// OperationKind says what an operation calls.
type OperationKind string

const (
	UpstreamBook       OperationKind = "upstream.book"
	UpstreamCancel     OperationKind = "upstream.cancel"
	UpstreamReschedule OperationKind = "upstream.reschedule"
	UpstreamComment    OperationKind = "upstream.comment"
	Webhook            OperationKind = "webhook"
	Email              OperationKind = "email"
)

// OperationStatus is the state of an operation: pending → processing → completed, or back to pending, or failed.
type OperationStatus string

const (
	OperationPending    OperationStatus = "pending"
	OperationProcessing OperationStatus = "processing"
	OperationCompleted  OperationStatus = "completed"
	OperationFailed     OperationStatus = "failed"
)

// Final reports whether nothing more happens by itself.
func (s OperationStatus) Final() bool { return s == OperationCompleted || s == OperationFailed }

// Kinds are those there are.
func Kinds() []OperationKind {
	return []OperationKind{UpstreamBook, UpstreamCancel, UpstreamReschedule, UpstreamComment, Webhook, Email}
}

// Operation is one outbound call that must arrive once.
type Operation struct {
	ID            string // "op-<unix ms>-<6 of a-z0-9>"
	Kind          OperationKind
	AppointmentID string // empty for a notice about nothing in particular
	Status        OperationStatus
	NeedsReview   bool // failed, and only a person can say whether the call took effect
	// Unknown: the last attempt was sent and its outcome never arrived. The next one asks before it repeats.
	Unknown       bool
	Attempts      int
	Lookups       int // failed attempts to find out an unknown outcome
	MaxAttempts   int
	CreatedAt     time.Time
	NextAttemptAt time.Time // due then; meaningful while pending
	AttemptedAt   time.Time // when the last attempt began, recorded before anything was sent
	FinishedAt    time.Time
	Deadline      time.Time // no attempt begins after it; zero = none
	StartTime     time.Time // the appointment's slot start, for people to recognise it
	LastError     string    // in words; never personal data or secrets
	Result        string    // the remote server's name for it, such as an appointment GUID
	// Payload is one JSON value, or empty. It is kept as a value: its spacing and the order of its keys may change.
	Payload json.RawMessage
}

// Validate returns nil if every queue can keep op, else an error that wraps ErrInvalid and names the field: the id and
// the appointment id are ids (the latter may be empty), the kind is 1 to 64 characters of [a-z0-9._-], the status is
// one of the four, the payload is empty or one JSON value.
func (op Operation) Validate() error {
	switch {
	case !operationID(op.ID):
		return fmt.Errorf("%w: the operation's id must be 1 to 64 characters of [A-Za-z0-9_-]", ErrInvalid)
	case op.AppointmentID != "" && !operationID(op.AppointmentID):
		return fmt.Errorf("%w: operation %s: the appointment's id must be 1 to 64 characters of [A-Za-z0-9_-]", ErrInvalid, op.ID)
	case !within(string(op.Kind), "abcdefghijklmnopqrstuvwxyz0123456789._-"):
		return fmt.Errorf("%w: operation %s: the kind must be 1 to 64 characters of [a-z0-9._-]", ErrInvalid, op.ID)
	case op.Status != OperationPending && op.Status != OperationProcessing && !op.Status.Final():
		return fmt.Errorf("%w: operation %s: the status must be pending, processing, completed or failed", ErrInvalid, op.ID)
	case len(op.Payload) > 0 && !json.Valid(op.Payload):
		return fmt.Errorf("%w: operation %s: the payload is not one JSON value", ErrInvalid, op.ID)
	}
	return nil
}

// Scheduled reports whether op is a mail for an instant that has not come, such as a reminder: nothing is late or stuck about
// it. An email that is being retried is not.
func (op Operation) Scheduled(now time.Time) bool {
	return op.Kind == Email && op.Status == OperationPending && op.AttemptedAt.IsZero() && op.NextAttemptAt.After(now)
}

func operationID(s string) bool {
	return within(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
}

// within reports whether s is 1 to 64 bytes, all of them among those allowed.
func within(s, allowed string) bool {
	return s != "" && len(s) <= 64 && strings.Trim(s, allowed) == ""
}

// Backoff returns how long to wait after the given failed attempt (1 for the first): min(300 s, base·2^attempt), the
// practice-management system's published retry rule. A base of 10 s gives 20, 40, 80, 160, 300, 300 … seconds.
func Backoff(base time.Duration, attempt int) time.Duration {
	const limit = 300 * time.Second
	d := base
	for range attempt {
		if d *= 2; d >= limit {
			return limit
		}
	}
	return min(d, limit)
}

// OperationFilter selects operations; the zero value selects all.
type OperationFilter struct {
	Status        OperationStatus
	AppointmentID string
	Kinds         []OperationKind // none: all
	Due           time.Time       // leaves out what is Scheduled for after it; zero: leaves out nothing
	After         string          // id of the last one already seen
	Limit         int             // 1..500; 0 means 100, more than 500 means 500
}

// OperationCounts is how many operations are in each state.
type OperationCounts struct {
	Pending, Processing, Completed, Failed int
}

// Activity is one line of an operation's story.
type Activity struct {
	At          time.Time
	OperationID string
	Event       string // added, attempted, retried, completed, failed, recovered, changed, removed, erased
	Detail      string // in words; never personal data
}

// Queue is the durable list of operations. It is safe for concurrent use. Every change is durable when the call
// returns. It is never the only copy of an unfinished operation: the outbox has it too.
//
// ctx bounds the wait for a turn only, as in Store.Write: a change that has begun is waited for, so an operation taken
// is never lost to a caller who gave up. Every change may also return ErrOverloaded, ErrFull, ErrUnavailable or
// ErrClosed; the last two are all that reading adds to what its method names.
type Queue interface {
	// Add stores operations, all or none. One whose id is already there is left as it is, so adding is idempotent.
	// ErrInvalid if one does not pass Validate.
	Add(ctx context.Context, ops ...Operation) error

	// Take moves the pending operation with the earliest NextAttemptAt ≤ now among kinds (all if none are given) to
	// processing, adds one to Attempts, sets AttemptedAt to now, and returns it. Of those due at the same instant the
	// lowest id comes first. Of concurrent callers each gets another one. ErrNotFound if none is due.
	Take(ctx context.Context, now time.Time, kinds ...OperationKind) (Operation, error)

	// Change replaces the operation with op's id, in any state. ErrNotFound; ErrInvalid if op does not pass Validate. In a queue
	// that several nodes share, ErrVersion if another node attempts it now: it is that node's to change.
	Change(ctx context.Context, op Operation, event, detail string) error

	// Operation returns one. ErrNotFound.
	Operation(ctx context.Context, id string) (Operation, error)

	// Operations lists by id, byte by byte. With Kinds or Due it looks at 5,000 at most, and the list may be short.
	Operations(ctx context.Context, f OperationFilter) ([]Operation, error)

	// Counts counts the operations of these kinds, all if none are given. It is answered without reading them: its cost does
	// not grow with their number.
	Counts(ctx context.Context, kinds ...OperationKind) (OperationCounts, error)

	// Scheduled is how many operations are Scheduled for after now. It reads their keys, and those due within the hour.
	Scheduled(ctx context.Context, now time.Time) (int, error)

	// NextDue returns the earliest NextAttemptAt of all pending operations of these kinds (all if none are given).
	// ErrNotFound if there are none. Its cost does not grow with their number.
	NextDue(ctx context.Context, kinds ...OperationKind) (time.Time, error)

	// Recover moves every processing operation back to pending with Unknown set, due at once, and says how many. It
	// is called once at start, before the first Take.
	Recover(ctx context.Context, now time.Time) (int, error)

	// Remove deletes one; idempotent. Its activity stays.
	Remove(ctx context.Context, id string) error

	// Prune removes completed operations finished before the instant, with their activity, and says how many. The
	// activity of operations removed before the instant goes too, unless their id was added again.
	Prune(ctx context.Context, before time.Time) (int, error)

	// Erase empties the payload of these operations in any state, for good: no later Change brings it back. Unknown ids
	// are passed over. A queue in a file of its own also overwrites in it what was replaced or deleted earlier.
	Erase(ctx context.Context, ids ...string) error

	// Activity lists what happened to one operation, oldest first; nothing for an unknown id. Add, Take, Recover, Remove
	// and Erase write "added", "attempted", "recovered", "removed" and "erased" themselves, Change what it is given.
	Activity(ctx context.Context, id string) ([]Activity, error)

	// Ping answers nil if the queue can be read; Close waits for writes already accepted.
	Ping(ctx context.Context) error
	Close() error
}
