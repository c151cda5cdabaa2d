package main

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"
	"testing/fstest"
)

// TestBuiltPagesAreCurrent: the embedded pages equal the current rendering of the manual's sources.
func TestBuiltPagesAreCurrent(t *testing.T) {
	want, err := build(os.DirFS(".."))
	if err != nil {
		t.Fatal(err)
	}
	built := os.DirFS("../built")
	for name, body := range want {
		if packed, err := fs.ReadFile(built, name+".gz"); err != nil {
			t.Errorf("docs/built has no %s: run make pages, and commit it", name)
		} else if plain, err := unpacked(packed); err != nil || !bytes.Equal(plain, body) {
			t.Errorf("docs/built/%s.gz is stale: run make pages, and commit it", name)
		}
	}
	err = fs.WalkDir(built, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && want[strings.TrimSuffix(name, ".gz")] == nil {
			t.Errorf("docs/built/%s is no longer part of the manual: run make pages, and commit it", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestMapListsEveryPage: a reader can find each page from the start page.
func TestMapListsEveryPage(t *testing.T) {
	m, err := readManual(os.DirFS(".."))
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{"/docs": true}
	for _, s := range m.sections {
		for _, e := range s.entries {
			listed[e.address] = true
		}
	}
	for _, p := range m.pages {
		if !listed[p.address] {
			t.Errorf("docs/README.md does not list %s", p.address)
		}
	}
}

func TestBrokenLinksAreRefused(t *testing.T) {
	pages := fstest.MapFS{
		"README.md": {Data: []byte("# Manual\n\n## For all\n\n| [Other](other.md) | What? |\n")},
		"other.md":  {Data: []byte("# Other\n\n[up](README.md#for-all), [gone](gone.md), [no section](other.md#none), [source](../main.go)\n\n## A `b_c`: d\n")},
	}
	m, err := readManual(pages)
	if err != nil {
		t.Fatal(err)
	}
	files := make(map[string][]byte)
	for _, p := range m.pages {
		files[p.file()] = []byte(p.body)
	}
	err = checkLinks(files, nil)
	if err == nil || !strings.Contains(err.Error(), "/docs/gone") ||
		!strings.Contains(err.Error(), "/docs/other#none") || strings.Contains(err.Error(), "for-all") {
		t.Errorf("got %v, want the missing page and the missing section", err)
	}
	if other := string(files["other.html"]); !strings.Contains(other, `<h2 id="a-b_c-d">`) ||
		!strings.Contains(other, "source (main.go in the source)") {
		t.Errorf("got %s", other)
	}
}

// TestReferenceDescribesEveryOperation: each operation has a description, its credentials, its error codes and an
// example.
func TestReferenceDescribesEveryOperation(t *testing.T) {
	raw, err := os.ReadFile("../api/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	r, err := readReference(raw)
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	for _, p := range r.pages() {
		if path.Dir(p.address) == "/docs/api" && p.address != "/docs/api/schemas" {
			shown += strings.Count(p.body, "<article>")
		}
	}
	count := 0
	for _, all := range r.operations {
		count += len(all)
		for _, o := range all {
			if o.Description == "" || o.Security == nil {
				t.Errorf("%s %s has no description, or no security", o.method, o.path)
			}
			article := r.article(o)
			for _, part := range []string{"Credential: ", "<h3>Answers</h3>", "<h3>Errors</h3>", "<h3>Example</h3>",
				`data-try="`} {
				if !strings.Contains(article, part) {
					t.Errorf("%s %s has no %s", o.method, o.path, part)
				}
			}
		}
	}
	if shown != count || count < 190 {
		t.Errorf("the pages show %d of %d operations", shown, count)
	}
}

// TestMapHasNoEmptySection: every heading of the menu has pages below it.
func TestMapHasNoEmptySection(t *testing.T) {
	got := readMap("## Run\n| [Install](install.md) | text |\n## Tasks\n| Restore | [Restore](backup.md#restore) |\n")
	if len(got) != 1 || got[0].title != "Run" {
		t.Errorf("got %v, want only Run", got)
	}
}
