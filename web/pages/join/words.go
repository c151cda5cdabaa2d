package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"holdfast/engine/words"
)

// Two files of texts are special. commonTexts contains the texts of all pages, and the name of its script contains only
// the language. noscriptTexts contains, for each document, the sentence that it shows if the browser runs no scripts.
const (
	commonTexts   = "common"
	noscriptTexts = "noscript"
)

// deskTexts are the desk's texts, which the browser gets as one file, i18n/desk.<language>.js.
var deskTexts = []string{commonTexts, "staff", "owner", "hours", "mistake"}

// These placeholders in the scripts stand for the languages: their names in their own language, and their tags.
const (
	namesOfLanguages = "{/*names*/}"
	tagsOfLanguages  = "{{languages}}"
)

// addWords adds the texts of the pages: for each language, one script for each file of texts that a page loads. It also
// fills in the list of languages and the sentences for browsers that run no scripts.
func addWords(files map[string][]byte, dir fs.FS, languages []words.Registration) error {
	all, err := words.LoadPages(dir, languages)
	if err != nil {
		return err
	}
	var tags []string
	names := new(object)
	noscript := make(map[string]string) // by document
	for i, l := range languages {
		tags = append(tags, l.Tag)
		names.add(l.Tag, l.Name)
		desk := new(object)
		for _, part := range deskTexts {
			at := slices.IndexFunc(all[i], func(f words.File) bool { return f.Name == part })
			if at < 0 {
				return fmt.Errorf("the desk has no texts %s in %s", part, l.Tag)
			}
			desk.addAll(all[i][at].Texts)
		}
		files["i18n/desk."+l.Tag+".js"] = desk.module()
		for _, f := range all[i] {
			name := "i18n/" + f.Name + "." + l.Tag + ".js"
			switch {
			case f.Name == noscriptTexts:
				for _, t := range f.Texts {
					noscript[t.Key+".html"] += `<p class="noscript" lang="` + l.Tag + `">` + t.Text + "</p>\n"
				}
				continue
			case f.Name == commonTexts:
				name = "i18n/" + l.Tag + ".js"
			case slices.Contains(deskTexts, f.Name) && !inDocuments(files, `data-strings="[^"]*\b`+f.Name+`\b`):
				continue // only the desk uses them
			}
			one := new(object)
			one.addAll(f.Texts)
			files[name] = one.module()
		}
	}
	list := strings.NewReplacer(namesOfLanguages, names.String(), tagsOfLanguages, strings.Join(tags, " "))
	for name, body := range files {
		switch path.Ext(name) {
		case ".html":
			files[name] = bytes.ReplaceAll(body, []byte("{{noscript}}\n"), []byte(noscript[name]))
		case ".js":
			files[name] = []byte(list.Replace(string(body)))
		}
	}
	return nil
}

// object is a JavaScript object literal.
type object struct{ fields []string }

func (o *object) add(key string, value any) {
	o.fields = append(o.fields, literal(key)+":"+literal(value))
}

func (o *object) addAll(texts []words.Text) {
	for _, t := range texts {
		if t.Forms != nil {
			o.add(t.Key, t.Forms)
			continue
		}
		o.add(t.Key, t.Text)
	}
}

func (o *object) String() string { return "{" + strings.Join(o.fields, ",\n") + "}" }

func (o *object) module() []byte { return []byte("export default " + o.String() + "\n") }

// literal returns a string, or plural forms, as JavaScript.
func literal(value any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(value) // encoding strings into memory does not fail
	return strings.TrimSpace(b.String())
}
