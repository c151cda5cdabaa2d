package web

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

// TestLowMemoryIsLoggedOnce: the server logs a warning above the limit, and again only after usage has been well below
// it.
func TestLowMemoryIsLoggedOnce(t *testing.T) {
	var said bytes.Buffer
	log := slog.New(slog.NewTextHandler(&said, nil))
	w := memoryWarning{what: "heap", bound: heapWarning}
	for _, step := range []struct{ megabytes, warnings uint64 }{{499, 0}, {500, 0}, {501, 1}, {900, 1}, {490, 1},
		{501, 1}, {440, 1}, {501, 2}} {
		warnMemory(log, &w, step.megabytes<<20)
		if got := strings.Count(said.String(), "level=WARN"); uint64(got) != step.warnings {
			t.Errorf("at %d MB: %d warnings so far, want %d", step.megabytes, got, step.warnings)
		}
	}
	if !strings.Contains(said.String(), "what=heap megabytes=501 bound=500") {
		t.Errorf("the warning does not contain the sizes: %s", said.String())
	}
}

// TestProcessMemoryIsMeasured: the measured heap and resident memory are plausible. Without /proc, the resident memory
// is 0.
func TestProcessMemoryIsMeasured(t *testing.T) {
	if n := heapBytes(); n == 0 || n > 4<<30 {
		t.Errorf("the heap has %d bytes", n)
	}
	if n := residentBytes(); n > 0 && n < heapBytes() {
		t.Errorf("the process has %d bytes and its heap %d", n, heapBytes())
	}
}
