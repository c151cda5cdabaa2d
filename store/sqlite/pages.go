package sqlite

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"

	"holdfast/store"
)

// Pages reads the database page by page and compares each page with the previous copy. So a remote copy can follow the
// database, and only changed pages must be sent. Only one goroutine may use it at a time.
type Pages struct {
	dsn   string
	conn  *conn // used by Pages only: data_version counts only the commits of other connections
	known Moment
}

// Moment describes the database as one call of Pages.Read found it.
type Moment struct {
	Count   int // number of its pages
	Changed int // number of pages passed to the caller
	sums    PageSums
	version int64 // data_version of the connection; -1 means none
}

// State returns a hash of the whole database at that moment.
func (m Moment) State() [sha256.Size]byte { return m.sums.State() }

// PageSums holds the first half of the SHA-256 of each page, in page order.
type PageSums [][sha256.Size / 2]byte

// State returns the SHA-256 of all sums.
func (s PageSums) State() [sha256.Size]byte {
	h := sha256.New()
	for i := range s {
		h.Write(s[i][:])
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// Put records the content of a page and reports whether it differs from the previous content. Page numbers start at
// 1.
func (s *PageSums) Put(number int, page []byte) bool {
	for len(*s) < number {
		*s = append(*s, [sha256.Size / 2]byte{})
	}
	sum := sha256.Sum256(page)
	if half := [sha256.Size / 2]byte(sum[:]); half != (*s)[number-1] {
		(*s)[number-1] = half
		return true
	}
	return false
}

// Pages returns a reader of the pages of this database. The caller closes it before the Store.
func (s *Store) Pages() *Pages {
	return &Pages{dsn: s.dsn + "&_pragma=query_only(1)", known: Moment{version: -1}}
}

// Close closes the reader's connection.
func (p *Pages) Close() error {
	if p.conn == nil {
		return nil
	}
	err := p.conn.close()
	p.conn, p.known.version = nil, -1
	return err
}

// Read calls each with every page that has changed since the moment given to Keep, in order. If whole is true, it does
// so with every page. All pages are from one snapshot of the database. Writes continue during the call. If nothing was
// committed since that moment and whole is false, Read reads no page. A page is valid until each returns. If each
// returns an error, Read stops and returns it.
func (p *Pages) Read(ctx context.Context, whole bool, each func(number int, page []byte) error) (m Moment, err error) {
	if p.conn == nil {
		if p.conn, err = openConn(p.dsn); err != nil {
			return m, err
		}
	}
	defer func() {
		if err != nil { // the state of the connection is unknown
			err = errors.Join(err, p.Close())
		}
	}()
	if _, err := p.conn.exec("BEGIN"); err != nil {
		return m, err
	}
	if m.version, err = oneOn(ctx, p.conn, (*row).Int64, "PRAGMA data_version"); err != nil {
		return m, err
	}
	if m.version == p.known.version && !whole {
		m = p.known
		m.Changed = 0
	} else if err := p.compare(ctx, whole, &m, each); err != nil {
		return m, err
	}
	_, err = p.conn.exec("ROLLBACK")
	return m, err
}

// compare reads every page of the open transaction's snapshot. In files over 1 GB, SQLite returns zeros for the page of
// its locks. The content of that page is zeros.
func (p *Pages) compare(ctx context.Context, whole bool, m *Moment, each func(int, []byte) error) error {
	m.sums = append(PageSums(nil), p.known.sums...)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var failed error
	err := p.conn.query(ctx, func(r *row) {
		number, page := r.Int(), r.Bytes()
		m.Count = number
		if changed := m.sums.Put(number, page); (changed || whole) && failed == nil {
			m.Changed++
			if failed = each(number, page); failed != nil {
				stop()
			}
		}
	}, "SELECT pgno, data FROM sqlite_dbpage")
	if failed != nil {
		return failed
	}
	if err != nil {
		return err
	}
	if m.Count < len(m.sums) { // the file is shorter than before
		m.sums = m.sums[:m.Count]
		m.Changed = max(m.Changed, 1)
	}
	return nil
}

// Keep records that the copy contains all pages of m. The next Read compares with m.
func (p *Pages) Keep(m Moment) { p.known = m }

// PageFile is a database file assembled from pages.
type PageFile struct {
	Sums PageSums
	file *os.File
	size int // page size in bytes
}

// CreatePageFile creates the file, which must not exist, with access for its owner only.
func CreatePageFile(path string) (*PageFile, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return &PageFile{file: file}, nil
}

// Put writes a page. It returns ErrInvalid if its size differs from that of the earlier pages, or its number is
// invalid.
func (f *PageFile) Put(number int, page []byte) error {
	if f.size == 0 {
		f.size = len(page)
	}
	if number < 1 || len(page) != f.size || len(page) < 512 {
		return fmt.Errorf("%w: page %d has %d bytes", store.ErrInvalid, number, len(page))
	}
	f.Sums.Put(number, page)
	_, err := f.file.WriteAt(page, int64(number-1)*int64(f.size))
	return err
}

// Truncate removes all pages after the first count.
func (f *PageFile) Truncate(count int) error {
	if count > len(f.Sums) {
		return fmt.Errorf("%w: the file should have %d pages but has %d", store.ErrInvalid, count, len(f.Sums))
	}
	f.Sums = f.Sums[:count]
	return f.file.Truncate(int64(count) * int64(f.size))
}

// Close switches the header of the file to the mode without a write-ahead log, syncs the file and closes it. In WAL
// mode, a program with only read permission could not open the file. Bytes 18 and 19 are the write and read versions of
// the file format.
func (f *PageFile) Close() error {
	var failed error
	if len(f.Sums) > 0 {
		_, failed = f.file.WriteAt([]byte{1, 1}, 18)
	}
	return errors.Join(failed, f.file.Sync(), f.file.Close())
}
