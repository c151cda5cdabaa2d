package sqlite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"

	"holdfast/store"
	"holdfast/store/storetest"
)

// Every test in this file runs inside a synctest bubble: synctest.Wait returns when every caller waits for its turn. So
// the test decides which requests share a batch. The tests also prove that the store works in a bubble.

// testStore is a store whose writer can be paused.
type testStore struct {
	*Store
	t       *testing.T
	release chan struct{}
}

func newTestStore(t *testing.T, o Options) *testStore {
	t.Helper()
	if o.Path == "" {
		o.Path = filepath.Join(t.TempDir(), "holdfast.db")
	}
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	b := &testStore{Store: s, t: t, release: make(chan struct{})}
	if err := s.Write(context.Background(), func(tx store.Tx) error {
		for n := range int64(benchSpecialists) {
			if err := tx.PutSpecialist(context.Background(), store.Specialist{ID: benchSpecialist(n)}); err != nil {
				return err
			}
		}
		return tx.PutAppointmentType(context.Background(), store.AppointmentType{ID: "checkup", DurationMinutes: 15, SlotStepMinutes: 15, Capacity: 1})
	}); err != nil {
		t.Fatal(err)
	}
	return b
}

// hold keeps the turn inside the function of a request until let is called. The request runs in its caller's goroutine,
// so no other request is in its batch.
func (b *testStore) hold(wg *sync.WaitGroup) {
	synctest.Wait()
	wg.Go(func() {
		if err := b.Write(context.Background(), func(store.Tx) error { <-b.release; return nil }); err != nil {
			b.t.Logf("the function that held the writer: %v", err)
		}
	})
	synctest.Wait()
}

func (b *testStore) let() { close(b.release) }

func (b *testStore) insert(ctx context.Context, n int64) error {
	return b.Write(ctx, func(tx store.Tx) error { return tx.InsertAppointment(ctx, benchAppointment(n)) })
}

func (b *testStore) wantRow(n int64, want error) {
	b.t.Helper()
	if _, err := b.Appointment(context.Background(), benchAppointment(n).ID); !errors.Is(err, want) {
		b.t.Errorf("appointment %d: got %v, want %v", n, err, want)
	}
}

func inBubble(t *testing.T, o Options, fn func(b *testStore)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := newTestStore(t, o)
		defer storetest.Verify(t, b.Store)
		fn(b)
	})
}

func TestFullQueueRefusesWrite(t *testing.T) {
	inBubble(t, Options{QueueSize: 3}, func(b *testStore) {
		var wg sync.WaitGroup
		b.hold(&wg)
		// Three requests fit into the queue. The writer has already taken one more from the queue, and it runs next.
		errs := make([]error, 6)
		for n := range errs {
			wg.Go(func() { errs[n] = b.insert(context.Background(), int64(n)) })
			synctest.Wait()
		}
		for n, want := range []error{nil, nil, nil, nil, store.ErrOverloaded, store.ErrOverloaded} {
			if !errors.Is(errs[n], want) {
				t.Errorf("caller %d, before the writer ran: got %v, want %v", n, errs[n], want)
			}
		}
		b.let()
		wg.Wait()
		for n := range errs {
			want := store.ErrNotFound
			if errs[n] == nil {
				want = nil
			}
			b.wantRow(int64(n), want)
		}
		if err := b.insert(context.Background(), 9); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}

func TestWriteHonoursContextWhileWaiting(t *testing.T) {
	inBubble(t, Options{}, func(b *testStore) {
		var wg sync.WaitGroup
		b.hold(&wg)
		ctx, cancel := context.WithCancel(context.Background())
		var left, stayed error
		wg.Go(func() { left = b.insert(ctx, 1) })
		wg.Go(func() { stayed = b.insert(context.Background(), 2) })
		synctest.Wait()
		cancel()
		synctest.Wait()
		if !errors.Is(left, context.Canceled) {
			t.Errorf("while the writer is blocked: got %v, want context.Canceled", left)
		}
		b.let()
		wg.Wait()
		if stayed != nil {
			t.Errorf("the caller that kept waiting: %v", stayed)
		}
		b.wantRow(1, store.ErrNotFound)
		b.wantRow(2, nil)
	})
}

// TestOtherErrorAbortsBatch runs one batch with a valid request, a request that ends the batch, and another valid
// request.
func TestOtherErrorAbortsBatch(t *testing.T) {
	for name, poison := range map[string]func(tx *tx) error{
		"a statement fails, and the function hides it": func(tx *tx) error {
			tx.Exec("this is no SQL")
			return nil
		},
		"the savepoint is gone": func(tx *tx) error {
			if err := tx.run("ROLLBACK"); err != nil {
				return err
			}
			return errors.New("so it cannot be rolled back to")
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Options{}, func(b *testStore) {
				var wg sync.WaitGroup
				b.hold(&wg)
				var errs [3]error
				ran := false
				wg.Go(func() { errs[0] = b.insert(context.Background(), 0) })
				synctest.Wait()
				wg.Go(func() {
					errs[1] = b.Write(context.Background(), func(x store.Tx) error { return poison(x.(*tx)) })
				})
				synctest.Wait()
				wg.Go(func() {
					errs[2] = b.Write(context.Background(), func(x store.Tx) error {
						ran = true
						return x.InsertAppointment(context.Background(), benchAppointment(2))
					})
				})
				synctest.Wait()
				b.let()
				wg.Wait()
				for n, err := range errs[:2] {
					if !errors.Is(err, store.ErrUnavailable) {
						t.Errorf("caller %d: got %v, want ErrUnavailable", n, err)
					}
				}
				b.wantRow(0, store.ErrNotFound)
				if errs[2] != nil || !ran {
					t.Errorf("the request after the batch: ran %t, %v; want it in the next batch", ran, errs[2])
				}
				b.wantRow(2, nil)
			})
		})
	}
}

func TestBatchSharesOneCommit(t *testing.T) {
	inBubble(t, Options{}, func(b *testStore) {
		var wg sync.WaitGroup
		b.hold(&wg)
		// The first request fails, and the following ones must survive its rollback. The last request reads the rows of
		// the others.
		wg.Go(func() {
			if err := b.Write(context.Background(), func(tx store.Tx) error {
				return errors.Join(tx.InsertAppointment(context.Background(), benchAppointment(0)), errors.New("no"))
			}); err == nil {
				t.Error("the rejected one: got no error")
			}
		})
		synctest.Wait()
		for n := int64(1); n <= 50; n++ {
			wg.Go(func() {
				if err := b.insert(context.Background(), n); err != nil {
					t.Errorf("caller %d: %v", n, err)
				}
			})
		}
		synctest.Wait()
		var seen int
		wg.Go(func() {
			b.Write(context.Background(), func(tx store.Tx) error {
				all, _, err := tx.Appointments(context.Background(), store.AppointmentFilter{})
				seen = len(all)
				b.wantRow(1, store.ErrNotFound) // nothing is committed yet
				return err
			})
		})
		synctest.Wait()
		b.let()
		wg.Wait()
		if seen != 50 {
			t.Errorf("the last request of the batch saw %d other requests, want 50", seen)
		}
		b.wantRow(0, store.ErrNotFound)
		b.wantRow(50, nil)
	})
}

// TestRefusalAfterWriteSparesBatch checks that a request that has written and is then refused changes nothing. The
// other requests of its batch run again and are committed.
func TestRefusalAfterWriteSparesBatch(t *testing.T) {
	inBubble(t, Options{}, func(b *testStore) {
		var wg sync.WaitGroup
		b.hold(&wg)
		refusal := errors.New("no")
		want := []error{nil, refusal, nil, store.ErrSlotTaken, refusal, nil}
		got := make([]error, len(want))
		for n, err := range want {
			wg.Go(func() {
				got[n] = b.Write(context.Background(), func(tx store.Tx) error {
					a := benchAppointment(int64(n))
					if err == store.ErrSlotTaken {
						a = benchAppointment(0)
						a.ID = "another"
					}
					inserted := tx.InsertAppointment(context.Background(), a)
					audited := tx.AppendAudit(context.Background(), store.AuditEntry{ID: a.ID, At: benchDay, Actor: "system"})
					return errors.Join(inserted, audited, refusalOf(err))
				})
			})
			synctest.Wait()
		}
		b.let()
		wg.Wait()
		for n, err := range want {
			if !errors.Is(got[n], err) || (err == nil) != (got[n] == nil) {
				t.Errorf("request %d: got %v, want %v", n, got[n], err)
			}
			found := store.ErrNotFound
			if err == nil {
				found = nil
			}
			b.wantRow(int64(n), found)
		}
		entries, _, err := b.Audit(context.Background(), store.AuditFilter{})
		if err != nil || len(entries) != 3 {
			t.Errorf("got %d audit entries and %v, want those of the 3 requests that succeeded", len(entries), err)
		}
	})
}

// refusalOf returns the error that a request's function should return: none for ErrSlotTaken, because the database
// returns that error itself.
func refusalOf(err error) error {
	if err == store.ErrSlotTaken {
		return nil
	}
	return err
}

// TestGoexitInRepeatedBatchAnswersAll checks that every caller gets a result if a request ends its goroutine while its
// batch runs again.
func TestGoexitInRepeatedBatchAnswersAll(t *testing.T) {
	inBubble(t, Options{}, func(b *testStore) {
		var wg sync.WaitGroup
		b.hold(&wg)
		var errs [4]error
		runs := 0
		for n := range errs {
			wg.Go(func() {
				errs[n] = store.ErrWriteEnded // for the caller that does not return
				errs[n] = b.Write(context.Background(), func(tx store.Tx) error {
					if err := tx.InsertAppointment(context.Background(), benchAppointment(int64(n))); err != nil {
						return err
					}
					switch {
					case n == 1 && runs == 1:
						runtime.Goexit()
					case n == 1:
						runs++
					case n == 2:
						return errors.New("no")
					}
					return nil
				})
			})
			synctest.Wait()
		}
		b.let()
		wg.Wait()
		for n, err := range errs[:3] {
			if !errors.Is(err, store.ErrWriteEnded) {
				t.Errorf("request %d of the batch: got %v, want ErrWriteEnded", n, err)
			}
			b.wantRow(int64(n), store.ErrNotFound)
		}
		if errs[3] != nil {
			t.Errorf("the request after the batch: %v", errs[3])
		}
	})
}

// TestWriterSurvivesGoexit checks that the writer continues after a queued function has ended the writer's goroutine,
// as t.FailNow does.
func TestWriterSurvivesGoexit(t *testing.T) {
	inBubble(t, Options{}, func(b *testStore) {
		var wg sync.WaitGroup
		b.hold(&wg)
		var first error
		wg.Go(func() { first = b.insert(context.Background(), 0) })
		synctest.Wait()
		returned := false
		wg.Go(func() {
			b.Write(context.Background(), func(store.Tx) error { runtime.Goexit(); return nil })
			returned = true
		})
		synctest.Wait()
		wg.Go(func() {
			if err := b.insert(context.Background(), 2); err != nil {
				t.Errorf("the request after the batch: %v", err)
			}
		})
		synctest.Wait()
		b.let()
		wg.Wait()
		if !errors.Is(first, store.ErrUnavailable) || returned {
			t.Errorf("got %v for the other request, want ErrUnavailable; Write returned to the caller whose function ended its goroutine: %t", first, returned)
		}
		b.wantRow(0, store.ErrNotFound)
		b.wantRow(2, nil)
	})
}

// TestLoneCallerRunsOnlyItsWrite checks that a caller that holds the turn does not run the requests of other callers in
// its goroutine, even if its own request fails.
func TestLoneCallerRunsOnlyItsWrite(t *testing.T) {
	inBubble(t, Options{}, func(b *testStore) {
		var wg sync.WaitGroup
		own := errors.New("no")
		var refused error
		wg.Go(func() {
			refused = b.Write(context.Background(), func(store.Tx) error { <-b.release; return own })
		})
		synctest.Wait()
		ended := false
		wg.Go(func() {
			defer func() { ended = true }()
			b.Write(context.Background(), func(store.Tx) error { runtime.Goexit(); return nil })
		})
		synctest.Wait()
		b.let()
		wg.Wait()
		if refused != own || !ended {
			t.Errorf("got %v, want the caller's own error; the other request ended: %t", refused, ended)
		}
	})
}

func TestFullDiskRefusesThenRecovers(t *testing.T) {
	inBubble(t, Options{}, func(b *testStore) {
		limit := func(pages int) {
			if err := b.writer.conn.script(fmt.Sprintf("PRAGMA max_page_count = %d", pages)); err != nil {
				t.Fatal(err)
			}
		}
		limit(1) // no more pages than the database has
		var err error
		var n int64
		for ; err == nil && n < 1000; n++ {
			err = b.insert(context.Background(), n)
		}
		if !errors.Is(err, store.ErrFull) {
			t.Fatalf("insert %d on a full disk: got %v, want ErrFull", n, err)
		}
		b.wantRow(0, nil)
		b.wantRow(n-1, store.ErrNotFound)
		if err := b.insert(context.Background(), n); !errors.Is(err, store.ErrFull) {
			t.Errorf("second insert: got %v, want ErrFull", err)
		}
		limit(1_000_000)
		if err := b.insert(context.Background(), n); err != nil {
			t.Errorf("with free space again: %v", err)
		}
	})
}

func TestStoreRunsInBubble(t *testing.T) {
	inBubble(t, Options{Readers: 2}, func(b *testStore) {
		var wg sync.WaitGroup
		for n := range int64(100) {
			wg.Go(func() {
				if err := b.insert(context.Background(), n); err != nil {
					t.Error(err)
				}
				b.wantRow(n, nil)
				if _, err := b.Schedule(context.Background()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	})
}
