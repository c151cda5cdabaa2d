package web

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/hex"
	"hash/maphash"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"holdfast/engine"
)

// Answers in pieces: a long list of slots, most of which is reused from one answer to the next. A page that has exactly
// this list already gets a 304. A caller that accepts gzip gets a copy that is compressed only once.

// partsAnswers computes the tags and the compressed copies that are cached with the lists
// (booking.Booking.KeepCompressed). A tag stands for the content, so a copy is never stale. Tags end with the
// process.
type partsAnswers struct {
	seed   maphash.Seed
	copies interface {
		CompressedCopy(tag string) []byte
		KeepCompressed(tag string, answer []byte)
	}

	compressing sync.Mutex // one copy is compressed at a time, so that no copy is compressed twice
	writer      *gzip.Writer
	buffer      bytes.Buffer
	lastTag     string // of the copy made last: the cache may take a moment to show it, or not want it
	last        []byte
}

// minZip is the least that is worth compressing, in bytes.
const minZip = 1400

func newPartsAnswers(e *engine.Engine) *partsAnswers {
	z, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // fails for an unknown level alone
	return &partsAnswers{seed: maphash.MakeSeed(), copies: e.Booking, writer: z}
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

// zip returns the compressed copy of the answer with this tag.
func (a *partsAnswers) zip(tag string, head []byte, parts [][]byte, tail string) []byte {
	if z := a.copies.CompressedCopy(tag); z != nil {
		return z
	}
	a.compressing.Lock()
	defer a.compressing.Unlock()
	if a.lastTag == tag {
		return a.last
	}
	if z := a.copies.CompressedCopy(tag); z != nil {
		return z
	}
	a.buffer.Reset()
	a.writer.Reset(&a.buffer)
	_, _ = a.writer.Write(head) // a buffer takes everything
	for _, p := range parts {
		_, _ = a.writer.Write(p)
	}
	_, _ = a.writer.Write([]byte(tail))
	_ = a.writer.Close()
	a.lastTag, a.last = tag, bytes.Clone(a.buffer.Bytes())
	a.copies.KeepCompressed(tag, a.last)
	return a.last
}

var varyEncoding = []string{"Accept-Encoding"}

// sayParts writes an answer in pieces without copying them. It compresses the answer if the caller accepts that, and
// sends no body if the caller has it already.
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
		said = tag[:len(tag)-1] + `-gzip"` // another representation, another tag
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

// takesGzip reads Accept-Encoding (RFC 9110): gzip or * is named, and not with a weight of zero.
func takesGzip(header []string) bool {
	any := false
	for _, line := range header {
		if line == "gzip" || line == "gzip, deflate, br, zstd" || line == "gzip, deflate, br" { // nearly always
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
