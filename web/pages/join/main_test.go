package main

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"holdfast/engine/words"
)

// folder is the directory of the texts.
const folder = "../../../engine/words"

// kept reads a directory like built. It returns, by file name, the unpacked content and the name under which the file
// is stored.
func kept(t *testing.T, dir string) (content map[string][]byte, file map[string]string) {
	t.Helper()
	content, file = make(map[string][]byte), make(map[string]string)
	tree := os.DirFS(dir)
	err := fs.WalkDir(tree, ".", func(at string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := fs.ReadFile(tree, at)
		if err != nil {
			return err
		}
		plain, err := unpacked(at, body)
		if err != nil {
			t.Errorf("%s: %v", at, err)
		}
		name := strings.TrimSuffix(at, ".gz")
		if file[name] != "" {
			t.Errorf("%s and %s have the same file name", at, file[name])
		}
		content[name], file[name] = plain, at
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return content, file
}

// TestBuiltFilesAreCurrent: the committed and embedded files equal those that web/ui produces now.
func TestBuiltFilesAreCurrent(t *testing.T) {
	want, err := build(os.DirFS("../../ui"), os.DirFS(folder), words.Registered())
	if err != nil {
		t.Fatal(err)
	}
	have, file := kept(t, "../built")
	var stale []string
	for name, body := range want {
		as, _ := packed(name, body)
		if !bytes.Equal(have[name], body) || file[name] != as {
			stale = append(stale, name)
		}
		delete(have, name)
	}
	stale = append(stale, slices.Collect(maps.Keys(have))...)
	if len(stale) > 0 {
		slices.Sort(stale)
		t.Errorf("web/pages/built does not match web/ui: %s\nrun: go generate ./web/pages",
			strings.Join(stale, ", "))
	}
}

// TestWriteRepairsTree: missing, changed, broken or superfluous files are repaired, and correct files are not
// touched.
func TestWriteRepairsTree(t *testing.T) {
	dir := t.TempDir()
	long := bytes.Repeat([]byte("words "), 100)
	files := map[string][]byte{"a/page.js": long, "b/page.js": long, "c.svg": []byte("<svg/>"), "d.html": long}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(write(dir, files))
	right, err := os.Stat(filepath.Join(dir, "d.html"))
	must(err)
	must(os.WriteFile(filepath.Join(dir, "a", "page.js.gz"), []byte("<<<<<<< not gzip"), 0o644))
	must(os.Remove(filepath.Join(dir, "b", "page.js.gz")))
	must(os.WriteFile(filepath.Join(dir, "b", "page.js"), long, 0o644))
	must(os.WriteFile(filepath.Join(dir, "c.svg"), []byte("<svg></svg>"), 0o644))
	must(write(dir, files))

	content, file := kept(t, dir)
	for name, as := range map[string]string{"a/page.js": "a/page.js.gz", "b/page.js": "b/page.js.gz", "c.svg": "c.svg",
		"d.html": "d.html"} {
		if !bytes.Equal(content[name], files[name]) || file[name] != as {
			t.Errorf("%s is stored as %s with %q", name, file[name], content[name])
		}
	}
	if len(content) != len(files) {
		t.Errorf("got %d files, want %d", len(content), len(files))
	}
	if now, err := os.Stat(filepath.Join(dir, "d.html")); err != nil || !now.ModTime().Equal(right.ModTime()) {
		t.Errorf("an unchanged file was written again (%v)", err)
	}
}
