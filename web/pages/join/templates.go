package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/js"
)

// trimTemplates removes from a script's html templates everything that htm ignores, so that the formatting of a
// template does not change the served file. These are htm's rules:
//
//   - In text, htm ignores white space that contains a line feed and is next to a tag, a ${…} or an end of the
//     template.
//   - In a tag, all white space is equivalent, and a closing tag needs no name.
//
// Inside text, a line feed is equivalent to a space, as in HTML. To keep a visible space next to a line feed, write ${'
// '}, which becomes a plain space.
func trimTemplates(code []byte) ([]byte, error) {
	ast, err := js.Parse(parse.NewInputBytes(code), js.Options{})
	if err != nil {
		return nil, err
	}
	t := &trimmer{}
	js.Walk(t, ast)
	return []byte(ast.JSString()), t.err
}

// trimmer trims each template of a script.
type trimmer struct{ err error }

func (t *trimmer) Enter(n js.INode) js.IVisitor {
	if template, ok := n.(*js.TemplateExpr); ok {
		if tag, ok := template.Tag.(*js.Var); ok && string(tag.Name()) == "html" {
			if err := trim(template); err != nil {
				t.err = errors.Join(t.err, err)
			}
		}
	}
	return t
}

func (*trimmer) Exit(js.INode) {}

// state is a state in htm's parser.
type state int

const (
	inText      state = iota
	inTagName         // after <
	inTag             // between attributes
	inAttribute       // after =
	inEnd             // after the / of a closing tag
)

// reader reads a template as htm does, and writes it without the white space that htm ignores.
type reader struct {
	state state
	quote byte // of the attribute's value
	text  strings.Builder
	space bool // in a tag: white space comes before the next character
	out   strings.Builder
}

// visible marks a space that the source writes as ${' '}.
const visible = "\x00"

var (
	edges = regexp.MustCompile(
		`^[\s\v\p{Z}\x{feff}]*\n[\s\v\p{Z}\x{feff}]*|[\s\v\p{Z}\x{feff}]*\n[\s\v\p{Z}\x{feff}]*$`,
	)
	inside = regexp.MustCompile(`[\s\v\p{Z}\x{feff}]*\n[\s\v\p{Z}\x{feff}]*`)
)

func trim(template *js.TemplateExpr) error {
	var r reader
	var list []js.TemplatePart
	r.out.WriteByte('`')
	for _, part := range template.List {
		if err := r.read(strings.TrimSuffix(string(part.Value[1:]), "${")); err != nil {
			return err
		}
		if l, ok := part.Expr.(*js.LiteralExpr); ok && r.state == inText &&
			(string(l.Data) == `' '` || string(l.Data) == `" "`) {
			r.text.WriteString(visible)
			continue
		}
		if r.state == inEnd {
			continue
		}
		r.flush()
		if r.space {
			r.out.WriteByte(' ')
			r.space = false
		}
		list = append(list, js.TemplatePart{Value: []byte(r.out.String() + "${"), Expr: part.Expr})
		r.out.Reset()
		r.out.WriteByte('}')
	}
	if err := r.read(strings.TrimSuffix(string(template.Tail[1:]), "`")); err != nil {
		return err
	}
	r.flush()
	if r.state != inText {
		return fmt.Errorf("a template ends inside a tag: %s", template.Tail)
	}
	template.List, template.Tail = list, []byte(r.out.String()+"`")
	return nil
}

// flush writes the text before a tag or a ${…}.
func (r *reader) flush() {
	parts := strings.Split(r.text.String(), visible)
	for i, p := range parts {
		parts[i] = inside.ReplaceAllString(edges.ReplaceAllString(p, ""), " ")
	}
	r.out.WriteString(strings.Join(parts, " "))
	r.text.Reset()
}

func (r *reader) read(text string) error {
	if i := strings.IndexByte(text, '\\'); i >= 0 {
		return fmt.Errorf("write a backslash in a template as ${'…'}: %s", text)
	}
	if strings.Contains(text, "<!--") {
		return fmt.Errorf("write a comment outside the template: %s", text)
	}
	for i := range len(text) {
		r.add(text[i], strings.HasPrefix(text[i+1:], ">"))
	}
	return nil
}

func (r *reader) add(c byte, closes bool) {
	space := strings.IndexByte(" \t\n\r", c) >= 0
	switch {
	case r.state == inText && c != '<':
		r.text.WriteByte(c)
		return
	case r.state == inText:
		r.flush()
		r.state = inTagName
	case r.quote != 0:
		if c == r.quote {
			r.quote = 0
		}
	case space:
		if r.space = r.state != inEnd; r.space {
			r.state = inTag
		}
		return
	case c == '"' || c == '\'':
		r.quote = c
	case c == '>':
		r.state, r.space = inText, false
	case c == '=' && r.state != inEnd:
		r.state = inAttribute
	case c == '/' && (r.state != inAttribute || closes):
		r.state, r.space = inEnd, false
	}
	if r.state == inEnd && c != '/' && c != '>' {
		return
	}
	if r.space {
		r.out.WriteByte(' ')
		r.space = false
	}
	r.out.WriteByte(c)
}
