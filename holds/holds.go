// Package holds is what is true only for now: short exclusive claims on a specialist's time, who is looking at which
// slot, who is online, and which time is known to be taken.
//
// It imports the standard library only and holds the nouns and the contract. Nothing in it survives a restart, and
// nothing in it is needed for safety: the database refuses a double booking by itself. What the contract buys is
// courtesy (a slot somebody is filling in a form for is not offered to others) and speed.
//
// A Backend is one directory below this one: memory for a single process, redis and postgres for a cluster, failover for a backend
// made of two. Each proves itself with one call of package holdstest.
//
// # Time
//
// Every lapse is decided by the backend's own clock. In memory that is the monotonic clock, so a step of the wall clock
// neither frees nor prolongs a hold; the instants in Hold are for people and for the wire, UTC.
//
// # Secrets
//
// A client is a secret, and none gets here: what is kept, compared and told is its Owner. Owners are compared in constant
// time, and are written to no log.
package holds

import (
	"context"
	"errors"
	"time"
)

// Backend is all of the live state. It is safe for concurrent use.
type Backend interface {
	Table
	Selections
	Presence
	Busy

	// Mode names the storage in use now: "memory", "redis", "postgres", or "fallback".
	Mode() string

	// Ping answers nil if the backend can be used now.
	Ping(ctx context.Context) error

	// Stats counts what is held, for people who operate the server.
	Stats(ctx context.Context) (Stats, error)

	// Close ends every Watch with ErrClosed, stops the backend's goroutines and waits for them. It is idempotent,
	// and every call after it answers ErrClosed.
	Close() error
}

// Stats counts the live state.
type Stats struct {
	Holds      int
	Selections int
	Online     int
	Watches    int
}

// Server is how the server of a backend is.
type Server struct {
	UsedMemory       int64   // bytes
	ConnectedClients int     // of all nodes
	HitRate          float64 // of the reads of keys since it was started, those that found one; 0 to 1
}

// Served is a Backend that lives on a server of its own.
type Served interface {
	// Server asks the server how it is. ErrUnavailable.
	Server(ctx context.Context) (Server, error)
}

var (
	// ErrNotFound: there is no such hold, or it has lapsed.
	ErrNotFound = errors.New("no such hold, or it has lapsed")
	// ErrNotOwner: the hold is another client's.
	ErrNotOwner = errors.New("another client's hold")
	// ErrQuota: the client has as many live holds as it may.
	ErrQuota = errors.New("too many holds for one client")
	// ErrTaken: the time is booked.
	ErrTaken = errors.New("the time is booked")
	// ErrRestarts: the hold's maximum life was begun anew as often as allowed.
	ErrRestarts = errors.New("the hold cannot be kept any longer")
	// ErrSlow: this watcher fell behind and was cut off; it must watch and list again.
	ErrSlow = errors.New("watcher too slow, events were lost")
	// ErrClosed: the backend was closed.
	ErrClosed = errors.New("live state closed")
	// ErrUnavailable: the backend could not be reached. Nothing is known of the outcome.
	ErrUnavailable = errors.New("live state unavailable")
	// ErrDeactivated: the specialist is deactivated and cannot be online.
	ErrDeactivated = errors.New("specialist deactivated")
	// ErrOffline: the specialist is not online, so there is no heartbeat to renew.
	ErrOffline = errors.New("specialist not online")
)

// LostError is an ErrUnavailable of a claim that may have been made all the same: its answer was lost. Whoever gives the backend up
// knows by it what may be left there.
type LostError struct {
	ID  string // of the hold, if there is a new one
	Err error  // wraps ErrUnavailable
}

func (e *LostError) Error() string { return e.Err.Error() }

func (e *LostError) Unwrap() error { return e.Err }

// HeldError says that other clients' holds are in the way.
type HeldError struct {
	Until time.Time // the latest instant at which one of them lapses, UTC, if nobody renews it
}

func (e *HeldError) Error() string {
	return "held by another client until " + e.Until.UTC().Format(time.RFC3339)
}
