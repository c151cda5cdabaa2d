package sqlite

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// rawDisk writes one page at a time and waits for it, over a file that is already long enough, as the log is.
type rawDisk struct {
	file *os.File
	page []byte
	at   int64
}

const rawSize = 4 << 20

func newRawDisk(b *testing.B) *rawDisk {
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
	return &rawDisk{file: f, page: make([]byte, 4096)}
}

func (d *rawDisk) write(b *testing.B, pages int) {
	for range pages {
		if _, err := d.file.WriteAt(d.page, d.at); err != nil {
			b.Fatal(err)
		}
		if err := syscall.Fdatasync(int(d.file.Fd())); err != nil {
			b.Fatal(err)
		}
		d.at = (d.at + int64(len(d.page))) % rawSize
	}
}

// BenchmarkFdatasync is the disk itself, which no lone caller can outrun: one page, where a commit writes about six.
func BenchmarkFdatasync(b *testing.B) {
	d := newRawDisk(b)
	b.ResetTimer()
	d.write(b, b.N)
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "syncs/s")
}

// BenchmarkLoneCaller holds one caller's commits against the disk, turn by turn, as BenchmarkGroupCommit does.
func BenchmarkLoneCaller(b *testing.B) {
	const rows = 64
	s, d := benchStore(b), newRawDisk(b)
	warm(b, s)
	at := int64(warmRows)
	turns(b, func() { together(b, s, 1, at, at+rows) }, func() { d.write(b, rows) }, func() { at += rows })
}
