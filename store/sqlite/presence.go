package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"holdfast/store"
)

func (r reads) PresenceMirrors(ctx context.Context) ([]store.PresenceMirror, error) {
	return list(ctx, r, func(r *row) store.PresenceMirror {
		return store.PresenceMirror{SpecialistID: r.text(), Online: r.bool(), Deactivated: r.bool(),
			LastOnlineAt: r.time(), LastOfflineAt: r.time(), LastHeartbeatAt: r.time()}
	}, `SELECT specialist_id, is_online, is_deactivated, last_online_at, last_offline_at, last_heartbeat_at
		FROM presence ORDER BY specialist_id`)
}

func (r reads) PresenceLog(ctx context.Context, specialistID string, limit int) ([]store.PresenceChange, error) {
	return list(ctx, r, func(r *row) store.PresenceChange {
		return store.PresenceChange{At: r.time(), SpecialistID: r.text(), Change: r.text()}
	}, `SELECT at, specialist_id, change FROM presence_log WHERE specialist_id = ? ORDER BY at DESC, seq DESC LIMIT +?`,
		specialistID, limit)
}

func (t *tx) PutPresence(_ context.Context, p store.PresenceMirror) error {
	return t.run(`
		INSERT INTO presence (specialist_id, is_online, is_deactivated, last_online_at, last_offline_at, last_heartbeat_at)
		VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (specialist_id) DO UPDATE SET is_online = excluded.is_online,
			is_deactivated = excluded.is_deactivated, last_online_at = excluded.last_online_at,
			last_offline_at = excluded.last_offline_at, last_heartbeat_at = excluded.last_heartbeat_at`,
		p.SpecialistID, p.Online, p.Deactivated, orNull(p.LastOnlineAt), orNull(p.LastOfflineAt),
		orNull(p.LastHeartbeatAt))
}

func (t *tx) MirrorHeartbeats(_ context.Context, beats map[string]time.Time) error {
	if len(beats) == 0 {
		return nil
	}
	instants := make(map[string]int64, len(beats))
	for id, at := range beats {
		instants[id] = at.UnixMilli()
	}
	text, err := json.Marshal(instants)
	if err != nil {
		return fmt.Errorf("%w: %w", store.ErrInvalid, err)
	}
	return t.run(`
		UPDATE presence SET last_heartbeat_at = beat.value FROM json_each(?) AS beat
		WHERE specialist_id = beat.key AND (last_heartbeat_at IS NULL OR last_heartbeat_at < beat.value)`, string(text))
}

func (t *tx) AppendPresence(_ context.Context, c store.PresenceChange) error {
	return t.run(`INSERT INTO presence_log (at, specialist_id, change) VALUES (?, ?, ?)`, c.At, c.SpecialistID, c.Change)
}

// ForgetPresence looks at the earliest lines only: the log is written in the order of time.
func (t *tx) ForgetPresence(_ context.Context, before time.Time, limit int) (int, error) {
	n, err := t.exec(`DELETE FROM presence_log
		WHERE at < ? AND seq IN (SELECT seq FROM presence_log ORDER BY seq LIMIT +?)`, before, limit)
	return int(n), err
}
