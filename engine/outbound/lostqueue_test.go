package outbound_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/store"
	"holdfast/store/bolt"
)

// TestLostQueueIsLostUntilFilled restores a backup in which a write is waiting that the practice-management system has
// received since. A process creates the queue and ends before it has added the operations, as a command does, or a
// server whose port is in use. The process after that must not add the patient a second time.
func TestLostQueueIsLostUntilFilled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := queuedWrite(t)
		database, queue := filepath.Join(p.Dir, "holdfast.db"), filepath.Join(p.Dir, "queue.bolt")
		p.End()
		backup, err := os.ReadFile(database)
		if err != nil {
			t.Fatal(err)
		}
		p.Line.Set(false, false)
		p.Open()
		p.Until(time.Hour, "written", p.Settled)
		p.End()
		if err := errors.Join(os.WriteFile(database, backup, 0o600), os.Remove(queue)); err != nil {
			t.Fatal(err)
		}
		q, err := bolt.Open(t.Context(), bolt.Options{Path: queue})
		if err != nil {
			t.Fatal(err)
		}
		if err := q.Close(); err != nil {
			t.Fatal(err)
		}
		sent := len(p.Upstream.Calls())
		p.Open()
		p.Until(time.Hour, "a person must decide", func() bool {
			list, err := p.Queue.Operations(t.Context(), store.OperationFilter{Status: store.OperationFailed})
			return err == nil && len(list) == 1 && list[0].NeedsReview
		})
		if calls := p.Upstream.Calls()[sent:]; len(calls) > 0 {
			t.Errorf("got the calls %+v after the restore, want none", calls)
		}
	})
}
