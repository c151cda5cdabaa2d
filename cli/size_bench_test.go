package cli

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// These benchmarks measure the figures in docs/sizing.md.

// BenchmarkSizeOfABooking books over HTTP, with an email and a webhook for each booking, and reports how much the files
// have grown per booking once all emails and webhooks are delivered. With HOLDFAST_BENCH_FULL, it makes ten times as
// many bookings.
func BenchmarkSizeOfABooking(b *testing.B) {
	bookings := 300
	if os.Getenv("HOLDFAST_BENCH_FULL") != "" {
		bookings *= 10
	}
	m := newMixedLoad(b)
	grown := func() float64 {
		// A backup has no separate log and no free pages.
		copied := filepath.Join(b.TempDir(), fmt.Sprint(time.Now().UnixNano()))
		runHere(b, "backup", "--data", m.dir, "--to", copied)
		return float64(sizeOf(b, filepath.Join(copied, databaseFile)))
	}
	before := grown()
	for b.Loop() {
		for n := range bookings {
			at := m.first.AddDate(0, 0, n/mixedSpecialists/32).Add(9*time.Hour +
				time.Duration(n/mixedSpecialists%32)*15*time.Minute)
			m.must("POST", "/v1/appointment-types/checkup/book", "", map[string]any{
				"clientId": fmt.Sprintf("visitor-secret-%016d", n), "slotStartDate": at,
				"specialistId": fmt.Sprintf("s%02d", n%mixedSpecialists),
				"patient": map[string]any{"name": "Rosa Winter",
					"email": fmt.Sprintf("rosa.winter.%d@example.org", n), "phone": "030 1234567"},
			})
		}
		for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
			answer := m.must("GET", "/v1/queue-status?kind=all&limit=1", longEnough, nil)
			if answer["pending"] == 0.0 && answer["processing"] == 0.0 {
				break
			} else if time.Since(began) > 5*time.Minute {
				b.Fatalf("the queue is not empty after five minutes: %v", answer)
			}
		}
	}
	b.ReportMetric((grown()-before)/float64(bookings), "database-B/booking")
	b.ReportMetric(float64(sizeOf(b, filepath.Join(m.dir, queueFile)))/float64(bookings), "queue-B/booking")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkBackupOf100k backs up a directory with 100,000 appointments, and verifies the backup.
func BenchmarkBackupOf100k(b *testing.B) {
	const appointments = 100_000
	dir, to := fullDir(b, appointments), filepath.Join(b.TempDir(), "backup")
	for b.Loop() {
		if err := os.RemoveAll(to); err != nil {
			b.Fatal(err)
		}
		began := time.Now()
		runHere(b, "backup", "--data", dir, "--to", to)
		b.ReportMetric(time.Since(began).Seconds(), "backup-s")
		began = time.Now()
		runHere(b, "verify", to)
		b.ReportMetric(time.Since(began).Seconds(), "verify-s")
	}
	b.ReportMetric(float64(sizeOf(b, to))/appointments, "backup-B/appointment")
	b.ReportMetric(0, "ns/op")
}

// runHere runs one command in this process.
func runHere(b *testing.B, args ...string) {
	b.Helper()
	var said bytes.Buffer
	if code := run(b.Context(), process{args: args, stdin: strings.NewReader(""), stdout: &said, stderr: &said,
		version: "test"}); code != 0 {
		b.Fatalf("holdfast %v: exit code %d: %s", args, code, &said)
	}
}

// sizeOf returns the size of a file, or of all files in a directory.
func sizeOf(b *testing.B, path string) (all int64) {
	b.Helper()
	err := filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			all += info.Size()
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return all
}
