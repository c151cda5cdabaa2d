package sqlite

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"

	"holdfast/store"
)

// Pages reads the database page by page, and knows which of them it has handed out before: so a copy elsewhere can follow the
// database for the price of what has changed. One goroutine uses it at a time.
type Pages struct {
	dsn   string
	conn  *conn // its own: the version below counts what the other connections commit
	known Moment
}

// Moment is the database at one moment, as Pages read it.
type Moment struct {
	Count   int // of its pages
	Changed int // of the pages that were handed out
	sums    PageSums
	version int64 // of the connection; -1: none
}

// State names the content of the whole database at that moment.
func (m Moment) State() [sha256.Size]byte { return m.sums.State() }

// PageSums are the first half of the SHA-256 of each page, the first page first.
type PageSums [][sha256.Size / 2]byte

// State is the SHA-256 of all of them.
func (s PageSums) State() [sha256.Size]byte {
	h := sha256.New()
	for i := range s {
		h.Write(s[i][:])
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// Put notes the content of a page, and reports whether it is another than before. Page numbers begin with 1.
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

// Close ends the reading.
func (p *Pages) Close() error {
	if p.conn == nil {
		return nil
	}
	err := p.conn.close()
	p.conn, p.known.version = nil, -1
	return err
}

// Read hands each page that is not as it was at the moment that was kept, or every page, to each, in order, all of one moment of the
// database; writing goes on meanwhile. If nothing was committed since, it reads nothing. What each is given is its own until it returns; its
// error ends the reading.
func (p *Pages) Read(ctx context.Context, whole bool, each func(number int, page []byte) error) (m Moment, err error) {
	if p.conn == nil {
		if p.conn, err = openConn(p.dsn); err != nil {
			return m, err
		}
	}
	defer func() {
		if err != nil { // whatever state the connection is in
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

// compare reads every page of the moment that the connection sees. The page after which SQLite keeps its locks in files past 1 GB is read as
// zeros, which is what is in it.
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
	if m.Count < len(m.sums) { // the file has become shorter
		m.sums = m.sums[:m.Count]
		m.Changed = max(m.Changed, 1)
	}
	return nil
}

// Keep says that what was handed out up to a moment is where it should be: the next Read goes on from there.
func (p *Pages) Keep(m Moment) { p.known = m }

// PageFile is a database file that is put together from pages.
type PageFile struct {
	Sums PageSums
	file *os.File
	size int // of a page, in bytes
}

// CreatePageFile makes the file, which must not exist, for its owner alone.
func CreatePageFile(path string) (*PageFile, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return &PageFile{file: file}, nil
}

// Put writes a page. ErrInvalid if it has another size than those before, or no number.
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

// Truncate leaves the first pages.
func (f *PageFile) Truncate(count int) error {
	if count > len(f.Sums) {
		return fmt.Errorf("%w: it should have %d pages, and has %d", store.ErrInvalid, count, len(f.Sums))
	}
	f.Sums = f.Sums[:count]
	return f.file.Truncate(int64(count) * int64(f.size))
}

// Close ends the file, and says in its header that there is no write-ahead log beside it: with the log's mode it could not be opened by
// who may only read. The bytes 18 and 19 are the format's versions for writing and reading.
func (f *PageFile) Close() error {
	var failed error
	if len(f.Sums) > 0 {
		_, failed = f.file.WriteAt([]byte{1, 1}, 18)
	}
	return errors.Join(failed, f.file.Sync(), f.file.Close())
}
