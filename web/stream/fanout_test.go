package stream

import (
	"context"
	"errors"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/holds"
)

// interrupted is a watch on the real table that ends when the context until does, with the context's cause as its
// error.
type interrupted struct {
	holds.Watch
	until context.Context
}

func (w interrupted) Next(ctx context.Context, buf []holds.Event) ([]holds.Event, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(w.until, cancel)()
	buf, err := w.Watch.Next(ctx, buf)
	if w.until.Err() != nil {
		err = context.Cause(w.until)
	}
	return buf, err
}

// TestInterruptedEventsEndStreams: if a stream may have missed an event, it ends, and the end frame gives the reason if
// it is known. It also checks how the hub responds to a new stream.
func TestInterruptedEventsEndStreams(t *testing.T) {
	lost := errors.New("the connection is lost")
	for _, c := range []struct {
		name     string
		watching error // how the watch ends
		again    error // the error of watching again
		want     endReason
		open     error // the error of opening a stream at that time
	}{
		{"the hub was too slow", holds.ErrSlow, nil, endSendFailed, nil},
		{"unknown reason", lost, nil, endUnknown, nil},
		{"and they do not come back", lost, lost, endUnknown, ErrInterrupted},
		{"the live state was closed", holds.ErrClosed, nil, endUnknown, ErrStopping},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				until, interrupt := context.WithCancelCause(context.Background())
				defer interrupt(nil)
				s := newStreams(t, Options{}, func(source *Source) {
					watch := source.Watch
					source.Watch = func(ctx context.Context) (holds.Watch, error) {
						if until.Err() != nil {
							if c.again != nil {
								return nil, c.again
							}
							return watch(ctx)
						}
						w, err := watch(ctx)
						return interrupted{w, until}, err
					}
				})
				r := s.listen("checkup", "", 0)
				r.upTo("connected")
				interrupt(c.watching)
				if f := r.upTo("end"); f.Reason != string(c.want) {
					t.Errorf("the stream ended with %s, want %s", f.Reason, c.want)
				}
				synctest.Wait()
				if c.open != nil {
					err := s.hub.Open(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil),
						Request{Topic: "checkup"})
					if !errors.Is(err, c.open) {
						t.Errorf("a new stream is answered %v, want %v", err, c.open)
					}
					return
				}
				again := s.listen("checkup", "", 0)
				again.upTo("connected")
				if h := s.claim("checkup", "ada", 0, otherClient); again.upTo("hold").HoldID != h.ID {
					t.Error("a new stream receives no events")
				}
			})
		})
	}
}

// TestStreamsReturnWithTheirEvents makes the watch on events fail for a minute. The hub must refuse new streams during
// that time and accept them afterwards.
func TestStreamsReturnWithTheirEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		until, interrupt := context.WithCancelCause(context.Background())
		defer interrupt(nil)
		var away atomic.Bool
		s := newStreams(t, Options{}, func(source *Source) {
			watch := source.Watch
			source.Watch = func(ctx context.Context) (holds.Watch, error) {
				if away.Load() {
					return nil, holds.ErrUnavailable
				}
				w, err := watch(ctx)
				return interrupted{w, until}, err
			}
		})
		r := s.listen("checkup", "", 0)
		r.upTo("connected")
		away.Store(true)
		interrupt(holds.ErrSlow)
		r.upTo("end")
		until = context.Background() // for later watches
		for range 60 {
			time.Sleep(time.Second)
			synctest.Wait()
			err := s.hub.Open(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil), Request{Topic: "checkup"})
			if !errors.Is(err, ErrInterrupted) || !s.hub.IsInterrupted() {
				t.Fatalf("without events: got %v, interrupted %v; want ErrInterrupted", err, s.hub.IsInterrupted())
			}
		}
		away.Store(false)
		time.Sleep(retryMost)
		synctest.Wait()
		again := s.listen("checkup", "", 0)
		again.upTo("connected")
		if h := s.claim("checkup", "ada", 0, otherClient); again.upTo("hold").HoldID != h.ID || s.hub.IsInterrupted() {
			t.Error("a new stream receives no events")
		}
	})
}
