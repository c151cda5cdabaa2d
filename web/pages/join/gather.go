package main

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"strings"
)

// The desk's style sheets, in the order in which they apply, and its words: files of their own for those who write them, one
// for the browser. The pages of the set-up take some of them by themselves.
var (
	deskSheets = []string{"holdfast.css", "desk.css", "staff.css", "owner.css"}
	deskSheet  = "staff/page.css"
	deskWords  = []string{"", "staff.", "owner.", "hours."} // before the language: i18n/staff.de.js
	deskWord   = "desk."
)

// gather adds the desk's one style sheet and its one file of words in each language, and leaves out what no document asks
// for by itself.
func gather(files map[string][]byte) error {
	var sheet bytes.Buffer
	for _, name := range deskSheets {
		body, found := files[name]
		if !found {
			return fmt.Errorf("%s is a style sheet of the desk and is not there", name)
		}
		sheet.Write(body)
		sheet.WriteByte('\n')
		if !inDocuments(files, regexp.QuoteMeta(`href="{{base}}/`+name+`"`)) {
			delete(files, name)
		}
	}
	files[deskSheet] = sheet.Bytes()
	for _, language := range languages(files) {
		var all strings.Builder
		for i, part := range deskWords {
			name := "i18n/" + part + language + ".js"
			body, found := strings.CutPrefix(strings.TrimSpace(string(files[name])), "export default")
			if !found {
				return fmt.Errorf("%s does not begin with its words, export default", name)
			}
			fmt.Fprintf(&all, "const $%d=%s\n", i, body)
			if asked := strings.TrimSuffix(part, "."); asked != "" && !inDocuments(files, `data-strings="[^"]*\b`+asked+`\b`) {
				delete(files, name)
			}
		}
		all.WriteString("export default{")
		for i := range deskWords {
			fmt.Fprintf(&all, "...$%d,", i)
		}
		all.WriteString("}\n")
		files["i18n/"+deskWord+language+".js"] = []byte(all.String())
	}
	return nil
}

// languages are those that have a file of the common words.
func languages(files map[string][]byte) (list []string) {
	for name := range files {
		if base := path.Base(name); path.Dir(name) == "i18n" && strings.Count(base, ".") == 1 {
			list = append(list, strings.TrimSuffix(base, ".js"))
		}
	}
	return list
}

// inDocuments reports whether a pattern is found in a document.
func inDocuments(files map[string][]byte, pattern string) bool {
	in := regexp.MustCompile(pattern)
	for name, body := range files {
		if path.Ext(name) == ".html" && in.Match(body) {
			return true
		}
	}
	return false
}
