package main

import (
	"bytes"
	"fmt"
	"path"

	"github.com/tdewolff/minify/v2"
	"github.com/tdewolff/minify/v2/css"
	"github.com/tdewolff/minify/v2/js"
)

// stripped is a script without what only its readers in the repository need: comments on lines of their own, indentation and
// empty lines. Inside a template literal of a page this is safe because htm drops blanks that hold a line's end; a test
// watches that there are no others.
func stripped(name string, body []byte) []byte {
	if path.Ext(name) != ".js" || isVendored(name) {
		return body
	}
	kept := make([]byte, 0, len(body))
	for line := range bytes.Lines(body) {
		line = bytes.TrimLeft(line, " \t")
		if len(bytes.TrimSpace(line)) > 0 && !bytes.HasPrefix(line, []byte("//")) {
			kept = append(kept, line...)
		}
	}
	return kept
}

// minified is a script or a style sheet as it is served: with short names inside of functions, and no blanks.
func minified(name string, body []byte) ([]byte, error) {
	kind := path.Ext(name)
	if isVendored(name) || kind != ".js" && kind != ".css" {
		return body, nil
	}
	m := minify.New()
	m.Add(".js", &js.Minifier{Version: 2022}) // the language of the oldest browsers that the pages are for
	m.AddFunc(".css", css.Minify)
	out, err := m.Bytes(kind, body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return out, nil
}
