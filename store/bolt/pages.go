package bolt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"

	"go.etcd.io/bbolt"
)

// These checks read the bytes of the file and verify what bbolt's own check assumes. The file has version 2 of bbolt's
// format, in the byte order of the machine. A page begins with a header: id (8 bytes), flags (2), count (2) and
// overflow (4), the number of further pages that belong to it. Then come count elements of 16 bytes. Then come their
// keys and values, in the order of the elements.
const (
	pageHeader = 16
	element    = 16

	branchPage = 0x01
	leafPage   = 0x02
	freePage   = 0x10 // the list of free pages

	bucketElement = 0x01
	bucketHeader  = 16 // root page (8) and sequence (8); an inline bucket has root 0, and its page follows
)

var order = binary.NativeEndian

// verifyMetaPages requires that both meta pages match their checksums. bbolt accepts a file with one valid meta page,
// and may then silently use the state before the last commit. This could lose a recorded attempt.
func verifyMetaPages(f *os.File, size int) error {
	const body = 56 // length of the data before the FNV-1a sum that covers it
	for n := range int64(2) {
		page := make([]byte, pageHeader+body+8)
		if _, err := f.ReadAt(page, n*int64(size)); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		sum := fnv.New64a()
		_, _ = sum.Write(page[pageHeader : pageHeader+body])
		if sum.Sum64() != order.Uint64(page[pageHeader+body:]) {
			return fmt.Errorf("meta page %d does not match its checksum", n)
		}
	}
	return nil
}

// verifyPages reads the file page by page. Each page must be free, or must be the list of free pages or a page of a
// tree, together with its overflow pages.
func verifyPages(tx *bbolt.Tx, f *os.File, size int) error {
	free := func(id int) bool {
		page, err := tx.Page(id)
		return err == nil && page != nil && page.Type == "free"
	}
	end := int(tx.Size()) / size
	for id := 2; id < end; id++ {
		if free(id) {
			continue
		}
		page := make([]byte, size)
		if _, err := f.ReadAt(page, int64(id)*int64(size)); err != nil {
			return fmt.Errorf("page %d: %w", id, err)
		}
		overflow := int(order.Uint32(page[12:]))
		if order.Uint64(page) != uint64(id) || id+overflow >= end {
			return fmt.Errorf("page %d contains the number %d and claims %d overflow pages", id, order.Uint64(page),
				overflow)
		}
		for more := id + 1; more <= id+overflow; more++ {
			if free(more) {
				return fmt.Errorf("page %d is listed as free and continues page %d", more, id)
			}
		}
		if overflow > 0 {
			page = make([]byte, (1+overflow)*size)
			if _, err := f.ReadAt(page, int64(id)*int64(size)); err != nil {
				return fmt.Errorf("page %d: %w", id, err)
			}
		}
		if err := verifyElements(page); err != nil {
			return fmt.Errorf("page %d: %w", id, err)
		}
		id += overflow
	}
	return nil
}

// verifyElements requires that all keys and values are where they must be, so that none extends into another page.
func verifyElements(page []byte) error {
	if len(page) < pageHeader {
		return errors.New("it is truncated")
	}
	flags, count := order.Uint16(page[8:]), int(order.Uint16(page[10:]))
	switch flags {
	case freePage:
		return nil // bbolt's check covers it through the pages that it lists
	case branchPage, leafPage:
	default:
		return fmt.Errorf("it has the unknown kind %#x", flags)
	}
	next := pageHeader + count*element // where the next key must begin
	if next > len(page) {
		return fmt.Errorf("%d elements do not fit into it", count)
	}
	for i := range count {
		at := pageHeader + i*element
		e := page[at : at+element]
		var kind, position, key, value int
		if flags == branchPage {
			position, key = int(order.Uint32(e)), int(order.Uint32(e[4:]))
		} else {
			kind, position, key, value = int(order.Uint32(e)), int(order.Uint32(e[4:])), int(order.Uint32(e[8:])),
				int(order.Uint32(e[12:]))
		}
		if at+position != next || key+value > len(page)-next || kind > bucketElement {
			return fmt.Errorf("element %d of %d is not where it must be", i, count)
		}
		if kind == bucketElement {
			if err := verifyBucket(page[next+key : next+key+value]); err != nil {
				return fmt.Errorf("bucket %d of %d: %w", i, count, err)
			}
		}
		next += key + value
	}
	return nil
}

func verifyBucket(value []byte) error {
	if len(value) < bucketHeader {
		return errors.New("it is truncated")
	}
	if inline := order.Uint64(value) == 0; inline {
		return verifyElements(value[bucketHeader:])
	}
	return nil
}
