package bolt

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestPageCheckFindsWhatBboltMisses makes two changes that bbolt's own check accepts. After either of them, the next
// write would damage the file.
func TestPageCheckFindsWhatBboltMisses(t *testing.T) {
	q := WithoutSync(queueIn(t, Options{}))
	for i := range 200 {
		op := email(fmt.Sprintf("op-%03d", i))
		op.Payload = fmt.Appendf(nil, "%q", strings.Repeat("x", 400))
		if err := q.Add(t.Context(), op); err != nil {
			t.Fatal(err)
		}
	}
	// Deletions leave free pages after the used ones. bbolt chooses the page for the list of free pages. The test needs
	// that page to be before the last free page.
	size := os.Getpagesize()
	var sound []byte
	var list, last int
	freed := map[int]bool{}
	for removed := 0; removed < 100 || last <= list; removed++ {
		if removed == 150 {
			t.Fatalf("the last free page is %d and the free list is page %d; the test needs a free page after the list", last,
				list)
		}
		if err := q.Remove(t.Context(), fmt.Sprintf("op-%03d", 199-removed)); err != nil {
			t.Fatal(err)
		}
		if removed < 99 {
			continue
		}
		var err error
		if sound, err = os.ReadFile(q.db.Path()); err != nil {
			t.Fatal(err)
		}
		meta := sound[:size]
		if order.Uint64(sound[size+64:]) > order.Uint64(meta[64:]) { // the transaction of the other meta page
			meta = sound[size:]
		}
		list = int(order.Uint64(meta[pageHeader+32:])) // the page of the list of free pages
		clear(freed)
		for i := range int(order.Uint16(sound[list*size+10:])) {
			freed[int(order.Uint64(sound[list*size+pageHeader+8*i:]))] = true
		}
		last = slices.Max(slices.Collect(maps.Keys(freed)))
	}
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}

	// The first key of each branch points into a free page, where bbolt could have left a copy of it.
	t.Run("a key in another page", func(t *testing.T) {
		b := bytes.Clone(sound)
		for id := 2; id < last; id++ {
			page := b[id*size:]
			if order.Uint64(page) != uint64(id) || order.Uint16(page[8:]) != branchPage || freed[id] {
				continue
			}
			position, key := int(order.Uint32(page[pageHeader:])), int(order.Uint32(page[pageHeader+4:]))
			copy(b[last*size+200:], page[pageHeader+position:][:key])
			order.PutUint32(page[pageHeader:], uint32((last-id)*size+200-pageHeader))
		}
		refuses(t, b, "element 0")
	})
	t.Run("the free list continues in a free page", func(t *testing.T) {
		b := bytes.Clone(sound)
		order.PutUint32(b[list*size+12:], uint32(last-list))
		refuses(t, b, "continues page")
	})
	t.Run("a page that ends beyond the end of the file", func(t *testing.T) {
		b := bytes.Clone(sound)
		order.PutUint32(b[list*size+12:], 1<<30)
		refuses(t, b, "overflow pages")
	})
}

func refuses(t *testing.T, b []byte, want string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "queue.bolt")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Verify(path); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}
