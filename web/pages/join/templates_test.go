package main

import (
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/js"
)

func TestTrimTemplatesFollowsHTM(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"line feeds next to tags", "html`\n  <p>\n    text\n  </p>\n`", "html`<p>text</>`"},
		{"line feeds next to values", "html`<p>\n ${a}\n  ${b} </p>`", "html`<p>${a}${b} </>`"},
		{"spaces without a line feed", "html`<p> a ${b} <b>c</b> d</p>`", "html`<p> a ${b} <b>c</> d</>`"},
		{"a line feed inside a text", "html`<p>one\n   two</p>`", "html`<p>one two</>`"},
		{"no-break spaces next to a line feed", "html`<p>\u00a0\n a</p>`", "html`<p>a</>`"},
		{"a written space", "html`<p>\n a${' '}\n <b>b</b>\n ${' '}\n c</p>`", "html`<p>a <b>b</> c</>`"},
		{"white space in tags", "html`<${A}\n  b=${c}\n  d=\"e\n f\"   g\n/>`", "html`<${A} b=${c} d=\"e\n f\" g/>`"},
		{"a space as a value", "html`<a b=${' '} />`", "html`<a b=${' '}/>`"},
		{"a space in a value", "html`<a b=\"${' '} c\">x</a>`", "html`<a b=\"${' '} c\">x</>`"},
		{"the end of a tag", "html`<a href=/x/y >x</a\n>`", "html`<a href=/x/y>x</>`"},
		{"a name in a closing tag", "html`<${A} >\n x\n </${A} >`", "html`<${A}>x</>`"},
		{"a template in a template", "html`<p>\n ${a && html`\n <b>x</b>\n `}\n</p>`",
			"html`<p>${a && html`<b>x</>`}</>`"},
		{"other templates", "a = `\n  x`", "a = `\n  x`"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := trimTemplates([]byte(c.in))
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.TrimSuffix(string(got), ";"); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestTrimTemplatesRefusesUnreadableTemplate(t *testing.T) {
	for _, in := range []string{"html`<p>\\n</p>`", "html`<!-- x --><p/>`", "html`<p", "html`<p>${`"} {
		if got, err := trimTemplates([]byte(in)); err == nil {
			t.Errorf("%s: got %s, want an error", in, got)
		}
	}
}

// TestPrinterKeepsCode checks that parsing and printing a script, as trimTemplates does, does not change it: esbuild
// must minify the printed script to the same code as the original.
func TestPrinterKeepsCode(t *testing.T) {
	built := func(code string) string {
		r := api.Transform(code, api.TransformOptions{MinifyWhitespace: true, MinifySyntax: true,
			LegalComments: api.LegalCommentsNone})
		if err := errorOf(r.Errors); err != nil {
			t.Fatal(err)
		}
		return string(r.Code)
	}
	err := fs.WalkDir(os.DirFS("../../ui"), ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || path.Ext(name) != ".js" || isVendored(name) {
			return err
		}
		body, err := os.ReadFile("../../ui/" + name)
		if err != nil {
			return err
		}
		ast, err := js.Parse(parse.NewInputBytes(body), js.Options{})
		if err != nil {
			return err
		}
		if got, want := built(ast.JSString()), built(string(body)); got != want {
			t.Errorf("%s is minified to\n%s\nwant\n%s", name, got, want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
