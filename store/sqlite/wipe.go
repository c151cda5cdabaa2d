package sqlite

import (
	"context"
	"encoding/binary"
)

// wipe writes zeros into the unused parts of the pages from first to last. It reads and writes the pages as rows of the
// table sqlite_dbpage, inside the transaction.
func (t *tx) wipe(ctx context.Context, first, last int) error {
	for n := first; n <= last; n++ {
		var page []byte
		err := t.conn.query(ctx, func(r *row) { page = r.Bytes() }, `SELECT data FROM sqlite_dbpage WHERE pgno = ?`, n)
		if err != nil {
			return err
		}
		if !tidy(page, n == 1) {
			continue
		}
		if err := t.run(`UPDATE sqlite_dbpage SET data = ? WHERE pgno = ?`, page, n); err != nil {
			return err
		}
	}
	return nil
}

// tidy zeroes the unused parts of a b-tree page and reports whether they had any other content. The layout of such a
// page is described in "Database File Format", section 1.6: a header, the pointers to the cells, a gap, and the cells
// with freed blocks between them. Any other page begins with the number of another page, whose first byte is 0 in a
// file of less than 64 GiB. tidy does not change such a page, because SQLite writes it in full.
func tidy(page []byte, first bool) (changed bool) {
	header := 0
	if first {
		header = 100 // the page header comes after the header of the file
	}
	if len(page) < header+12 {
		return false
	}
	at := func(offset int) int { return int(binary.BigEndian.Uint16(page[offset:])) }
	pointers := header
	switch page[header] {
	case 0x0a, 0x0d: // leaf pages
		pointers += 8
	case 0x02, 0x05:
		pointers += 12
	default:
		return false
	}
	usable := len(page) - int(reserved(page, first))
	begin, end := pointers+2*at(header+3), at(header+5)
	if end == 0 {
		end = 1 << 16
	}
	if begin > end || end > usable {
		return false
	}
	changed = zero(page[begin:end])
	for block := at(header + 1); block != 0; {
		if block < end || block+4 > usable {
			return changed
		}
		next, size := at(block), at(block+2)
		if size < 4 || block+size > usable || next != 0 && next < block+size {
			return changed
		}
		changed = zero(page[block+4:block+size]) || changed
		block = next
	}
	return changed
}

// reserved returns the number of bytes at the end of a page that SQLite does not use. Files of this program have none.
func reserved(page []byte, first bool) byte {
	if first {
		return page[20]
	}
	return 0
}

// zero clears b and reports whether that changed it.
func zero(b []byte) (changed bool) {
	for i := range b {
		changed = changed || b[i] != 0
		b[i] = 0
	}
	return changed
}
