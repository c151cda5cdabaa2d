// Package wordstest creates an invented language for tests that find untranslated texts.
package wordstest

import (
	"encoding/json"
	"io/fs"
	"maps"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"holdfast/engine/words"
)

// Pseudo is the tag of the invented language.
const Pseudo = "en-XA"

// Languages returns the registered languages and the invented one, as if it had been added to words.Registered.
func Languages() []words.Registration {
	return append(words.Registered(), words.Registration{Tag: Pseudo, Name: "Éñglîsh"})
}

// Folders returns the folders of all languages and the folder of the invented one. dir is engine/words. Every letter of
// an invented text outside its placeholders is accented, so no letter of [A-Za-z] is left.
func Folders(t testing.TB, dir fs.FS) fs.FS {
	t.Helper()
	all := make(fstest.MapFS)
	for _, pattern := range []string{"*/*.json", "*/pages/*.json"} {
		names, err := fs.Glob(dir, pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			body, err := fs.ReadFile(dir, name)
			if err != nil {
				t.Fatal(err)
			}
			all[name] = &fstest.MapFile{Data: body}
			if rest, english := strings.CutPrefix(name, "en/"); english {
				all[Pseudo+"/"+rest] = &fstest.MapFile{Data: distort(t, body)}
			}
		}
	}
	return all
}

// Catalog returns the texts of the server in all languages and in the invented one.
func Catalog(t testing.TB, dir fs.FS) *words.Catalog {
	t.Helper()
	c, err := words.Load(Folders(t, dir), Languages())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func distort(t testing.TB, body []byte) []byte {
	var texts map[string]any
	if err := json.Unmarshal(body, &texts); err != nil {
		t.Fatal(err)
	}
	out := make(map[string]any)
	for key, value := range maps.All(texts) {
		switch value := value.(type) {
		case string:
			out[key] = Accented(value)
		case map[string]any:
			forms := make(map[string]any)
			for form, text := range value {
				forms[form] = Accented(text.(string))
			}
			out[key] = forms
		}
	}
	made, err := json.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

var (
	placeholder = regexp.MustCompile(`\{+\w+\}+`)
	letter      = regexp.MustCompile(`[A-Za-z]+`)
	accents     = strings.NewReplacer(pairs()...)
)

func pairs() (list []string) {
	const from, to = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
		"àƀçđéƒĝĥîĵķļɱñöþʠŕšţûṽŵẋýžÀƁÇĐÉƑĜĤÎĴĶĻṀÑÖÞǪŔŠŢÛṼŴẊÝŽ"
	accented := []rune(to)
	for i, r := range from {
		list = append(list, string(r), string(accented[i]))
	}
	return list
}

// Accented returns a text in the invented language: accented letters, and unchanged placeholders.
func Accented(text string) string {
	var b strings.Builder
	last := 0
	for _, at := range placeholder.FindAllStringIndex(text, -1) {
		b.WriteString(accents.Replace(text[last:at[0]]) + text[at[0]:at[1]])
		last = at[1]
	}
	return b.String() + accents.Replace(text[last:])
}

// Untranslated returns the words of a text that are not in the invented language, except those that known contains.
func Untranslated(text string, known ...string) (found []string) {
	for _, k := range known {
		text = strings.ReplaceAll(text, k, " ")
	}
	return letter.FindAllString(text, -1)
}
