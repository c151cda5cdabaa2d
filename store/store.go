// Package store is what Holdfast remembers: the nouns of the durable record and the two contracts that keep them.
//
// It imports the standard library only. Store is the database of record (appointments, the schedule they are booked
// from, credentials, and the rows that must commit together with an appointment); Queue is the list of outbound calls
// still to be made. Each backend is a directory below this one and proves itself with one call of package storetest.
//
// # Reading and writing
//
// Reader's methods answer from committed state. Every change is made inside Write, which hands its function a Tx: a
// Reader that sees its own changes, and the mutations. What one function did is committed whole or not at all, so one
// use case (appointment, outbox row, audit row, idempotency record) is one Write.
//
// # One order
//
// Writes run one after another, and each commit carries its changes, numbered in that order. Feed follows them.
//
// Instants are UTC and kept to the millisecond; every backend truncates to it on the way in and answers in UTC.
// Local dates and times of day are wall clock and mean nothing without the zone they stand beside.
//
// Text is valid UTF-8 without NUL: every backend replaces other bytes with U+FFFD, in rows and in look-ups (see Text).
//
// # Errors
//
// Methods return the sentinels below, possibly wrapped; errors.Is finds them. Anything else is a fault of the storage
// itself and wraps ErrUnavailable, or ErrFull when the disk has no room.
package store

import (
	"context"
	"errors"
)

var (
	// ErrNotFound: no row has this id, or it is archived and the method does not speak of archived rows.
	ErrNotFound = errors.New("not found")
	// ErrSlotTaken: the guarantee refused the row. Another confirmed appointment of this specialist is in the way.
	ErrSlotTaken = errors.New("the slot is taken by a confirmed appointment")
	// ErrVersion: the row changed since the caller read it.
	ErrVersion = errors.New("changed since it was read")
	// ErrDuplicate: a row with this key already exists and must not be replaced.
	ErrDuplicate = errors.New("already exists")
	// ErrInvalid: a row breaks a rule of the schema, such as a seat outside the capacity or a reference to nothing.
	ErrInvalid = errors.New("refused by the schema")
	// ErrOverloaded: the writer's queue is full. Nothing was written; try again shortly.
	ErrOverloaded = errors.New("too many writes are waiting")
	// ErrFull: the disk has no room. Nothing was written; reading goes on.
	ErrFull = errors.New("the disk is full")
	// ErrUnavailable: the storage failed. Nothing was written unless the error says the outcome is unknown.
	ErrUnavailable = errors.New("storage unavailable")
	// ErrClosed: the store was closed.
	ErrClosed = errors.New("store closed")
)

// Store is the durable record. It is safe for concurrent use.
type Store interface {
	Reader
	Feed
	PersonEraser

	// Write runs fn inside one transaction and returns once its changes are durable and every follower of Changes has
	// them.
	//
	// Writes run one after another, from all callers: what fn reads through its Tx is what it writes on. A rule that reads
	// before it writes (a capacity, the last owner, a code that works once) therefore holds if fn does the reading.
	//
	// fn must not block, do I/O of its own, or keep the Tx; it may run more than once, so it must not change anything
	// outside itself that a second run would not overwrite. An error from fn undoes everything fn did and is returned
	// as it is; callers batched together with it are unharmed. So does a panic, which is raised again in the caller.
	//
	// ctx bounds the wait for a turn only. Once fn has started, Write waits for the outcome, so nobody is told
	// "failed" of something that was committed. ErrOverloaded, ErrFull, ErrUnavailable, ErrClosed.
	Write(ctx context.Context, fn func(Tx) error) error

	// Check reads the whole database and verifies its invariants: the guarantee, references, index and file
	// integrity, and the audit chain. It returns nil or an error that lists every violation; of the chain the first.
	Check(ctx context.Context) error

	// Backup writes an intact copy of the database to path while the store is in use. ErrDuplicate if path exists.
	Backup(ctx context.Context, path string) error

	// ID names this database for as long as it lives, across restarts, backups and restores.
	ID() string

	// Ping answers nil if a read works now.
	Ping(ctx context.Context) error

	// Close waits for the writes already accepted and releases the files.
	Close() error
}

// Reader is everything that can be asked. Store answers from committed state; a Tx also sees its own changes.
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
}

// Tx is one transaction, handed to the function given to Write. The contexts passed to its methods carry values only:
// a statement inside a transaction is never cancelled half way, because others share its commit.
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
}
