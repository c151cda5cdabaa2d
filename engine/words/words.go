// Package words contains every text for people, one folder per language.
//
// # Folders
//
//	en/mail.json      subjects and sentences of emails
//	en/sms.json       text messages
//	en/agent.json     what voice and chat agents say aloud
//	en/plan.json      the downtime plan
//	en/date.json      dates, times and spoken dates
//	en/notfound.json  the page at an unknown address
//	en/embedoff.json  the page shown when embedding is off
//	en/notsetup.json  the page of a server that is not set up yet
//	en/pages/*.json   the texts of the browser pages; web/pages/join builds the pages' scripts from them
//
// A file is one flat JSON object that maps keys to texts. In the files of pages, a text may instead be an object with
// plural forms, such as {"one": "{n} day", "other": "{n} days"}; the page selects the form by n. In a text, {name} is a
// placeholder. Texts of pages can contain **bold** words. English is the reference: every language must have the same
// keys with the same placeholders, and Load and LoadPages fail otherwise. Only the formats in date.json choose their
// placeholders per language.
//
// Instructions for the language model of an agent are not in this package. They are in package agent, in English only.
//
// # A new language
//
// Copy the folder en, translate its texts, and add one line to registered. Then run make pages.
package words

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
)

//go:embed */*.json
var folders embed.FS

// registered lists the languages. English must be the first: it is the reference, and the language of last resort.
var registered = []Registration{
	{Tag: "en", Name: "English"},
	{Tag: "de", Name: "Deutsch", Semicolons: true},
	{Tag: "es", Name: "Español", Semicolons: true, CommasIn: "419 BR BZ CU DO GT HN MX NI PA PE PR SV US"},
}

// Registration describes a language. Pages format numbers and dates according to its tag, or the clinic's locale if
// that is the same language.
type Registration struct {
	Tag  string // the BCP 47 tag, and the name of the folder
	Name string // the name of the language in the language itself
	// Semicolons is true if spreadsheets in this language expect semicolons between the columns of a CSV file. That is
	// the case where the decimal mark is a comma. CommasIn lists the regions, separated by spaces, where spreadsheets
	// expect commas nevertheless.
	Semicolons bool
	CommasIn   string
}

// Language contains the texts of one language. It is immutable.
type Language struct {
	Registration
	texts map[string]string // by the file name, a dot, and the key
}

// Catalog contains the texts of all languages. It is immutable.
type Catalog struct{ languages []*Language }

// Registered returns the languages of the program, English first.
func Registered() []Registration { return slices.Clone(registered) }

// Tags returns the tags of the registered languages, sorted.
func Tags() (tags []string) {
	for _, r := range registered {
		tags = append(tags, r.Tag)
	}
	slices.Sort(tags)
	return tags
}

// Embedded returns the program's texts. It panics if the embedded files are invalid, which a test rules out.
var Embedded = sync.OnceValue(func() *Catalog {
	c, err := Load(folders, registered)
	if err != nil {
		panic(err)
	}
	return c
})

// Load reads the server's texts from the folders of languages. The first language is the reference. If a language lacks
// a text, has an extra one, or uses different placeholders than the reference, Load returns an error with the file and
// the key.
func Load(dir fs.FS, languages []Registration) (*Catalog, error) {
	read, err := readAll(dir, languages, "")
	if err != nil {
		return nil, err
	}
	c := new(Catalog)
	for i, r := range languages {
		l := &Language{Registration: r, texts: make(map[string]string)}
		for _, f := range read[i] {
			for _, t := range f.Texts {
				if t.Forms != nil {
					return nil, fmt.Errorf("words: %s/%s.json: %q has plural forms, which only texts of pages can have",
						r.Tag, f.Name, t.Key)
				}
				l.texts[f.Name+"."+t.Key] = t.Text
			}
		}
		c.languages = append(c.languages, l)
	}
	return c, nil
}

// LoadPages reads the texts of the browser pages. It returns the files of each language, in the order of languages.
// Errors: those of Load.
func LoadPages(dir fs.FS, languages []Registration) ([][]File, error) {
	return readAll(dir, languages, "pages")
}

// Tags returns the tags of the catalog's languages, in their order.
func (c *Catalog) Tags() (tags []string) {
	for _, l := range c.languages {
		tags = append(tags, l.Tag)
	}
	return tags
}

// Has reports whether a language with exactly this tag exists.
func (c *Catalog) Has(tag string) bool {
	return slices.ContainsFunc(c.languages, func(l *Language) bool { return l.Tag == tag })
}

// Find returns the first of these languages that exists. A tag with a region, such as de-AT, also finds its language
// without the region. If none exists, Find returns English.
func (c *Catalog) Find(tags ...string) *Language {
	for _, tag := range tags {
		base, _, _ := strings.Cut(tag, "-")
		for _, wanted := range []string{tag, base} {
			for _, l := range c.languages {
				if strings.EqualFold(l.Tag, wanted) {
					return l
				}
			}
		}
	}
	return c.languages[0]
}

// Separator returns the character that spreadsheets in this language expect between the columns of a CSV file. The
// region is that of the locale, if the locale is in this language.
func (l *Language) Separator(locale string) rune {
	base, region, _ := strings.Cut(locale, "-")
	if !l.Semicolons || (base == l.Tag && region != "" &&
		slices.Contains(strings.Fields(l.CommasIn), strings.ToUpper(region))) {
		return ','
	}
	return ';'
}

// Text returns the text with a key, such as mail.subject.reminder, or an empty string if there is none.
func (l *Language) Text(key string) string { return l.texts[key] }

// Fill returns the text with a key, with its placeholders replaced. pairs contains placeholders without braces, each
// followed by its value.
func (l *Language) Fill(key string, pairs ...string) string { return Fill(l.texts[key], pairs...) }

// Fill replaces the placeholders of a text in one pass, so a value may contain braces.
func Fill(text string, pairs ...string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "{")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		name, after, closed := strings.Cut(rest, "}")
		i := 0
		for i < len(pairs) && pairs[i] != name {
			i += 2
		}
		if closed && i < len(pairs) {
			b.WriteString(pairs[i+1])
			text = after
		} else {
			b.WriteByte('{')
			text = rest
		}
	}
}
