// Package store defines the durable record of Holdfast: its nouns and the two contracts of its backends.
//
// It imports the standard library only. Store is the database of record (appointments, the schedule they are booked
// from, credentials, and the rows that must be committed together with an appointment). Queue is the list of outbound
// calls still to be made. Each backend is a directory below this one. Its tests call package storetest, which checks
// both contracts.
//
// # Reading and writing
//
// Reader's methods return committed state. Every change happens inside Write, which passes a Tx to its function. The Tx
// is a Reader that also sees its own changes, and it has the methods that change rows. The changes of one function are
// committed together or not at all, so one use case (appointment, outbox row, audit row, idempotency record) is one
// Write.
//
// # One order
//
// The store runs writes one after another and numbers their changes in that order. Feed delivers the changes in the
// same order.
//
// Instants are UTC with millisecond precision: every backend truncates its inputs and returns UTC. Local dates and
// times of day are wall-clock values. They have no meaning without the zone of their clinic or specialist.
//
// Text is valid UTF-8 without NUL: every backend replaces other bytes with U+FFFD, in rows and in look-ups (see Text).
//
// # Errors
//
// Methods return the sentinels below, possibly wrapped; use errors.Is. Any other error is a fault in the storage itself
// and wraps ErrUnavailable, or ErrFull if the disk is full.
package store

import (
	"context"
	"errors"
)

var (
	// ErrNotFound means that no row has this id, or the row is archived and the method does not cover archived rows.
	ErrNotFound = errors.New("not found")
	// ErrSlotTaken means that the guarantee refused the row. Another confirmed appointment of this specialist or
	// resource conflicts.
	ErrSlotTaken = errors.New("the slot is taken by a confirmed appointment")
	// ErrVersion means that the row has changed since the caller read it.
	ErrVersion = errors.New("changed since it was read")
	// ErrDuplicate means that a row with this key already exists and must not be replaced.
	ErrDuplicate = errors.New("already exists")
	// ErrInvalid means that a row breaks a rule of the schema, such as a seat outside the capacity or a reference to a
	// missing row.
	ErrInvalid = errors.New("refused by the schema")
	// ErrOverloaded means that the writer's queue is full. Nothing was written; retry.
	ErrOverloaded = errors.New("too many writes are waiting")
	// ErrFull means that the disk is full. Nothing was written; reads still work.
	ErrFull = errors.New("the disk is full")
	// ErrUnavailable means that the storage failed. Nothing was written unless the error states that the outcome is
	// unknown.
	ErrUnavailable = errors.New("storage unavailable")
	// ErrClosed means that the store was closed.
	ErrClosed = errors.New("store closed")
)

// Store is the durable record. It is safe for concurrent use.
type Store interface {
	Reader
	Feed
	PersonEraser

	// Write runs fn inside one transaction and returns once its changes are durable and every follower of Changes has
	// received them.
	//
	// The writes of all callers run one after another: no other write runs between the reads of fn through its Tx and
	// its writes. So a rule that reads before it writes (a capacity, the last owner, a single-use code) holds if fn
	// does the reading.
	//
	// fn must not block, do its own I/O, or keep the Tx. It may run more than once, so it must not change anything
	// outside itself that a second run would not overwrite. An error from fn undoes everything that fn did, and Write
	// returns it unchanged; other callers in the same batch are not affected. A panic undoes everything too, and Write
	// raises it again in the caller.
	//
	// ctx limits only the wait for a turn. Once fn has started, Write waits for the outcome, so it never returns an
	// error of ctx for a committed change. In a trial context (see WithTrial), Write undoes fn even if it succeeds, and
	// returns ErrTrial. Errors: ErrTrial, ErrOverloaded, ErrFull, ErrUnavailable, ErrClosed.
	Write(ctx context.Context, fn func(Tx) error) error

	// Check reads the whole database and verifies its invariants: the guarantee, references, index and file integrity,
	// and the audit chain. It returns nil, or an error that lists every violation. For the audit chain, it lists only
	// the first violation.
	Check(ctx context.Context) error

	// Backup writes an intact copy of the database to path while the store is in use. It returns ErrDuplicate if path
	// already exists.
	Backup(ctx context.Context, path string) error

	// ID returns the id of this database. It stays the same across restarts, backups and restores.
	ID() string

	// Ping returns nil if the database can be read.
	Ping(ctx context.Context) error

	// Close waits for the writes already accepted and releases the files.
	Close() error
}

// Reader combines all read methods. A Store returns committed state; a Tx also sees its own changes.
type Reader interface {
	AppointmentReader
	ScheduleReader
	IdempotencyReader
	OutboxReader
	AuditReader
	ChainReader
	APIKeyReader
	UserReader
	SessionReader
	PresenceReader
	DeliveryReader
	NonceReader
	AgentSessionReader
	RequestReader
	WaitlistReader
	TallyReader
	ClosureReader
	BusyCalendarReader
	PersonReader
	PictureReader
	UndoReader
	ReportReader
}

// Tx is one transaction, passed to the function given to Write. The contexts passed to its methods carry values only:
// a statement inside a transaction is never cancelled halfway, because other callers share its commit.
type Tx interface {
	Reader
	AppointmentWriter
	ScheduleWriter
	BlockWriter
	IdempotencyWriter
	OutboxWriter
	AuditWriter
	APIKeyWriter
	UserWriter
	SessionWriter
	PresenceWriter
	DeliveryWriter
	NonceWriter
	AgentSessionWriter
	RequestWriter
	WaitlistWriter
	TallyWriter
	ClosureWriter
	BusyCalendarWriter
	PersonWriter
	PictureWriter
	UndoWriter
}
