package pages

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"holdfast/engine/words"
)

var (
	dottedKey = regexp.MustCompile(`['"]([a-z]\w*(?:\.\w+)*\.\w*)['"](\s*\+)?`)
	calledKey = regexp.MustCompile(`\b(?:t|rich)\(\s*'([\w-]+)'()`)
	enumValue = regexp.MustCompile(`\w+`)
)

// notWords are dotted strings in the pages that are not text keys.
var notWords = map[string]bool{
	"plan.css": true, "setup.form": true, // a file, and a name in the browser's storage
	"block.created": true, "person.noted": true, "person.erased": true, // actions of the audit log
}

// enumerated maps the prefix of the keys that end in a value of the API to the schema that lists the values.
var enumerated = map[string]string{"live.storage.": "StorageMode"}

// TestPagesUseOnlyKeysThatExist checks that every text key that the pages use exists. A page shows the key itself if it
// has no text.
func TestPagesUseOnlyKeysThatExist(t *testing.T) {
	pages := os.DirFS("../ui")
	read := func(name string) string {
		b, err := fs.ReadFile(pages, name)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	folders, err := words.LoadPages(os.DirFS("../../engine/words"), words.Registered())
	if err != nil {
		t.Fatal(err) // LoadPages compares the languages, so the first one is enough
	}
	texts := make(map[string]bool)
	spaces := make(map[string]bool)
	for _, f := range folders[0] {
		for _, x := range f.Texts {
			texts[x.Key] = true
			spaces[strings.SplitN(x.Key, ".", 2)[0]] = true
		}
	}
	if len(texts) < 1000 {
		t.Fatalf("only %d English texts; want all of the pages", len(texts))
	}
	check := func(where, key string) {
		t.Helper()
		if !texts[key] {
			t.Errorf("%s uses the text %q, which is not in engine/words", where, key)
		}
	}
	used := 0
	err = fs.WalkDir(pages, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".js" || strings.HasPrefix(name, "vendor/") {
			return err
		}
		source := read(name)
		for _, m := range append(dottedKey.FindAllStringSubmatch(source, -1),
			calledKey.FindAllStringSubmatch(source, -1)...) {
			key, built := m[1], m[2] != ""
			if strings.HasSuffix(key, ".") || built || notWords[key] || !spaces[strings.SplitN(key, ".", 2)[0]] {
				continue // the end of the key is a value: see enumerated
			}
			used++
			check(name, key)
		}
		return nil
	})
	if err != nil || used < 500 {
		t.Fatalf("only %d keys are used, %v; want those of all pages", used, err)
	}
	api, err := os.ReadFile("../../docs/api/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for prefix, schema := range enumerated {
		m := regexp.MustCompile(`(?m)^    ` + schema + `: \{type: string, enum: \[([^\]]*)\]`).FindSubmatch(api)
		if m == nil {
			t.Errorf("the API has no enumeration %s", schema)
			continue
		}
		for _, value := range enumValue.FindAllString(string(m[1]), -1) {
			check("a value of "+schema, prefix+value)
		}
	}
}
