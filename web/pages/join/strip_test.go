package main

import (
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"
)

// Lines may be trimmed, and those that begin with // dropped, because none of them is inside a text: a template literal
// over several lines is html`…`, whose blanks at a line's end mean nothing, and no line of one begins with //.
func TestMinifyKeepsTexts(t *testing.T) {
	err := fs.WalkDir(os.DirFS("../../ui"), ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || path.Ext(name) != ".js" || strings.HasPrefix(name, "vendor") {
			return err
		}
		body, err := os.ReadFile("../../ui/" + name)
		if err != nil {
			return err
		}
		for _, text := range templates(string(body)) {
			for line := range strings.SplitSeq(text.body, "\n") {
				if strings.HasPrefix(strings.TrimSpace(line), "//") {
					t.Errorf("%s: a line of a template begins with //, and would be taken for a comment: %s", name, line)
				}
			}
			if strings.Contains(text.body, "\n") && !text.html {
				t.Errorf("%s: a template over several lines that is not html`…`: %.60s", name, text.body)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// template is the text of a template literal, without what is in its ${…}.
type template struct {
	html bool
	body string
}

// templates finds the template literals of a module, those inside others too.
func templates(code string) (found []template) {
	type level struct {
		template
		braces int // open { inside its ${
	}
	var open []level
	text := false // inside the text of the innermost template
	for i := 0; i < len(code); i++ {
		rest := code[i:]
		switch {
		case text && code[i] == '\\':
			i++
		case text && code[i] == '`':
			found = append(found, open[len(open)-1].template)
			open = open[:len(open)-1]
			text = false
		case text && strings.HasPrefix(rest, "${"):
			text = false
			i++
		case text:
			open[len(open)-1].body += code[i : i+1]
		case code[i] == '`':
			open = append(open, level{template: template{html: strings.HasSuffix(code[:i], "html")}})
			text = true
		case strings.HasPrefix(rest, "//"):
			i += strings.IndexByte(rest+"\n", '\n')
		case code[i] == '\'' || code[i] == '"':
			for i++; i < len(code) && code[i] != rest[0]; i++ {
				if code[i] == '\\' {
					i++
				}
			}
		case code[i] == '/' && strings.ContainsAny(strings.TrimRight(code[:i], " ")[max(0, len(strings.TrimRight(code[:i], " "))-1):], "(,=:[!&|?{};\n"):
			for i++; i < len(code) && code[i] != '/' && code[i] != '\n'; i++ { // a regular expression
				switch code[i] {
				case '\\':
					i++
				case '[':
					for i++; i < len(code) && code[i] != ']'; i++ {
						if code[i] == '\\' {
							i++
						}
					}
				}
			}
		case code[i] == '{' && len(open) > 0:
			open[len(open)-1].braces++
		case code[i] == '}' && len(open) > 0:
			if open[len(open)-1].braces == 0 {
				text = true
			} else {
				open[len(open)-1].braces--
			}
		}
	}
	return found
}
