package nodetest

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"
)

// Log captures the log output of a backend. It is safe for concurrent use.
type Log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (l *Log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

// Logger returns a logger that writes here.
func (l *Log) Logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// String returns the log output.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Count returns the number of times that a message was logged.
func (l *Log) Count(message string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), `msg="`+message)
}

// Await waits until a message has been logged at least the given number of times. It fails after a minute.
func (l *Log) Await(t testing.TB, message string, times int) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(10 * time.Minute); l.Count(message) < times; {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%q was logged %d times, want %d", message, l.Count(message), times)
		}
	}
}
