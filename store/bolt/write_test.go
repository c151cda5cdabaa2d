package bolt

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/store"
)

// queueIn opens a queue and checks its file when the test ends.
func queueIn(t testing.TB, o Options) *Queue {
	t.Helper()
	o.Path = filepath.Join(t.TempDir(), "queue.bolt")
	q, err := Open(context.Background(), o)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() {
		if err := q.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		if err := Verify(o.Path); err != nil {
			t.Errorf("Open left a file: %v", err)
		}
	})
	return q
}

func email(id string) store.Operation {
	return store.Operation{ID: id, Kind: store.Email, Status: store.OperationPending,
		NextAttemptAt: time.Unix(1_800_000_000, 0)}
}

// hold keeps the writer busy until let is called, so that a test decides which requests are in the
// next batch.
func hold(t *testing.T, q *Queue) (let func()) {
	t.Helper()
	busy, free := make(chan struct{}), make(chan struct{})
	var once sync.Once
	go func() {
		// The requests that are waiting then join this transaction, and it may run again.
		_ = q.write(context.Background(), func(*tables) error {
			once.Do(func() { close(busy) })
			<-free
			return nil
		})
	}()
	<-busy
	return func() { close(free) }
}

// TestFailedWriteSparesItsBatch checks that if a request fails after it has written, none of its changes remain, and
// the other requests in the batch are not affected.
func TestFailedWriteSparesItsBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queueIn(t, Options{})
		let := hold(t, q)
		broken := errors.New("broken half way")
		var wg sync.WaitGroup
		runs := make([]int, 9)
		for i := range 9 {
			wg.Go(func() {
				err := q.write(context.Background(), func(tb *tables) error {
					runs[i]++
					op := email(fmt.Sprint("op-", i))
					sealed, _ := stored{Operation: op}.encode()
					if err := tb.insert(op, sealed); err != nil {
						return err
					}
					if i%3 == 1 {
						return broken
					}
					return nil
				})
				if wantErr := i%3 == 1; wantErr != errors.Is(err, broken) ||
					wantErr != errors.Is(err, store.ErrUnavailable) {
					t.Errorf("request %d: got %v", i, err)
				}
			})
			synctest.Wait() // the requests are queued in this order, so all nine are in one batch
		}
		let()
		wg.Wait()
		n, err := q.Counts(t.Context())
		if n.Pending != 6 || err != nil {
			t.Errorf("stored: got %d and %v, want the 6 valid ones", n.Pending, err)
		}
		for i, ran := range runs {
			if i%3 == 1 && ran != 1 {
				t.Errorf("request %d failed and ran %d times, want once", i, ran)
			}
		}
		if runs[0] < 2 {
			t.Errorf("the first request ran %d times, want a second run: the test needs one batch", runs[0])
		}
	})
}

// TestFullQueueRefusesWrite checks that the number of waiting writes is limited, and that a refused caller gets the
// error immediately.
func TestFullQueueRefusesWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queueIn(t, Options{Waiting: 3})
		let := hold(t, q)
		var wg sync.WaitGroup
		for i := range 3 {
			wg.Go(func() {
				if err := q.Add(context.Background(), email(fmt.Sprint("op-", i))); err != nil {
					t.Errorf("Add with free space: %v", err)
				}
			})
		}
		synctest.Wait()
		if err := q.Add(t.Context(), email("op-4")); !errors.Is(err, store.ErrOverloaded) {
			t.Errorf("Add without free space: got %v, want ErrOverloaded", err)
		}
		let()
		wg.Wait()
		if n, _ := q.Counts(t.Context()); n.Pending != 3 {
			t.Errorf("stored: got %d, want 3", n.Pending)
		}
	})
}

// TestCancelEndsOnlyTheWait checks that the end of ctx ends the wait for a turn. Once a write has begun, its caller
// gets the outcome.
func TestCancelEndsOnlyTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queueIn(t, Options{})
		if err := q.Add(t.Context(), email("op-1")); err != nil {
			t.Fatal(err)
		}
		let := hold(t, q)
		short, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if _, err := q.Take(short, time.Unix(1_900_000_000, 0)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Take behind a busy writer: got %v, want DeadlineExceeded", err)
		}
		let()
		if op, _ := q.Operation(t.Context(), "op-1"); op.Status != store.OperationPending {
			t.Errorf("after the timeout: got %s, want it pending: no worker has it", op.Status)
		}

		begun, free := make(chan struct{}), make(chan struct{})
		leaving, leave := context.WithCancel(context.Background())
		outcome := make(chan error)
		go func() {
			outcome <- q.write(leaving, func(*tables) error {
				close(begun)
				<-free
				return nil
			})
		}()
		<-begun
		leave()
		synctest.Wait()
		select {
		case err := <-outcome:
			t.Errorf("Add returned %v before its running transaction ended", err)
		default:
		}
		close(free)
		if err := <-outcome; err != nil {
			t.Errorf("Add whose transaction is running: got %v, want the outcome of the transaction", err)
		}
	})
}

// TestCloseWaitsForAcceptedWrites checks that requests accepted before Close are written, and that later ones get an
// error.
func TestCloseWaitsForAcceptedWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queueIn(t, Options{})
		let := hold(t, q)
		var wg sync.WaitGroup
		for i := range 5 {
			wg.Go(func() {
				if err := q.Add(context.Background(), email(fmt.Sprint("op-", i))); err != nil {
					t.Errorf("Add accepted before Close: got %v, want nil", err)
				}
			})
		}
		synctest.Wait()
		wg.Go(func() {
			if err := q.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
		synctest.Wait()
		if err := q.Add(t.Context(), email("op-late")); !errors.Is(err, store.ErrClosed) {
			t.Errorf("Add after Close: got %v, want ErrClosed", err)
		}
		let()
		wg.Wait()
	})
}

// TestBatchIsOneTransaction checks that all waiting requests share one transaction, and so one fsync.
func TestBatchIsOneTransaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queueIn(t, Options{})
		let := hold(t, q)
		var wg sync.WaitGroup
		for i := range 100 {
			wg.Go(func() {
				if err := q.Add(context.Background(), email(fmt.Sprint("op-", i))); err != nil {
					t.Errorf("Add: %v", err)
				}
			})
		}
		synctest.Wait()
		before := lastTransaction(t, q)
		let()
		wg.Wait()
		if n := lastTransaction(t, q) - before; n != 1 {
			t.Errorf("100 waiting writes took %d transactions, want 1", n)
		}
		// A request that changes nothing makes no commit.
		before = lastTransaction(t, q)
		if err := q.Add(t.Context(), email("op-1")); err != nil {
			t.Fatal(err)
		}
		if _, err := q.Take(t.Context(), time.Unix(0, 0)); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("Take: got %v, want ErrNotFound", err)
		}
		if n := lastTransaction(t, q) - before; n != 0 {
			t.Errorf("writes without effect took %d transactions, want none", n)
		}
	})
}

// TestRemoveTwiceInOneMillisecond adds and removes an operation twice at the same instant. In a bubble, time does not
// advance between two calls.
func TestRemoveTwiceInOneMillisecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queueIn(t, Options{}) // the file is checked when the test ends
		for range 2 {
			if err := errors.Join(q.Add(t.Context(), email("op-1")), q.Remove(t.Context(), "op-1")); err != nil {
				t.Fatal(err)
			}
		}
		if n, err := q.Prune(t.Context(), time.Now().Add(time.Second)); n != 0 || err != nil {
			t.Errorf("Prune: got %d and %v, want 0", n, err)
		}
		if list, err := q.Activity(t.Context(), "op-1"); len(list) != 0 || err != nil {
			t.Errorf("Activity: got %d lines and %v, want none", len(list), err)
		}
	})
}

// TestCommitsAreSynced checks that Open sets no option that disables the sync of commits.
func TestCommitsAreSynced(t *testing.T) {
	if q := queueIn(t, Options{}); q.db.NoSync || q.db.NoGrowSync {
		t.Errorf("NoSync %v, NoGrowSync %v: a power cut could lose acknowledged operations", q.db.NoSync, q.db.NoGrowSync)
	}
}

func lastTransaction(t *testing.T, q *Queue) int {
	t.Helper()
	tx, err := q.db.Begin(false)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	return tx.ID()
}

// TestSealDetectsEveryBitFlip checks that every flipped bit of a record is detected.
func TestSealDetectsEveryBitFlip(t *testing.T) {
	op := email("op-1")
	op.Payload = []byte(`{"patientGUID":"6fd9f4a2-0000-4000-8000-000000000001"}`)
	sealed, err := stored{Operation: op}.encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := decode(sealed); err != nil {
		t.Fatalf("the whole record: got %v, want no error", err)
	}
	for bit := range len(sealed) * 8 {
		sealed[bit/8] ^= 1 << (bit % 8)
		if _, err := decode(sealed); err == nil && bit/8 < len(sealed)-len(`00000000"}`) {
			t.Errorf("record with bit %d of byte %d flipped was accepted, want an error", bit%8, bit/8)
		}
		sealed[bit/8] ^= 1 << (bit % 8)
	}
	for n := range sealed {
		if _, err := decode(sealed[:n]); err == nil {
			t.Errorf("record of %d of %d bytes was accepted, want an error", n, len(sealed))
		}
	}
}
