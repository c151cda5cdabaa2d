package cli

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/store"
)

// TestProgressIsShown: in the first two seconds, no progress is shown. After that, a terminal shows a bar, which is
// removed at the end, and other outputs get a line every ten seconds.
func TestProgressIsShown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		terminal bool
		takes    time.Duration
		want     string
	}{
		"quick, terminal": {true, time.Second, "\r\x1b[K"},
		"quick, file":     {false, time.Second, ""},
		"slow, file":      {false, 25 * time.Second, "copying: 8%\ncopying: 48%\ncopying: 88%\n"},
		"slow, terminal": {true, 2300 * time.Millisecond,
			"\r\x1b[K[##............................] copying: 8%\r\x1b[K[##............................] copying: 8%\r\x1b[K"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				g := new(progress)
				ctx := store.WithProgress(t.Context(), g.begin)
				store.BeginStep(ctx, "copying", func() (int64, int64) {
					return int64(time.Since(begin) / time.Second), 25
				})
				watching, stop := context.WithCancel(ctx)
				var out strings.Builder
				ended := make(chan struct{})
				go func() { defer close(ended); showProgress(watching, &out, c.terminal, g.current) }()
				time.Sleep(c.takes)
				synctest.Wait()
				stop()
				<-ended
				if out.String() != c.want {
					t.Errorf("got %q\nwant %q", out.String(), c.want)
				}
			})
		})
	}
}

// TestBackupReportsProgress: each step of a backup has a total, and the progress never exceeds it.
func TestBackupReportsProgress(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, "import", "--data", dir, harbour)
	var steps []string
	h, _ := backingUp(t, dir)
	ctx := store.WithProgress(t.Context(), func(step string, m store.Measure) {
		steps = append(steps, step)
		if done, total := m(); done < 0 || total <= 0 || done > total {
			t.Errorf("%s: %d of %d", step, done, total)
		}
	})
	if err := h.backups.Create(ctx, dir+"/copy"); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(steps, ", "); !strings.HasPrefix(got, "copying the database, checking the database") {
		t.Errorf("got %s", got)
	}
}
