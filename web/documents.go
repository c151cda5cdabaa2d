package web

import (
	"net/http"
	"strings"

	"holdfast/docs"
)

// The manual, the API reference and the OpenAPI file. Package docs contains them, rendered and compressed.

var (
	htmlType = []string{"text/html; charset=utf-8"}
	yamlType = []string{"application/yaml"}
)

// manualPattern is the route of the manual's pages in logs and metrics.
const manualPattern = "/docs/{page}"

// manualPolicy allows the style sheet and the script of the manual, and requests to this server from "Try it".
var manualPolicy = []string{
	"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
		"form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
}

// getOpenAPI is `GET /openapi.yaml`. The file is stored compressed, and a client that accepts gzip gets it compressed.
func (s *Server) getOpenAPI(c *call) error {
	if !takesGzip(c.r.Header["Accept-Encoding"]) {
		return c.document(yamlType, docs.OpenAPI())
	}
	return c.packedDocument(yamlType, docs.PackedOpenAPI)
}

// getManual sends a file of the manual. A browser must revalidate its copy each time.
func (s *Server) getManual(c *call) error {
	f := docs.Find(c.r.URL.Path)
	if f == nil {
		return s.unknownPage(c)
	}
	h, kind := c.rw.Header(), []string{f.ContentType}
	h["Etag"], h["Content-Security-Policy"] = []string{"W/" + f.Tag}, manualPolicy
	if f.Gzip == nil || !takesGzip(c.r.Header["Accept-Encoding"]) {
		return c.document(kind, f.Plain())
	}
	return c.packedDocument(kind, f.Gzip)
}

// document sets a response that browsers and proxies may cache but must revalidate.
func (c *call) document(contentType []string, body []byte) error {
	h := c.rw.Header()
	h["Content-Type"], h["Cache-Control"] = contentType, []string{"no-cache"}
	c.status, c.out = http.StatusOK, body
	return nil
}

// packedDocument is like document, for a body that is already compressed.
func (c *call) packedDocument(contentType []string, packed []byte) error {
	h := c.rw.Header()
	addVary(h, "Accept-Encoding")
	h["Content-Encoding"] = []string{"gzip"}
	return c.document(contentType, packed)
}

// manualPage handles a request for a path below /docs that has no separate route. If the path ends in a slash or names
// a source file, manualPage redirects to the page.
func (s *Server) manualPage(c *call) error {
	c.is(manualPattern)
	name := c.r.URL.Path
	page := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "/"), ".md"), "/README")
	if page != name && docs.Find(page) != nil {
		c.rw.Header()["Location"] = []string{page}
		return c.empty(http.StatusMovedPermanently)
	}
	return s.getManual(c)
}
