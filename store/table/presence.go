package table

import (
	"context"
	"time"

	"holdfast/store"
)

var presence = nounOf[store.PresenceMirror]("presence", "specialist_id")

var presenceLog = nounOf[store.PresenceChange]("presence_log", "")

// PresenceMirrors implements store.PresenceReader.
func (r Reads) PresenceMirrors(ctx context.Context) ([]store.PresenceMirror, error) {
	return presence.list(ctx, r.source, `ORDER BY specialist_id`)
}

// PresenceLog implements store.PresenceReader.
func (r Reads) PresenceLog(ctx context.Context, specialistID string, limit int) ([]store.PresenceChange, error) {
	const latest = `WHERE specialist_id = ? ORDER BY at DESC, seq DESC LIMIT +?`
	return presenceLog.list(ctx, r.source, latest, specialistID, limit)
}

// PutPresence implements store.PresenceWriter.
func (t *Tx) PutPresence(_ context.Context, p store.PresenceMirror) error {
	return t.run(presence.put, presence.values(&p)...)
}

// MirrorHeartbeats implements store.PresenceWriter.
func (t *Tx) MirrorHeartbeats(_ context.Context, beats map[string]time.Time) error {
	if len(beats) == 0 {
		return nil
	}
	instants := make(map[string]int64, len(beats))
	for id, at := range beats {
		instants[id] = at.UnixMilli()
	}
	list, err := jsonOf(instants)
	if err != nil {
		return err
	}
	return t.run(`
		UPDATE presence SET last_heartbeat_at = CAST(beat.value AS BIGINT) FROM {pairs}(?) AS beat
		WHERE specialist_id = beat.key
		  AND (last_heartbeat_at IS NULL OR last_heartbeat_at < CAST(beat.value AS BIGINT))`, list)
}

// AppendPresence implements store.PresenceWriter.
func (t *Tx) AppendPresence(_ context.Context, c store.PresenceChange) error {
	return t.run(presenceLog.insert, presenceLog.values(&c)...)
}

// ForgetPresence implements store.PresenceWriter. It reads only the earliest entries, because entries are written in
// the order of their time.
func (t *Tx) ForgetPresence(_ context.Context, before time.Time, limit int) (int, error) {
	return t.count(`DELETE FROM presence_log
		WHERE at < ? AND seq IN (SELECT seq FROM presence_log ORDER BY seq LIMIT +?)`, before, limit)
}
