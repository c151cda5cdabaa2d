// Package holds is the contract of the live state: short exclusive claims on a specialist's time, the slots that
// clients are looking at, the specialists who are online, and the time that is booked.
//
// It imports only the standard library and contains the types and the contract. Live state does not survive a restart,
// and safety does not depend on it: the database itself refuses a double booking. Live state provides courtesy (a slot
// is not offered to others while a patient fills in the form for it) and speed.
//
// Each Backend has a directory below this one: memory for a single process, redis and postgres for a cluster, failover
// and home for combinations of two backends. Each one is tested with a single call to package holdstest.
//
// # Time
//
// The backend's own clock decides when a hold or selection expires. In memory that is the monotonic clock, so a jump of
// the wall clock neither frees nor prolongs a hold. The instants in Hold are for display and for the wire format, in
// UTC.
//
// # Secrets
//
// A client id is a secret and is never passed to this package. Backends store, compare and publish only the Owner.
// Owners are compared in constant time and are not written to any log.
package holds

import (
	"context"
	"errors"
	"time"
)

// Backend stores all live state. It is safe for concurrent use.
type Backend interface {
	Table
	Selections
	Presence
	Busy

	// Mode returns the storage currently in use: "memory", "redis", "postgres" or "fallback".
	Mode() string

	// Ping returns nil if the backend is usable now.
	Ping(ctx context.Context) error

	// Stats returns counts of the live state, for operators.
	Stats(ctx context.Context) (Stats, error)

	// Close ends every Watch with ErrClosed, stops the backend's goroutines and waits for them. It is idempotent.
	// Every later call returns ErrClosed.
	Close() error
}

// Stats contains counts of the live state.
type Stats struct {
	Holds      int
	Selections int
	Online     int
	Watches    int
}

// Server contains the metrics of a backend's server.
type Server struct {
	UsedMemory       int64   // bytes
	ConnectedClients int     // of all nodes
	HitRate          float64 // the share of key reads since the server started that found a key; 0 to 1
}

// Served is a Backend that runs on a separate server.
type Served interface {
	// Server reads the metrics from the server. Error: ErrUnavailable.
	Server(ctx context.Context) (Server, error)
}

var (
	// ErrNotFound means that there is no such hold, or it has expired.
	ErrNotFound = errors.New("the hold does not exist or has expired")
	// ErrNotOwner means that the hold belongs to another client.
	ErrNotOwner = errors.New("another client's hold")
	// ErrQuota means that the client has the maximum number of live holds.
	ErrQuota = errors.New("too many holds for one client")
	// ErrTaken means that the time is booked.
	ErrTaken = errors.New("the time is booked")
	// ErrRestarts means that the hold's maximum lifetime has already been restarted MaxRestarts times.
	ErrRestarts = errors.New("the hold cannot be renewed again")
	// ErrSlow means that this watcher fell behind and was cut off. It must watch and list again.
	ErrSlow = errors.New("watcher too slow, events were lost")
	// ErrClosed means that the backend was closed.
	ErrClosed = errors.New("live state closed")
	// ErrUnavailable means that the backend could not be reached. The call's outcome is unknown.
	ErrUnavailable = errors.New("live state unavailable")
	// ErrDeactivated means that the specialist is deactivated and cannot be online.
	ErrDeactivated = errors.New("specialist deactivated")
	// ErrOffline means that the specialist is not online, so there is no heartbeat to renew.
	ErrOffline = errors.New("specialist not online")
)

// LostError is the error of a claim that may have succeeded even though its response was lost. It wraps ErrUnavailable.
// It tells a caller that switches to another backend which hold might remain in this one.
type LostError struct {
	ID  string // of the hold, if there is a new one
	Err error  // wraps ErrUnavailable
}

func (e *LostError) Error() string { return e.Err.Error() }

func (e *LostError) Unwrap() error { return e.Err }

// HeldError reports that other clients' holds conflict with a claim.
type HeldError struct {
	Until time.Time // the latest instant at which one of them expires if it is not renewed; UTC
}

func (e *HeldError) Error() string {
	return "held by another client until " + e.Until.UTC().Format(time.RFC3339)
}
