package cli

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/store/sqlite"
)

// TestASecondPlaceThatHangsHoldsUpNoStop, neither of a server that is told to nor of one whose storage failed.
func TestASecondPlaceThatHangsHoldsUpNoStop(t *testing.T) {
	t.Parallel()
	for _, failed := range []error{nil, errors.New("the disk went away")} {
		dir := clinicDir(t)
		synctest.Test(t, func(t *testing.T) {
			f := following(t, dir)
			mount, begun := make(chan struct{}), make(chan struct{})
			f.keepers = []func(context.Context){func(context.Context) { close(begun); <-mount }, func(ctx context.Context) { <-ctx.Done() }}
			stop := f.startKeepers(t.Context())
			<-begun
			at := time.Now()
			stop(failed)
			if took := time.Since(at); took != keepersPatience {
				t.Errorf("it stopped after %s, want %s", took, keepersPatience)
			}
			if !strings.Contains(f.log.String(), "stopped without waiting for a running copy") {
				t.Errorf("the log says %q", f.log.String())
			}
			close(mount)
			synctest.Wait()
			f.keepers = f.keepers[1:]
			at = time.Now()
			f.startKeepers(t.Context())(failed)
			if took := time.Since(at); took > 0 {
				t.Errorf("where nothing hangs it stopped after %s", took)
			}
		})
	}
}

// TestTheKeepersOfCopiesAreToldOfAFailure.
func TestTheKeepersOfCopiesAreToldOfAFailure(t *testing.T) {
	t.Parallel()
	h := &house{}
	why := make(chan error, 1)
	h.keepers = []func(context.Context){func(ctx context.Context) { <-ctx.Done(); why <- context.Cause(ctx) }}
	broken := errors.New("the disk went away")
	h.startKeepers(t.Context())(broken)
	if got := <-why; !errors.Is(got, broken) {
		t.Errorf("they ended with %v, want %v", got, broken)
	}
}

// TestNoStepIsMadeAfterTheStorageFailed: what can be read then may not be on the disk.
func TestNoStepIsMadeAfterTheStorageFailed(t *testing.T) {
	t.Parallel()
	second := t.TempDir()
	f := following(t, clinicDir(t))
	f.copied.Store(new(time.Time))
	k := f.newTrailKeeper(f.store.(*sqlite.Store), backupPlan{second: second, keep: backupKeep{days: 1}})
	defer k.pages.Close()
	if err := k.follow(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	f.note(t, "n1")
	for _, c := range []struct {
		cause error
		steps int
	}{{errors.New("the disk is gone"), 1}, {nil, 2}} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(c.cause)
		k.finish(ctx)
		if list := trailsOf(t, second); len(list) != 1 || list[0].steps != c.steps {
			t.Errorf("stopped for %v: there are %+v, want one trail of %d steps", c.cause, list, c.steps)
		}
	}
}
