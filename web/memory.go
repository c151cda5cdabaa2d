package web

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	runtimemetrics "runtime/metrics"
	"strconv"
	"time"

	"holdfast/engine/timed"
)

// The server logs a warning if its memory exceeds these limits. A typical clinic needs a tenth of that.
const (
	heapWarning     = 500 << 20
	residentWarning = 1 << 30
	memoryEvery     = 30 * time.Second
)

// memoryWarning warns once when a value exceeds its limit, and again only after the value has fallen at least a tenth
// below it.
type memoryWarning struct {
	what  string
	bound uint64
	said  bool
}

// due reports whether to log a warning for n now.
func (w *memoryWarning) due(n uint64) bool {
	if w.said {
		w.said = n > w.bound-w.bound/10
		return false
	}
	w.said = n > w.bound
	return w.said
}

// watchMemory logs a warning when the heap or the process has become large, so that an operator can act before the
// machine runs out of memory.
func (s *Server) watchMemory(ctx context.Context) {
	heap := memoryWarning{what: "heap", bound: heapWarning}
	resident := memoryWarning{what: "resident", bound: residentWarning}
	timed.Every(ctx, memoryEvery, func(time.Time) {
		warnMemory(s.log, &heap, heapBytes())
		warnMemory(s.log, &resident, residentBytes())
	})
}

func warnMemory(log *slog.Logger, w *memoryWarning, n uint64) {
	if w.due(n) {
		log.Warn("memory use above the expected limit", "what", w.what, "megabytes", n>>20, "bound", w.bound>>20)
	}
}

// heapBytes returns the size of the objects on the heap, including those that the next collection will free.
func heapBytes() uint64 {
	sample := []runtimemetrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	runtimemetrics.Read(sample)
	if sample[0].Value.Kind() != runtimemetrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}

// residentBytes returns the memory of the process that is not swapped out, or 0 if /proc does not provide it.
func residentBytes() uint64 {
	b, err := os.ReadFile("/proc/self/statm")
	fields := bytes.Fields(b)
	if err != nil || len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseUint(string(fields[1]), 10, 64)
	return pages * uint64(os.Getpagesize())
}

// processorTime returns the processor time that the process has used. It returns false if /proc does not provide it.
func processorTime() (time.Duration, bool) {
	b, err := os.ReadFile("/proc/self/stat")
	// The program name, in brackets, can contain anything; the third field comes after it.
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if err != nil || len(fields) < 13 {
		return 0, false
	}
	user, _ := strconv.ParseInt(string(fields[11]), 10, 64)
	system, _ := strconv.ParseInt(string(fields[12]), 10, 64)
	return time.Duration(user+system) * (time.Second / 100), true // in hundredths of a second on every Linux
}

// openFiles returns the number of files that the process has open, and the limit. It returns false if /proc does not
// provide them.
func openFiles() (open, most int, ok bool) {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0, 0, false
	}
	limits, _ := os.ReadFile("/proc/self/limits")
	for line := range bytes.Lines(limits) {
		if rest, found := bytes.CutPrefix(line, []byte("Max open files")); found {
			soft, _, _ := bytes.Cut(bytes.TrimSpace(rest), []byte(" "))
			most, err = strconv.Atoi(string(soft))
			return len(list) - 1, most, err == nil // minus the descriptor used to read the list
		}
	}
	return 0, 0, false
}
