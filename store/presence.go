package store

import (
	"context"
	"time"
)

// PresenceMirror is the durable copy of one specialist's presence. The live state is in package holds; after a restart,
// the server restores it from the mirror.
type PresenceMirror struct {
	SpecialistID    string
	Online          bool      `column:"is_online"` // unchanged while Deactivated, so that activation restores it
	Deactivated     bool      `column:"is_deactivated"`
	LastOnlineAt    time.Time `column:",null"`
	LastOfflineAt   time.Time `column:",null"`
	LastHeartbeatAt time.Time `column:",null"`
}

// PresenceChange is one line of the presence log.
type PresenceChange struct {
	At           time.Time
	SpecialistID string
	Change       string // online, offline, auto_offline, deactivated, activated
}

// PresenceReader reads the mirror and the log.
type PresenceReader interface {
	// PresenceMirrors lists every specialist who has ever been online or is deactivated, by id.
	PresenceMirrors(ctx context.Context) ([]PresenceMirror, error)
	// PresenceLog lists the changes of one specialist, newest first, at most limit.
	PresenceLog(ctx context.Context, specialistID string, limit int) ([]PresenceChange, error)
}

// PresenceWriter changes the mirror and the log.
type PresenceWriter interface {
	// PutPresence inserts or replaces one row.
	PutPresence(ctx context.Context, p PresenceMirror) error
	// MirrorHeartbeats stores the instants of many specialists in one statement. It never sets an instant back and
	// never adds a row.
	MirrorHeartbeats(ctx context.Context, beats map[string]time.Time) error
	// AppendPresence adds to the log.
	AppendPresence(ctx context.Context, c PresenceChange) error
	// ForgetPresence removes up to limit log entries from before the instant, in the order in which they were
	// written, and returns how many. It stops at the first entry that is not older than the instant.
	ForgetPresence(ctx context.Context, before time.Time, limit int) (int, error)
}
