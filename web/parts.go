package web

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/hex"
	"hash/maphash"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"weak"

	"holdfast/engine/booking"
	"holdfast/engine/timed"
)

// A long list of slots is written in pieces, most of which are reused for the next response. A caller whose copy is
// current gets a 304. Callers that accept gzip share one compressed copy.

// encodedLists caches the slots of the engine's lists as JSON. An entry exists as long as its list.
type encodedLists struct{ all sync.Map } // weak.Pointer[booking.SlotList] to *encodedSlots

// encodedSlots contains all slots of a list, one after the other, encoded without holds.
type encodedSlots struct {
	slots []byte
	ends  []int32 // the offset at which each slot ends
}

// of returns the encoded slots of a list. It encodes them at the first call.
func (e *encodedLists) of(list *booking.SlotList) *encodedSlots {
	key := weak.Make(list)
	if known, ok := e.all.Load(key); ok {
		return known.(*encodedSlots)
	}
	first, known := e.all.LoadOrStore(key, encodeSlots(list))
	if !known {
		runtime.AddCleanup(list, func(key weak.Pointer[booking.SlotList]) { e.all.Delete(key) }, key)
	}
	return first.(*encodedSlots)
}

func encodeSlots(list *booking.SlotList) *encodedSlots {
	e := &encodedSlots{ends: make([]int32, list.Len())}
	for place := range list.Len() {
		slot := list.Timeslot(place)
		e.slots = appendTimeslot(e.slots, &slot)
		e.ends[place] = int32(len(e.slots))
	}
	e.slots = slices.Clip(e.slots)
	return e
}

// part returns the slots with the indexes first to end-1. The caller must not change them.
func (e *encodedSlots) part(first, end int) []byte {
	from := int32(0)
	if first > 0 {
		from = e.ends[first-1]
	}
	return e.slots[from:e.ends[end-1]]
}

// slotParts returns the slots of a response as JSON, in pieces that are sent in order. Each slot begins with a comma.
func (s *Server) slotParts(answer *booking.Listing) (parts [][]byte) {
	encoded := s.encoded.of(answer.List)
	answer.Each(func(first, end int) {
		parts = append(parts, encoded.part(first, end))
	}, func(slot *booking.Timeslot) {
		parts = append(parts, appendTimeslot(nil, slot))
	})
	return parts
}

// partsAnswers computes the tags of responses, and caches their compressed copies by tag. A tag identifies the content,
// so a copy is never stale. Each process computes different tags, because the seed is random.
type partsAnswers struct {
	seed   maphash.Seed
	copies *timed.Map[string, []byte]

	compressing sync.Mutex // one copy is compressed at a time, so that no copy is compressed twice
	writer      *gzip.Writer
	buffer      bytes.Buffer
}

const (
	// minZip is the minimum size of a response that the server compresses, in bytes.
	minZip = 1400
	// A copy stays in the cache for at least copyTime. maxCopies is the size of each of the two halves of the cache, in
	// bytes.
	copyTime  = 5 * time.Minute
	maxCopies = 4 << 20
)

func newPartsAnswers() *partsAnswers {
	z, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // fails only for an unknown level
	weight := func(tag string, answer []byte) int { return len(tag) + len(answer) + 256 }
	return &partsAnswers{seed: maphash.MakeSeed(), copies: timed.NewWeighedMap(copyTime, maxCopies, weight), writer: z}
}

// tag returns the strong entity tag of the uncompressed form.
func (a *partsAnswers) tag(head []byte, parts [][]byte) string {
	sums := make([]byte, 0, 256)
	sums = binary.LittleEndian.AppendUint64(sums, maphash.Bytes(a.seed, head))
	for _, p := range parts {
		sums = binary.LittleEndian.AppendUint64(sums, maphash.Bytes(a.seed, p))
		sums = binary.LittleEndian.AppendUint64(sums, uint64(len(p)))
	}
	return `"` + hex.EncodeToString(binary.BigEndian.AppendUint64(nil, maphash.Bytes(a.seed, sums))) + `"`
}

// zip returns the compressed copy of the response with this tag.
func (a *partsAnswers) zip(tag string, head []byte, parts [][]byte, tail string) []byte {
	if z, ok := a.copies.Get(tag); ok {
		return z
	}
	a.compressing.Lock()
	defer a.compressing.Unlock()
	if z, ok := a.copies.Get(tag); ok { // another request stored it while this one waited
		return z
	}
	a.buffer.Reset()
	a.writer.Reset(&a.buffer)
	_, _ = a.writer.Write(head) // writing to a buffer cannot fail
	for _, p := range parts {
		_, _ = a.writer.Write(p)
	}
	_, _ = a.writer.Write([]byte(tail))
	_ = a.writer.Close()
	z := bytes.Clone(a.buffer.Bytes())
	a.copies.Put(tag, z, time.Now())
	return z
}

var varyEncoding = []string{"Accept-Encoding"}

// sayParts writes a response in pieces without copying them. If the caller accepts gzip, it sends the compressed copy.
// If the caller's copy is current, it responds with 304.
func (s *Server) sayParts(c *call, head []byte, parts [][]byte, tail string) error {
	size := len(head) + len(tail)
	for _, p := range parts {
		size += len(p)
	}
	tag := s.parts.tag(head, parts)
	zipped := size >= minZip && takesGzip(c.r.Header["Accept-Encoding"])
	h := c.rw.Header()
	h["Vary"] = varyEncoding
	h["Cache-Control"] = noCache
	said := tag
	if zipped {
		said = tag[:len(tag)-1] + `-gzip"` // another representation needs another ETag
	}
	h["Etag"] = []string{said}
	if hasTag(c.r.Header["If-None-Match"], said) {
		return c.empty(http.StatusNotModified)
	}
	if zipped {
		h["Content-Encoding"] = []string{"gzip"}
		c.status, c.out = http.StatusOK, s.parts.zip(tag, head, parts, tail)
		return nil
	}
	h["Content-Type"] = jsonType
	h["Content-Length"] = []string{strconv.Itoa(size)}
	c.rw.WriteHeader(http.StatusOK)
	if c.r.Method == http.MethodHead {
		return nil
	}
	// A write fails only if the caller has disconnected, and then the next one fails as well.
	_, _ = c.rw.Write(head)
	for _, p := range parts {
		_, _ = c.rw.Write(p)
	}
	_, _ = c.rw.Write([]byte(tail))
	return nil
}

// takesGzip reports whether Accept-Encoding (RFC 9110) accepts gzip: it contains gzip or *, with a weight other than 0.
func takesGzip(header []string) bool {
	any := false
	for _, line := range header {
		if line == "gzip" || line == "gzip, deflate, br, zstd" || line == "gzip, deflate, br" { // the usual values
			return true
		}
		for one := range strings.SplitSeq(line, ",") {
			coding, weight, _ := strings.Cut(one, ";")
			takes := !refusedWeight(weight)
			switch strings.ToLower(strings.TrimSpace(coding)) {
			case "gzip", "x-gzip":
				return takes
			case "*":
				any = takes
			}
		}
	}
	return any
}

// refusedWeight reports whether a weight such as q=0.0 excludes an encoding.
func refusedWeight(weight string) bool {
	name, value, there := strings.Cut(strings.ReplaceAll(weight, " ", ""), "=")
	if !there || !strings.EqualFold(name, "q") {
		return false
	}
	q, err := strconv.ParseFloat(value, 64)
	return err == nil && q == 0
}
