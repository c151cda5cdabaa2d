// Package pages contains the files of the browser pages in the form in which the server sends them.
//
// Their sources are in web/ui (small modules with comments) and their texts in engine/words. Before the build, the
// program in join joins the modules that patients and the desk load, minifies scripts and style sheets, and compresses
// the files that become smaller. Its results are in built; they are committed and embedded. So a fresh clone runs
// without a build step for the pages. The server only reads the files at startup and does not contain the bundler.
//
// # After a change to web/ui
//
//	make pages        (or: go generate ./web/pages)
//
// This command rewrites the changed files of built. Commit them with the change. A test of join fails until built is
// current. If two branches change the same page, git keeps one side of a compressed file and reports a conflict: merge
// web/ui, run make pages, and add built.
//
// # Names
//
// A file has the same name as in web/ui, such as book/page.js. A compressed file in built also ends in .gz. Documents
// (.html) are never compressed there, because the server fills them in. One hash of all files is part of the address of
// each file (Base). So a page never mixes two versions, and a browser requests each file only once.
package pages

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"sync"
)

//go:generate go run ./join ../ui ../../engine/words built

//go:embed built
var built embed.FS

// Files are the files of all pages.
type Files struct {
	Base string // the path they are served under: /ui/ and a hash of all of them

	byName map[string]*File
}

// File is one file of the pages. Callers must not change it.
type File struct {
	ContentType string
	Gzip        []byte        // compressed; nil if that is not smaller
	Plain       func() []byte // not compressed; unpacked from Gzip at the first call
}

// Load reads the embedded files. An error means that the program was built with corrupt files.
func Load() (*Files, error) {
	f := &Files{byName: make(map[string]*File)}
	sum := sha256.New()
	err := fs.WalkDir(built, "built", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := built.ReadFile(file)
		if err != nil {
			return err
		}
		name, compressed := strings.CutSuffix(strings.TrimPrefix(file, "built/"), ".gz")
		fmt.Fprintf(sum, "%s %d\n", name, len(body))
		sum.Write(body)
		f.byName[name] = newFile(name, body, compressed)
		return nil
	})
	f.Base = "/ui/" + hex.EncodeToString(sum.Sum(nil)[:8])
	return f, err
}

// File returns the file with a name, or nil if there is none.
func (f *Files) File(name string) *File { return f.byName[name] }

func newFile(name string, body []byte, compressed bool) *File {
	x := &File{ContentType: contentTypeOf(name)}
	if !compressed {
		x.Plain = func() []byte { return body }
		return x
	}
	x.Gzip = body
	x.Plain = sync.OnceValue(func() []byte {
		plain, err := unzip(body)
		if err != nil {
			panic("pages: " + name + ": " + err.Error()) // a test unpacks every file
		}
		return plain
	})
	return x
}

func unzip(b []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

func contentTypeOf(name string) string {
	switch path.Ext(name) {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".woff2":
		return "font/woff2"
	case ".html":
		return "text/html; charset=utf-8"
	}
	return "text/plain; charset=utf-8"
}
