package store

import (
	"context"
	"time"
)

// PresenceMirror is the durable shadow of one specialist's presence. The live state is kept elsewhere; the mirror is
// what it is seeded from after a restart.
type PresenceMirror struct {
	SpecialistID    string
	Online          bool // stays while Deactivated, so that being activated restores it
	Deactivated     bool
	LastOnlineAt    time.Time
	LastOfflineAt   time.Time
	LastHeartbeatAt time.Time
}

// PresenceChange is one line of the presence log.
type PresenceChange struct {
	At           time.Time
	SpecialistID string
	Change       string // online, offline, auto_offline, deactivated, activated
}

// PresenceReader asks for the mirror and the log.
type PresenceReader interface {
	// PresenceMirrors lists every specialist who was ever online or is deactivated, by id.
	PresenceMirrors(ctx context.Context) ([]PresenceMirror, error)
	// PresenceLog lists the changes of one specialist, newest first, at most limit.
	PresenceLog(ctx context.Context, specialistID string, limit int) ([]PresenceChange, error)
}

// PresenceWriter changes the mirror and the log.
type PresenceWriter interface {
	// PutPresence inserts or replaces one row.
	PutPresence(ctx context.Context, p PresenceMirror) error
	// MirrorHeartbeats stores the instants of many specialists in one statement. It never moves one back and never
	// adds a row.
	MirrorHeartbeats(ctx context.Context, beats map[string]time.Time) error
	// AppendPresence adds to the log.
	AppendPresence(ctx context.Context, c PresenceChange) error
	// ForgetPresence removes up to limit lines of the log from before the instant, the earliest written first, and says
	// how many. It ends at the first line that is not from before.
	ForgetPresence(ctx context.Context, before time.Time, limit int) (int, error)
}
