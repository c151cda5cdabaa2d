package web

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strings"
	"sync"
)

// The server compresses pages, documents, and JSON that contains neither secrets nor personal data.
//
// An eavesdropper sees the length of encrypted responses, and the length of a compressed response shows which text is
// repeated in it (CRIME, BREACH). Any visitor can write into a clinic's records by booking: for example, under the name
// "Lena V", to see whether the reception's list grows by less than usual. So the server does not compress a list of
// appointments, a response with a key or a link, or any other response that needs a credential. A page contains a
// nonce, which differs in each response, and repeats nothing from the request.

// packers is a pool of gzip writers for reuse.
type packers struct{ pool sync.Pool }

// pack compresses body at a fast level, because a caller is waiting for it.
func (p *packers) pack(body []byte) []byte {
	z, _ := p.pool.Get().(*gzip.Writer)
	if z == nil {
		z, _ = gzip.NewWriterLevel(nil, gzip.BestSpeed) // fails only for an unknown level
	}
	defer p.pool.Put(z)
	var b bytes.Buffer
	z.Reset(&b)
	_, _ = z.Write(body) // writing to a buffer cannot fail
	_ = z.Close()
	return b.Bytes()
}

// compressible reports whether the responses of a route may be compressed: those of public GET routes, pages included,
// and the schedule. Calendars are excluded, because their path contains a secret.
func (rt *route) compressible() bool {
	return rt.method == http.MethodGet && (rt.access == anyone &&
		rt.pattern != calendarPattern || rt.pattern == schedulePattern)
}

// compress replaces the response with its compressed form if the route allows it, the caller accepts it and the
// response is long enough. If the route allows it, compress sets Vary even on an uncompressed response. A compressed
// response gets a weak entity tag.
func (c *call) compress() {
	h := c.rw.Header()
	if c.status != http.StatusOK && c.status != http.StatusNotModified || !c.route.compressible() ||
		h["Content-Encoding"] != nil || isPicture(h) {
		return
	}
	addVary(h, "Accept-Encoding")
	if len(c.out) < minZip || !takesGzip(c.r.Header["Accept-Encoding"]) {
		return
	}
	if tags := h["Etag"]; len(tags) == 1 && !strings.HasPrefix(tags[0], "W/") {
		h["Etag"] = []string{"W/" + tags[0]} // weak, because it covers both forms
	}
	h["Content-Encoding"] = []string{"gzip"}
	c.out = c.packers.pack(c.out)
}

// isPicture reports whether a response is a picture. Pictures are already compressed.
func isPicture(h http.Header) bool {
	kind := h["Content-Type"]
	return len(kind) == 1 && (kind[0] == "image/png" || kind[0] == "image/webp")
}

// addVary adds the name of a request header to Vary, unless Vary already contains it.
func addVary(h http.Header, name string) {
	for _, line := range h["Vary"] {
		for one := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(one), name) {
				return
			}
		}
	}
	h["Vary"] = append(h["Vary"][:len(h["Vary"]):len(h["Vary"])], name)
}
