package pages

import (
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"
)

func load(t *testing.T) *Files {
	t.Helper()
	f, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestEveryEmbeddedFileIsServed checks that each embedded file is found under its name, and is compressed only if that
// makes it smaller.
func TestEveryEmbeddedFileIsServed(t *testing.T) {
	f := load(t)
	n := 0
	err := fs.WalkDir(built, "built", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		n++
		name, compressed := strings.CutSuffix(strings.TrimPrefix(file, "built/"), ".gz")
		x := f.File(name)
		switch {
		case x == nil:
			t.Errorf("%s is not there", name)
		case compressed != (x.Gzip != nil):
			t.Errorf("%s: compressed is %t, want %t", name, x.Gzip != nil, compressed)
		case compressed && path.Ext(name) == ".html":
			t.Errorf("%s is compressed, so the server cannot fill in the placeholders", name)
		case len(x.Plain()) <= len(x.Gzip):
			t.Errorf("%s: %d bytes became %d compressed", name, len(x.Plain()), len(x.Gzip))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n != len(f.byName) {
		t.Errorf("%d embedded files have %d different names", n, len(f.byName))
	}
}

// TestNoSourceIsEmpty: an empty style sheet builds without an error, and the pages lose their layout.
func TestNoSourceIsEmpty(t *testing.T) {
	err := fs.WalkDir(os.DirFS("../ui"), ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if info, err := d.Info(); err != nil || info.Size() == 0 {
			t.Errorf("%s is empty (%v)", file, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestFilesHaveContentTypes(t *testing.T) {
	f := load(t)
	for name, want := range map[string]string{
		"book/page.js": "text/javascript; charset=utf-8", "holdfast.css": "text/css; charset=utf-8",
		"favicon.svg": "image/svg+xml", "book.html": "text/html; charset=utf-8",
		"vendor/LICENSES": "text/plain; charset=utf-8", "vendor/figtree.woff2": "font/woff2",
	} {
		if x := f.File(name); x == nil || x.ContentType != want {
			t.Errorf("%s: got %+v, want the type %s", name, x, want)
		}
	}
	if f.File("book/none.js") != nil || f.File("built/book/page.js") != nil {
		t.Error("a missing file was found")
	}
}

func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		if _, err := Load(); err != nil {
			b.Fatal(err)
		}
	}
}
