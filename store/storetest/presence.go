package storetest

import (
	"reflect"
	"testing"
	"time"

	"holdfast/store"
)

func testPresence(t *testing.T, h Harness) {
	t.Run("the mirror", func(t *testing.T) {
		s := h.open(t)
		clinic(t, s)
		ctx := t.Context()
		ada := store.PresenceMirror{SpecialistID: "ada", Online: true, LastOnlineAt: monday,
			LastOfflineAt: monday.Add(-time.Hour), LastHeartbeatAt: monday}
		ben := store.PresenceMirror{SpecialistID: "ben", Deactivated: true}
		put := func(p store.PresenceMirror) error {
			return s.Write(ctx, func(tx store.Tx) error { return tx.PutPresence(ctx, p) })
		}
		wantMirrors := func(what string, want ...store.PresenceMirror) {
			t.Helper()
			if got, err := s.PresenceMirrors(ctx); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s:\n got %+v, %v\nwant %+v", what, got, err, want)
			}
		}
		wantErr(t, "ben", put(ben), nil)
		wantErr(t, "ada", put(ada), nil)
		wantErr(t, "an unknown specialist", put(store.PresenceMirror{SpecialistID: "unknown"}), store.ErrInvalid)
		wantMirrors("by id", ada, ben)

		beat := func(beats map[string]time.Time) {
			write(t, s, func(tx store.Tx) error { return tx.MirrorHeartbeats(ctx, beats) })
		}
		ada.LastHeartbeatAt, ben.LastHeartbeatAt = monday.Add(time.Minute), monday
		beat(map[string]time.Time{"ada": ada.LastHeartbeatAt, "ben": ben.LastHeartbeatAt, "cleo": monday,
			"unknown": monday})
		wantMirrors("moved on, without a new one", ada, ben)
		beat(map[string]time.Time{"ada": monday, "ben": monday.Add(-time.Hour)})
		wantMirrors("never moved back", ada, ben)
		beat(nil)

		ada.Online, ada.Deactivated, ada.LastOfflineAt = false, true, monday.Add(time.Hour)
		wantErr(t, "replace", put(ada), nil)
		wantMirrors("replaced", ada, ben)
	})

	t.Run("the log", func(t *testing.T) {
		s := h.open(t)
		clinic(t, s)
		var want []store.PresenceChange
		for i, change := range []string{"online", "auto_offline", "online", "offline", "deactivated", "activated"} {
			c := store.PresenceChange{At: monday.Add(time.Duration(i/2) * time.Minute), SpecialistID: "ada",
				Change: change}
			write(t, s, func(tx store.Tx) error { return tx.AppendPresence(t.Context(), c) })
			want = append([]store.PresenceChange{c}, want...)
		}
		for _, limit := range []int{2, 6, 100} {
			got, err := s.PresenceLog(t.Context(), "ada", limit)
			if n := min(limit, len(want)); err != nil || !reflect.DeepEqual(got, want[:n]) {
				t.Errorf("at most %d: got %+v, %v; want %+v", limit, got, err, want[:n])
			}
		}
		if got, err := s.PresenceLog(t.Context(), "ben", 10); err != nil || len(got) != 0 {
			t.Errorf("presence of another specialist: got %+v, %v", got, err)
		}
	})
}
