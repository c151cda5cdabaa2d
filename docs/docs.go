// Package docs contains the documentation that the server itself shows: the manual, the API reference and the API
// description.
//
// People write the pages in docs/*.md and docs/api/openapi.yaml. The program in docs/site renders them before the
// server is built; its results, in docs/built, are committed and embedded. After a change to a page, run make pages (or
// go generate ./docs) to render it again. A test fails until you have done so.
package docs

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io"
	"io/fs"
	"path"
	"strings"
	"sync"
)

//go:generate sh -c "gzip -9nc api/openapi.yaml >api/openapi.yaml.gz"
//go:generate go run ./site . built

// PackedOpenAPI is the description of the HTTP API in gzip form, as /openapi.yaml sends it. The caller must not change
// it.
//
//go:embed api/openapi.yaml.gz
var PackedOpenAPI []byte

// OpenAPI returns a copy of the description of the HTTP API. It is rarely needed, so it is unpacked at each call.
func OpenAPI() []byte { return unzip(PackedOpenAPI) }

//go:embed built pictures
var files embed.FS

// File is one file of the site, such as a page of the manual. The caller must not change it.
type File struct {
	ContentType string
	Gzip        []byte // compressed; nil for a picture
	Tag         string // a strong entity tag: a hash of the content, in quotes

	body []byte
}

// Plain returns the content, uncompressed. It is unpacked at each call, because almost every browser accepts gzip.
func (f *File) Plain() []byte {
	if f.Gzip != nil {
		return unzip(f.Gzip)
	}
	return f.body
}

// Find returns the file at an address of the server, such as /docs or /docs/backup, or nil if there is none.
func Find(address string) *File { return site()[address] }

// site returns all files by address. The first call hashes them, which takes a few milliseconds.
var site = sync.OnceValue(func() map[string]*File {
	all := make(map[string]*File)
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(body)
		f := &File{Tag: `"` + hex.EncodeToString(sum[:12]) + `"`, body: body}
		if inside, compressed := strings.CutSuffix(name, ".gz"); compressed {
			name, f.Gzip, f.body = inside, body, nil
		}
		f.ContentType = contentTypes[path.Ext(name)]
		all[addressOf(name)] = f
		return nil
	})
	if err != nil {
		panic(err) // the files are embedded, and a test reads them all
	}
	return all
})

// addressOf returns the address of an embedded file: built/backup.html is /docs/backup, pictures/board.webp is
// /docs/pictures/board.webp.
func addressOf(name string) string {
	switch name {
	case "built/index.html":
		return "/docs"
	case "built/openapi.json":
		return "/openapi.json"
	}
	return "/docs/" + strings.TrimSuffix(strings.TrimPrefix(name, "built/"), ".html")
}

var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
	".json": "application/json", ".png": "image/png", ".webp": "image/webp",
}

func unzip(packed []byte) []byte {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		panic(err) // the file is embedded, and a test has read it
	}
	text, err := io.ReadAll(r)
	if err != nil {
		panic(err)
	}
	return text
}
