// Package docs carries the parts of the documentation that the server itself shows: the description of its API and the
// page that the type of every problem points to.
//
// The description is embedded compressed, which spares a fifth of a megabyte. After a change of it, make pages (or go generate ./docs)
// packs it anew, and a test says so.
package docs

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"io"
)

//go:generate sh -c "gzip -9nc api/openapi.yaml >api/openapi.yaml.gz"

// PackedOpenAPI is the description of the HTTP API in gzip form, as /openapi.yaml sends it. The caller must not change it.
//
//go:embed api/openapi.yaml.gz
var PackedOpenAPI []byte

// OpenAPI returns a copy of the description of the HTTP API. Few callers read it, so it is unpacked at each call.
func OpenAPI() []byte {
	r, err := gzip.NewReader(bytes.NewReader(PackedOpenAPI))
	if err != nil {
		panic(err) // it was built in, and a test has read it
	}
	text, err := io.ReadAll(r)
	if err != nil {
		panic(err)
	}
	return text
}

// Errors says of every error code what it means and what to do, in Markdown of headings, paragraphs and lists.
//
//go:embed errors.md
var Errors string
