package sqlite

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"holdfast/store"
)

// TestCheckpointsKeepLogShort checks that the log does not grow with the number of commits.
func TestCheckpointsKeepLogShort(t *testing.T) {
	path := filepath.Join(t.TempDir(), "holdfast.db")
	b := newTestStore(t, Options{Path: path, checkpointPages: 20})
	longest := int64(0)
	for n := range int64(1000) {
		if err := b.insert(context.Background(), n); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		longest = max(longest, info.Size())
	}
	// A commit is about six pages; without checkpoints this would be 24 MB.
	if limit := int64(4 << 20); longest > limit {
		t.Errorf("the log grew to %d bytes, want at most %d", longest, limit)
	}
	if err := b.Check(context.Background()); err != nil {
		t.Error(err)
	}
	mustClose(t, b.Store)
	if _, err := os.Stat(path + "-wal"); !os.IsNotExist(err) {
		t.Errorf("Close left the log: %v", err)
	}
}

// TestCheckpointTruncatesLargeLog checks that a log that has grown because of one reader or one large change becomes
// small again.
func TestCheckpointTruncatesLargeLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "holdfast.db")
	b := newTestStore(t, Options{Path: path, checkpointPages: 20})
	size := func() int64 {
		info, err := os.Stat(path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	const limit = 16 << 20 // the limit configured for the connections
	release, reading := make(chan struct{}), make(chan struct{})
	read := make(chan error, 1)
	go func() {
		read <- b.reads.snapshot(context.Background(), func(ctx context.Context, c *conn) error {
			_, err := oneOn(ctx, c, (*row).Int, "SELECT count(*) FROM appointments")
			close(reading)
			<-release
			return err
		})
	}()
	<-reading
	n := int64(0)
	for ; size() <= 2*limit; n++ { // while a reader is active, the log cannot restart
		err := b.Write(context.Background(), func(tx store.Tx) error {
			return tx.Remember(context.Background(), store.IdempotencyRecord{Scope: "large", Key: strconv.FormatInt(n, 10), Status: 200,
				Body: make([]byte, 1<<20), CreatedAt: benchDay})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	close(release)
	if err := <-read; err != nil {
		t.Fatal(err)
	}
	for more := int64(0); size() > limit; more++ {
		if more == 2000 {
			t.Fatalf("after %d more commits the log still has %d bytes, want at most %d", more, size(), limit)
		}
		if err := b.insert(context.Background(), more); err != nil {
			t.Fatal(err)
		}
	}
	mustClose(t, b.Store)
}
