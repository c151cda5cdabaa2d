package stream

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestStreamEndsWithCredential: a stream ends at a recheck after its credential has been revoked, or when the
// credential expires. It does not end if the check itself fails.
func TestStreamEndsWithCredential(t *testing.T) {
	const after = 30 * time.Second
	for name, c := range map[string]struct {
		changes func(stands *atomic.Pointer[error], h *Hub)
		until   time.Duration // when the credential expires unless it is revoked; 0: never
		ends    time.Duration // when the stream ends; 0: when its lease expires
	}{
		"revoked and rechecked":  {func(e *atomic.Pointer[error], h *Hub) { revoke(e); h.Recheck() }, 0, after},
		"expired":                {func(e *atomic.Pointer[error], _ *Hub) { revoke(e) }, time.Minute, time.Minute},
		"seen again":             {func(*atomic.Pointer[error], *Hub) {}, time.Minute, 0},
		"rechecked, not revoked": {func(_ *atomic.Pointer[error], h *Hub) { h.Recheck() }, 0, 0},
		"the database is away":   {func(e *atomic.Pointer[error], h *Hub) { fail(e); h.Recheck() }, 0, 0},
		// whichever caller revokes the credential must call Recheck
		"revoked behind its back": {func(e *atomic.Pointer[error], _ *Hub) { revoke(e) }, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStreams(t, Options{})
				var stands atomic.Pointer[error]
				var asked atomic.Int64
				guard := &Guard{Name: "key:1", Stands: func(context.Context) (time.Time, error) {
					asked.Add(1)
					if err := stands.Load(); err != nil {
						return time.Time{}, *err
					}
					if c.until == 0 {
						return time.Time{}, nil
					}
					return time.Now().Add(c.until), nil
				}}
				began := time.Now()
				first := s.open(Request{Topic: "checkup", Guard: guard, Lease: 5 * time.Minute})
				second := s.open(Request{Topic: AllTypes, Guard: guard, Lease: 5 * time.Minute})
				other := s.listen("checkup", "", 0) // has no guard
				go func() {
					for {
						if _, err := other.next(); err != nil {
							return
						}
					}
				}()
				go func() {
					time.Sleep(after)
					if n := asked.Load(); n != 1 {
						t.Errorf("the credential of two streams was checked %d times, want once", n)
					}
					c.changes(&stands, s.hub)
				}()
				type ended struct {
					frame
					after time.Duration
				}
				ends := make(chan ended)
				for _, r := range []*reader{first, second} {
					go func() {
						for {
							f, err := r.next()
							if err != nil || f.Type == "end" {
								ends <- ended{f, time.Since(began)}
								return
							}
						}
					}()
				}
				for range 2 {
					end := <-ends
					lived := end.after
					if c.ends == 0 && end.Reason != string(endLeaseExpired) {
						t.Errorf("ended after %v with %s, want lease-expired", lived, end.Reason)
					}
					if c.ends != 0 && (end.Reason != string(endUnknown) || lived < c.ends || lived > c.ends+
						time.Second) {
						t.Errorf("ended after %v with %s, want %v and unknown", lived, end.Reason, c.ends)
					}
				}
				synctest.Wait()
				if n := s.hub.Count(); n != 1 {
					t.Errorf("%d streams remain, want the one without a guard", n)
				}
			})
		})
	}
}

func revoke(e *atomic.Pointer[error]) {
	err := ErrRevoked
	e.Store(&err)
}

func fail(e *atomic.Pointer[error]) {
	err := errors.New("no database")
	e.Store(&err)
}
