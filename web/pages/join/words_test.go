package main

import (
	"bytes"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"holdfast/engine/words"
	"holdfast/engine/words/wordstest"
)

var (
	quoted   = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|` + "`[^`]*`")
	sentence = regexp.MustCompile(`(?s)<p class="noscript" lang="` + wordstest.Pseudo + `">(.*?)</p>`)
)

// TestNewLanguageReachesEveryPage adds an invented language, which needs one folder and one registration, and reads the
// built pages. Every script of English texts must exist in that language and contain no English words. Every document
// must have a sentence in that language, and every list of languages must contain it.
func TestNewLanguageReachesEveryPage(t *testing.T) {
	built, err := build(os.DirFS("../../ui"), wordstest.Folders(t, os.DirFS(folder)), wordstest.Languages())
	if err != nil {
		t.Fatal(err)
	}
	scripts := 0
	for name, english := range built {
		switch {
		case path.Ext(name) == ".html":
			m := sentence.FindSubmatch(english)
			if m == nil || len(wordstest.Untranslated(string(m[1]), "{{phone}}", "{{title}}")) > 0 {
				t.Errorf("%s has no sentence of the language for browsers without scripts: %q", name, m)
			}
		case path.Dir(name) == "i18n" && (path.Base(name) == "en.js" || strings.HasSuffix(name, ".en.js")):
			scripts++
			body := string(built[strings.TrimSuffix(name, "en.js")+wordstest.Pseudo+".js"])
			values := 0
			for field := range strings.SplitSeq(strings.ReplaceAll(body, `",`, "\",\n"), "\n") {
				_, value, found := strings.Cut(field, `:`)
				for _, text := range quoted.FindAllString(value, -1) {
					values++
					if left := wordstest.Untranslated(regexp.MustCompile(`\{+\w+\}+|\\u\w{4}|\\n`).ReplaceAllString(text, "")); found && len(left) > 0 && !keyLike.MatchString(text) {
						t.Errorf("%s: untranslated words %q in %s", name, left, text)
					}
				}
			}
			if values == 0 {
				t.Errorf("%s has no text in %s", name, wordstest.Pseudo)
			}
		}
	}
	if scripts < 10 {
		t.Errorf("found only %d scripts of English texts", scripts)
	}
	for _, name := range []string{"plan/worker.js", "lib/i18n.js", "staff/page.js", "book/common.js"} {
		if !bytes.Contains(built[name], []byte(wordstest.Languages()[3].Name)) &&
			!bytes.Contains(built[name], []byte(" "+wordstest.Pseudo)) {
			t.Errorf("the list of languages in %s misses the language", name)
		}
	}
}

// keyLike matches the keys of texts, which contain no spaces.
var keyLike = regexp.MustCompile(`^["'][a-zA-Z][\w.-]*["']$`)

func TestBuildRefusesMissingText(t *testing.T) {
	languages := []words.Registration{{Tag: "en"}, {Tag: "xx"}}
	dir := fstest.MapFS{"en/pages/common.json": {Data: []byte(`{"a": "A"}`)},
		"xx/pages/common.json": {Data: []byte(`{"b": "B"}`)}}
	if _, err := build(fstest.MapFS{}, dir, languages); err == nil ||
		!strings.Contains(err.Error(), "xx lacks common.a") {
		t.Errorf("got %v, want an error with the name of the text", err)
	}
}
