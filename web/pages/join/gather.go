package main

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
)

// deskSheets are the desk's style sheets, in the order that they apply. The browser gets them as one file, deskSheet.
// The setup pages also load some of them separately.
var (
	deskSheets = []string{"holdfast.css", "desk.css", "staff.css", "owner.css"}
	deskSheet  = "staff/page.css"
)

// gather joins the desk's style sheets into one file, and removes the style sheets that no document loads separately.
func gather(files map[string][]byte) error {
	var sheet bytes.Buffer
	for _, name := range deskSheets {
		body, found := files[name]
		if !found {
			return fmt.Errorf("%s is a style sheet of the desk but does not exist", name)
		}
		sheet.Write(body)
		sheet.WriteByte('\n')
		if !inDocuments(files, regexp.QuoteMeta(`href="{{base}}/`+name+`"`)) {
			delete(files, name)
		}
	}
	files[deskSheet] = sheet.Bytes()
	return nil
}

// inDocuments reports whether a pattern occurs in any document.
func inDocuments(files map[string][]byte, pattern string) bool {
	in := regexp.MustCompile(pattern)
	for name, body := range files {
		if path.Ext(name) == ".html" && in.Match(body) {
			return true
		}
	}
	return false
}
