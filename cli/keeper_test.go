package cli

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// TestShutdownIgnoresHungBackupDestination: the server stops even though its backup destination hangs, whether or not
// its own storage has failed.
func TestShutdownIgnoresHungBackupDestination(t *testing.T) {
	t.Parallel()
	for _, failed := range []error{nil, errors.New("the disk went away")} {
		synctest.Test(t, func(t *testing.T) {
			log := &transcript{}
			h := &house{log: slog.New(slog.NewTextHandler(log, nil))}
			mount, begun := make(chan struct{}), make(chan struct{})
			h.keepers = []func(context.Context){
				func(context.Context) { close(begun); <-mount }, func(ctx context.Context) { <-ctx.Done() }}
			stop := h.startKeepers(t.Context())
			<-begun
			at := time.Now()
			stop(failed)
			if took := time.Since(at); took != keepersPatience {
				t.Errorf("the server stopped after %s, want %s", took, keepersPatience)
			}
			contains(t, "the log", log.String(), "stopped while a backup was still running")
			close(mount)
			synctest.Wait()
			h.keepers = h.keepers[1:]
			at = time.Now()
			h.startKeepers(t.Context())(failed)
			if took := time.Since(at); took > 0 {
				t.Errorf("without a hung destination, the server stopped after %s, want immediately", took)
			}
		})
	}
}

// TestKeepersGetReasonOfStop: the loops get the storage failure as the cause of their context, because the Follower
// must not write after it.
func TestKeepersGetReasonOfStop(t *testing.T) {
	t.Parallel()
	h := &house{}
	why := make(chan error, 1)
	h.keepers = []func(context.Context){func(ctx context.Context) { <-ctx.Done(); why <- context.Cause(ctx) }}
	broken := errors.New("the disk went away")
	h.startKeepers(t.Context())(broken)
	if got := <-why; !errors.Is(got, broken) {
		t.Errorf("the context ended with %v, want %v", got, broken)
	}
}
