package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// OperationKind is the target of an operation.
type OperationKind string

const (
	UpstreamBook       OperationKind = "upstream.book"
	UpstreamCancel     OperationKind = "upstream.cancel"
	UpstreamReschedule OperationKind = "upstream.reschedule"
	UpstreamComment    OperationKind = "upstream.comment"
	Webhook            OperationKind = "webhook"
	Email              OperationKind = "email"
	SMS                OperationKind = "sms"
)

// OperationStatus is the state of an operation: pending → processing → completed, or back to pending, or failed.
type OperationStatus string

const (
	OperationPending    OperationStatus = "pending"
	OperationProcessing OperationStatus = "processing"
	OperationCompleted  OperationStatus = "completed"
	OperationFailed     OperationStatus = "failed"
)

// Final reports whether an operation remains in this state unless a person intervenes.
func (s OperationStatus) Final() bool { return s == OperationCompleted || s == OperationFailed }

// Kinds returns all kinds.
func Kinds() []OperationKind {
	return []OperationKind{UpstreamBook, UpstreamCancel, UpstreamReschedule, UpstreamComment, Webhook, Email, SMS}
}

// Operation is one outbound call that must be delivered once.
type Operation struct {
	ID            string // "op-<unix ms>-<6 of a-z0-9>"
	Kind          OperationKind
	AppointmentID string // empty for a notice that is not about a single appointment
	Status        OperationStatus
	NeedsReview   bool // failed, and a person must find out whether the call took effect
	// Unknown means that the last attempt was sent and its outcome never arrived. The next attempt looks up the outcome
	// before it repeats the call.
	Unknown       bool
	Attempts      int
	Lookups       int // failed attempts to look up an unknown outcome
	MaxAttempts   int
	CreatedAt     time.Time `column:",null"`
	NextAttemptAt time.Time `column:",null"` // when it is due; meaningful while pending
	AttemptedAt   time.Time `column:",null"` // when the last attempt began; recorded before the request was sent
	FinishedAt    time.Time `column:",null"`
	Deadline      time.Time `column:",null"` // no attempt begins after it; zero = none
	StartTime     time.Time `column:",null"` // the appointment's slot start, which helps a person recognize it
	LastError     string    // readable text; never personal data or secrets
	Result        string    // the remote server's id for the result, such as an appointment GUID
	// Payload is one JSON value, or empty. A queue may store the value in a different form: spaces and the order of
	// keys may change.
	Payload json.RawMessage
}

// Validate returns nil if every queue can store op. Otherwise it returns an error that wraps ErrInvalid and names the
// field. The id is 1 to 64 characters of [A-Za-z0-9_-], and so is the appointment id unless it is empty. The kind is 1
// to 64 characters of [a-z0-9._-], the status is one of the four, and the payload is empty or one JSON value.
func (op Operation) Validate() error {
	switch {
	case !operationID(op.ID):
		return fmt.Errorf("%w: the operation's id must be 1 to 64 characters of [A-Za-z0-9_-]", ErrInvalid)
	case op.AppointmentID != "" && !operationID(op.AppointmentID):
		return fmt.Errorf("%w: operation %s: the appointment's id must be 1 to 64 characters of [A-Za-z0-9_-]",
			ErrInvalid, op.ID)
	case !within(string(op.Kind), "abcdefghijklmnopqrstuvwxyz0123456789._-"):
		return fmt.Errorf("%w: operation %s: the kind must be 1 to 64 characters of [a-z0-9._-]", ErrInvalid, op.ID)
	case op.Status != OperationPending && op.Status != OperationProcessing && !op.Status.Final():
		return fmt.Errorf("%w: operation %s: the status must be pending, processing, completed or failed", ErrInvalid,
			op.ID)
	case len(op.Payload) > 0 && !json.Valid(op.Payload):
		return fmt.Errorf("%w: operation %s: the payload is not one JSON value", ErrInvalid, op.ID)
	}
	return nil
}

// Messages returns the kinds of operations that send a message to a person. Only these can be Scheduled.
func Messages() []OperationKind { return []OperationKind{Email, SMS} }

// IsMessage reports whether k is one of Messages.
func (k OperationKind) IsMessage() bool { return slices.Contains(Messages(), k) }

// Scheduled reports whether op is a message for a future instant, such as a reminder. Such an operation is neither
// late nor stuck. A message that is being retried is not Scheduled.
func (op Operation) Scheduled(now time.Time) bool {
	return op.Kind.IsMessage() && op.Status == OperationPending && op.AttemptedAt.IsZero() &&
		op.NextAttemptAt.After(now)
}

func operationID(s string) bool {
	return within(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
}

// within reports whether s is 1 to 64 bytes, all of them in allowed.
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
	Kinds         []OperationKind // empty means all
	Due           time.Time       // omits operations that are Scheduled after this time; zero omits none
	After         string          // id of the last operation of the previous page
	Limit         int             // 1..500; 0 means 100, more than 500 means 500
}

// OperationCounts counts the operations in each state.
type OperationCounts struct {
	Pending, Processing, Completed, Failed int
}

// Activity is one event in the history of an operation.
type Activity struct {
	At          time.Time
	OperationID string
	Event       string // added, attempted, retried, completed, failed, recovered, changed, removed, erased
	Detail      string // readable text; never personal data
}

// Queue is the durable list of operations. It is safe for concurrent use. Every change is durable when the call
// returns. The queue is never the only copy of an unfinished operation: the outbox also contains it.
//
// As in Store.Write, ctx limits only the wait for a turn. The call waits for the outcome of a change that has started,
// so a cancelled caller never loses an operation that it took. Every change can also return ErrOverloaded, ErrFull,
// ErrUnavailable or ErrClosed. Every read can also return the last two.
type Queue interface {
	// Add stores operations, all or none. It does not change an operation whose id already exists, so Add is
	// idempotent. It returns ErrInvalid if an operation does not pass Validate.
	Add(ctx context.Context, ops ...Operation) error

	// Take selects, of the pending operations of these kinds (all if none are given) with NextAttemptAt ≤ now, the one
	// with the earliest NextAttemptAt. It sets the operation to processing, adds one to Attempts, sets AttemptedAt to
	// now, and returns the operation. Of the operations due at the same instant, the lowest id comes first. Each of
	// several concurrent callers gets a different operation. It returns ErrNotFound if no operation is due.
	Take(ctx context.Context, now time.Time, kinds ...OperationKind) (Operation, error)

	// Change replaces the operation with op's id, in any state. It returns ErrNotFound if there is no such operation,
	// and ErrInvalid if op does not pass Validate. A queue that several nodes share returns ErrVersion while another
	// node attempts the operation: only that node can change it.
	Change(ctx context.Context, op Operation, event, detail string) error

	// Operation returns one operation. Errors: ErrNotFound.
	Operation(ctx context.Context, id string) (Operation, error)

	// Operations lists by id, compared byte by byte. With Kinds or Due, it examines at most 5,000 operations, so the
	// list may have fewer than f.Limit even if there are more.
	Operations(ctx context.Context, f OperationFilter) ([]Operation, error)

	// Counts counts the operations of these kinds (all if none are given). It does not read the operations, so its cost
	// does not grow with their number.
	Counts(ctx context.Context, kinds ...OperationKind) (OperationCounts, error)

	// Scheduled counts the operations of these kinds (all if none are given) that are Scheduled after now. It reads
	// their keys, and those operations that are due within 12 hours.
	Scheduled(ctx context.Context, now time.Time, kinds ...OperationKind) (int, error)

	// NextDue returns the earliest NextAttemptAt of all pending operations of these kinds (all if none are given). It
	// returns ErrNotFound if there are none. Its cost does not grow with their number.
	NextDue(ctx context.Context, kinds ...OperationKind) (time.Time, error)

	// Recover moves every processing operation back to pending with Unknown set, due immediately, and returns their
	// number. The server calls it once at start, before the first Take.
	Recover(ctx context.Context, now time.Time) (int, error)

	// Remove deletes one operation. It is idempotent. The operation's activity is kept.
	Remove(ctx context.Context, id string) error

	// Prune removes completed operations finished before the instant, with their activity, and returns how many. It
	// also removes the activity of operations that were removed before the instant, unless their id was added again.
	Prune(ctx context.Context, before time.Time) (int, error)

	// Erase permanently empties the payload of these operations, in any state: no later Change restores it. Unknown
	// ids are ignored. A queue that has its own file also overwrites all data in that file that was replaced or deleted
	// earlier.
	Erase(ctx context.Context, ids ...string) error

	// Activity lists the events of one operation, oldest first. The list is empty for an unknown id. Add, Take,
	// Recover, Remove and Erase write "added", "attempted", "recovered", "removed" and "erased". Change writes the
	// event that the caller passes.
	Activity(ctx context.Context, id string) ([]Activity, error)

	// Ping returns nil if the queue can be read. Close waits for the writes already accepted.
	Ping(ctx context.Context) error
	Close() error
}
