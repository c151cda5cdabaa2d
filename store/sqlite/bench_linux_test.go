package sqlite

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// BenchmarkFdatasync is the disk itself: what one commit of a lone caller cannot be faster than. It writes one page,
// where a commit writes about six, over a file that is already long enough, as the log is.
func BenchmarkFdatasync(b *testing.B) {
	f, err := os.Create(filepath.Join(b.TempDir(), "raw"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	const commit, size = 4096, 4 << 20
	page := make([]byte, commit)
	for at := int64(0); at < size; at += commit {
		if _, err := f.WriteAt(page, at); err != nil {
			b.Fatal(err)
		}
	}
	if err := f.Sync(); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for n := range b.N {
		if _, err := f.WriteAt(page, int64(n)*commit%size); err != nil {
			b.Fatal(err)
		}
		if err := syscall.Fdatasync(int(f.Fd())); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "syncs/s")
}
