package words

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// File is one file of texts, in the order in which they are written.
type File struct {
	Name  string // without the file extension
	Texts []Text
}

// Text is one text of a file.
type Text struct {
	Key  string
	Text string // empty if Forms is set
	// by plural category, such as one and other; nil if the text does not depend on a number
	Forms map[string]string
}

// readAll reads the files in a folder of each language and compares them with those of the first language.
func readAll(dir fs.FS, languages []Registration, sub string) ([][]File, error) {
	var all [][]File
	for _, r := range languages {
		names, err := fs.Glob(dir, path.Join(r.Tag, sub, "*.json"))
		if err != nil {
			return nil, err
		}
		if len(names) == 0 {
			return nil, fmt.Errorf("words: the folder of the language %s has no texts", r.Tag)
		}
		var files []File
		for _, name := range names {
			body, err := fs.ReadFile(dir, name)
			if err != nil {
				return nil, err
			}
			texts, err := parse(body)
			if err != nil {
				return nil, fmt.Errorf("words: %s: %w", name, err)
			}
			files = append(files, File{strings.TrimSuffix(path.Base(name), ".json"), texts})
		}
		if all = append(all, files); len(all) > 1 {
			if err := compare(languages[0].Tag, all[0], r.Tag, files); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// parse reads a flat JSON object in its order. A key that occurs twice and an empty text are errors.
func parse(body []byte) (texts []Text, err error) {
	d := json.NewDecoder(bytes.NewReader(body))
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return nil, errors.Join(errors.New("not a JSON object"), err)
	}
	seen := make(map[string]bool)
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, err
		}
		t := Text{Key: token.(string)} // inside an object, the decoder returns a string or an error
		if seen[t.Key] {
			return nil, fmt.Errorf("%q occurs twice", t.Key)
		}
		seen[t.Key] = true
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return nil, err
		}
		if raw[0] == '{' {
			err = json.Unmarshal(raw, &t.Forms)
		} else {
			err = json.Unmarshal(raw, &t.Text)
		}
		if err != nil {
			return nil, fmt.Errorf("%q: %w", t.Key, err)
		}
		for _, text := range t.all() {
			if strings.TrimSpace(text) == "" {
				return nil, fmt.Errorf("%q is empty", t.Key)
			}
		}
		if t.Forms != nil && t.Forms["other"] == "" {
			return nil, fmt.Errorf("%q has no plural form \"other\"", t.Key)
		}
		texts = append(texts, t)
	}
	_, err = d.Token()
	return texts, err
}

// all returns the text, or its plural forms.
func (t *Text) all() []string {
	if t.Forms == nil {
		return []string{t.Text}
	}
	return slices.Collect(maps.Values(t.Forms))
}

var placeholder = regexp.MustCompile(`\{+\w+\}+`)

// placeholders returns the distinct placeholders of a text, sorted. A plural form may leave some out.
func (t *Text) placeholders() (found []string) {
	for _, text := range t.all() {
		found = append(found, placeholder.FindAllString(text, -1)...)
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// formats is the file whose texts choose their placeholders per language.
const formats = "date"

// compare returns an error that lists the differences between the texts of a language and those of the reference.
func compare(reference string, want []File, language string, got []File) error {
	wanted, found := byKey(want), byKey(got)
	var differences []error
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		a, b := wanted[key], found[key]
		switch {
		case b == nil:
			differences = append(differences, fmt.Errorf("words: %s lacks %s", language, key))
		case !strings.HasPrefix(key, formats+".") && !slices.Equal(a.placeholders(), b.placeholders()):
			differences = append(differences, fmt.Errorf("words: %s: the placeholders of %s are %q, and %q in %s",
				language, key, b.placeholders(), a.placeholders(), reference))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(found)) {
		if wanted[key] == nil {
			differences = append(differences, fmt.Errorf("words: %s has %s, which %s lacks", language, key, reference))
		}
	}
	return errors.Join(differences...)
}

func byKey(files []File) map[string]*Text {
	texts := make(map[string]*Text)
	for _, f := range files {
		for i := range f.Texts {
			texts[f.Name+"."+f.Texts[i].Key] = &f.Texts[i]
		}
	}
	return texts
}
