package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"holdfast/store"
)

// Long commands show their progress on standard error: on a terminal as a bar, otherwise as a line every 10 seconds. A
// command that takes less than progressAfter shows nothing.
const (
	progressAfter = 2 * time.Second
	barPause      = 200 * time.Millisecond
	linePause     = 10 * time.Second
)

// progress holds the current step of a long operation. It is safe for concurrent use.
type progress struct {
	mu      sync.Mutex
	step    string
	measure store.Measure
}

// begin sets the current step; see store.WithProgress.
func (g *progress) begin(step string, m store.Measure) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.step, g.measure = step, m
}

// progressBody is the current step of an operation of a server. Step is empty if there is none.
type progressBody struct {
	Step  string `json:"step"`
	Done  int64  `json:"done"`
	Total int64  `json:"total"` // 0 means unknown
}

func (g *progress) current(context.Context) progressBody {
	g.mu.Lock()
	step, measure := g.step, g.measure
	g.mu.Unlock()
	b := progressBody{Step: step}
	if measure != nil {
		b.Done, b.Total = measure()
	}
	return b
}

// text returns the progress as a line for people.
func (b *progressBody) text() string {
	switch {
	case b.Total > 0:
		return fmt.Sprintf("%s: %d%%", b.Step, min(100*b.Done/b.Total, 100))
	case b.Done > 0:
		return fmt.Sprintf("%s: %d rows", b.Step, b.Done)
	}
	return b.Step
}

// bar returns the progress as a progress bar for a terminal.
func (b *progressBody) bar() string {
	if b.Total <= 0 {
		return b.text()
	}
	const width = 30
	full := int(min(width*b.Done/b.Total, width))
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", width-full) + "] " + b.text()
}

// watched runs do and shows the progress that it reports with store.BeginStep.
func (p process) watched(ctx context.Context, do func(context.Context) error) error {
	g := new(progress)
	return p.showing(ctx, g.current, func(ctx context.Context) error { return do(store.WithProgress(ctx, g.begin)) })
}

// watchedAt runs do, which calls the server of admin, and shows the progress of that server.
func (p process) watchedAt(ctx context.Context, admin *adminClient, do func(context.Context) error) error {
	return p.showing(ctx, func(ctx context.Context) (b progressBody) {
		if err := admin.call(ctx, http.MethodGet, "/local/progress", nil, &b); err != nil {
			return progressBody{} // a server of an earlier version, or one that has just stopped
		}
		return b
	}, do)
}

// showing runs do, and in the meantime shows the current progress.
func (p process) showing(ctx context.Context, current func(context.Context) progressBody,
	do func(context.Context) error) error {
	ctx, stop := context.WithCancel(ctx)
	var shown sync.WaitGroup
	shown.Go(func() { showProgress(ctx, p.stderr, isTerminal(p.stderr), current) })
	err := do(ctx)
	stop()
	shown.Wait()
	return err
}

// showProgress prints the progress to w until ctx ends.
func showProgress(ctx context.Context, w io.Writer, terminal bool, current func(context.Context) progressBody) {
	pause := linePause
	if terminal {
		pause = barPause
		defer func() { _, _ = io.WriteString(w, "\r\x1b[K") }()
	}
	wait, last := progressAfter, ""
	for {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
		wait = pause
		b := current(ctx)
		switch line := b.text(); {
		case b.Step == "" || ctx.Err() != nil:
		case terminal:
			_, _ = io.WriteString(w, "\r\x1b[K"+b.bar())
		case line != last:
			_, _ = io.WriteString(w, line+"\n")
			last = line
		}
	}
}

// isTerminal reports whether a writer is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// getProgress handles GET /local/progress.
func (h *house) getProgress(w http.ResponseWriter, r *http.Request) {
	answer(w, h.progress.current(r.Context()))
}
