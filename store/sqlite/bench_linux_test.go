package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// rawDisk writes pages to a file in one call and waits until they are durable. The file already has its full length,
// like the log.
type rawDisk struct {
	file  *os.File
	bytes []byte
	at    int64
}

const (
	rawSize = 4 << 20
	// commitPages is the number of pages that the commit of one appointment writes to the log: the last page of the
	// table and of each of four indexes, and occasionally one more page for each.
	commitPages = 6
)

func newRawDisk(b *testing.B, pages int) *rawDisk {
	b.Helper()
	f, err := os.Create(filepath.Join(b.TempDir(), "raw"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { f.Close() })
	if _, err := f.Write(make([]byte, rawSize)); err != nil {
		b.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		b.Fatal(err)
	}
	return &rawDisk{file: f, bytes: make([]byte, pages*4096)}
}

func (d *rawDisk) write(b *testing.B, times int) {
	for range times {
		if _, err := d.file.WriteAt(d.bytes, d.at); err != nil {
			b.Fatal(err)
		}
		if err := syscall.Fdatasync(int(d.file.Fd())); err != nil {
			b.Fatal(err)
		}
		if d.at += int64(len(d.bytes)); d.at+int64(len(d.bytes)) > rawSize {
			d.at = 0
		}
	}
}

// BenchmarkFdatasync measures the disk itself, which limits the speed of a single caller. It writes one page, and as
// many pages as a commit writes.
func BenchmarkFdatasync(b *testing.B) {
	for _, pages := range []int{1, commitPages} {
		b.Run(fmt.Sprintf("pages=%d", pages), func(b *testing.B) {
			d := newRawDisk(b, pages)
			b.ResetTimer()
			d.write(b, b.N)
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "syncs/s")
		})
	}
}

// BenchmarkLoneCaller compares the commits of one caller with plain writes of as many pages. Like BenchmarkGroupCommit,
// it measures both in turns.
func BenchmarkLoneCaller(b *testing.B) {
	const rows = 64
	s, d := benchStore(b), newRawDisk(b, commitPages)
	warm(b, s)
	at := int64(warmRows)
	turns(b, func() { together(b, s, 1, at, at+rows) }, func() { d.write(b, rows) }, func() { at += rows })
}
