package web

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strings"
	"sync"
)

// Which answers are compressed: pages, documents, and the JSON that has neither a secret nor a person in it.
//
// Whoever sees encrypted answers go by sees their length, and the length of a compressed answer tells what two parts of it
// have in common (CRIME, BREACH). A stranger writes into the record of a clinic by booking: with the name "Lena V", to see
// whether the reception's list grows by less than usual. So a list of appointments, an answer with a key or a link in it,
// and everything else that only a credential opens, is sent as it is. A page has a nonce, which is another one in each
// answer; nothing that was asked with is repeated in it.

// packers are the gzip writers that wait for their next answer.
type packers struct{ pool sync.Pool }

// pack is body, compressed; fast, because somebody waits for it.
func (p *packers) pack(body []byte) []byte {
	z, _ := p.pool.Get().(*gzip.Writer)
	if z == nil {
		z, _ = gzip.NewWriterLevel(nil, gzip.BestSpeed) // fails for an unknown level alone
	}
	defer p.pool.Put(z)
	var b bytes.Buffer
	z.Reset(&b)
	_, _ = z.Write(body) // a buffer takes everything
	_ = z.Close()
	return b.Bytes()
}

// compressible reports whether the answers of a route may be compressed: those that anyone may read, pages among them, and
// the schedule. A specialist's calendar is opened by what is secret in its path.
func (rt *route) compressible() bool {
	return rt.method == http.MethodGet && (rt.access == anyone && rt.pattern != calendarPattern || rt.pattern == schedulePattern)
}

// compress replaces the answer that was left by its compressed form, where that is allowed, asked for and worth it. The
// answer says in every case that it depends on what is asked for, and a compressed one has a tag of its own.
func (c *call) compress() {
	h := c.rw.Header()
	if c.status != http.StatusOK && c.status != http.StatusNotModified || !c.route.compressible() || h["Content-Encoding"] != nil || isPicture(h) {
		return
	}
	addVary(h, "Accept-Encoding")
	if len(c.out) < minZip || !takesGzip(c.r.Header["Accept-Encoding"]) {
		return
	}
	if tags := h["Etag"]; len(tags) == 1 && !strings.HasPrefix(tags[0], "W/") {
		h["Etag"] = []string{"W/" + tags[0]} // of either form: what is asked again by it is compared weakly
	}
	h["Content-Encoding"] = []string{"gzip"}
	c.out = c.packers.pack(c.out)
}

// isPicture reports whether an answer is a picture, which is compressed already.
func isPicture(h http.Header) bool {
	kind := h["Content-Type"]
	return len(kind) == 1 && (kind[0] == "image/png" || kind[0] == "image/webp")
}

// addVary names one more header that an answer depends on.
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
