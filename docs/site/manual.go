package main

import (
	"bytes"
	"fmt"
	"html"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// page is one page of the site.
type page struct {
	address string // such as /docs/backup
	title   string
	body    string // HTML of the main part
}

// entry is a line of the manual's map; section is a group of entries.
type (
	entry   struct{ address, title string }
	section struct {
		title   string
		entries []entry
	}
)

// manual holds all rendered Markdown pages and the map from docs/README.md, which is the menu of each page.
type manual struct {
	pages    []page
	sections []section
}

// mapFile is the start page of the manual.
const mapFile = "README.md"

// readManual renders the pages next to docs/README.md and the pages for the clinic. It leaves out the decision records,
// which are for readers of the source.
func readManual(source fs.FS) (manual, error) {
	var m manual
	names, err := fs.Glob(source, "*.md")
	if err != nil {
		return m, err
	}
	below, err := fs.Glob(source, "clinic/*.md")
	if err != nil {
		return m, err
	}
	for _, name := range append(names, below...) {
		raw, err := fs.ReadFile(source, name)
		if err != nil {
			return m, err
		}
		title, body, err := render(name, raw)
		if err != nil {
			return m, fmt.Errorf("%s: %w", name, err)
		}
		m.pages = append(m.pages, page{addressOf(name), title, body})
		if name == mapFile {
			m.sections = readMap(string(raw))
		}
	}
	return m, nil
}

// addressOf returns the address of a Markdown page.
func addressOf(name string) string {
	if name == mapFile {
		return "/docs"
	}
	return "/docs/" + strings.TrimSuffix(name, ".md")
}

var mapLine = regexp.MustCompile(`\[([^\]]+)\]\(([\w/-]+\.md)\)`)

// readMap reads the tables of docs/README.md that begin with a page, and their headings.
func readMap(text string) (sections []section) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "## "):
			sections = append(sections, section{title: line[3:]})
		case strings.HasPrefix(line, "| [") && len(sections) > 0:
			cell, _, _ := strings.Cut(line[2:], " | ")
			at := &sections[len(sections)-1]
			for _, m := range mapLine.FindAllStringSubmatch(cell, -1) {
				if !strings.HasPrefix(m[2], "decisions/") {
					at.entries = append(at.entries, entry{addressOf(m[2]), m[1]})
				}
			}
		}
	}
	return slices.DeleteFunc(sections, func(s section) bool { return len(s.entries) == 0 })
}

// markdown renders GitHub's tables in addition to standard Markdown. Alignment becomes an attribute, because the policy
// of the pages refuses inline styles.
var markdown = goldmark.New(
	goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))),
	goldmark.WithParserOptions(parser.WithAutoHeadingID(), parser.WithASTTransformers(util.Prioritized(links{}, 100))),
)

var fileKey = parser.NewContextKey()

// render returns the title and the HTML of a Markdown page. name is its path below docs.
func render(name string, raw []byte) (title, body string, err error) {
	context := parser.NewContext(parser.WithIDs(anchors{}))
	context.Set(fileKey, name)
	var b bytes.Buffer
	if err := markdown.Convert(raw, &b, parser.WithContext(context)); err != nil {
		return "", "", err
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(string(raw), "# "), "\n")
	return first, strings.ReplaceAll(b.String(), "<pre>", `<pre tabindex="0">`), nil
}

// anchors gives the headings of one page the same ids as GitHub does, so that a link works in both places.
type anchors map[string]int

func (used anchors) Generate(heading []byte, _ ast.NodeKind) []byte {
	id := strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, string(heading))
	before := used[id]
	used[id]++
	if before > 0 {
		id = fmt.Sprint(id, "-", before)
	}
	return []byte(id)
}

func (used anchors) Put(id []byte) { used[string(id)]++ }

// renderText renders a description of the API, which is Markdown without headings.
func renderText(raw string) string {
	_, body, err := render("api/openapi.yaml", []byte(raw))
	if err != nil {
		panic(err) // writing to a buffer cannot fail
	}
	return body
}

// links replaces the targets of links between files with addresses. A link to a file that only the source contains
// becomes its text and the file's path in brackets.
type links struct{}

func (links) Transform(document *ast.Document, reader text.Reader, context parser.Context) {
	name, _ := context.Get(fileKey).(string)
	var outside []*ast.Link
	_ = ast.Walk(document, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Link:
			if !entering {
				break
			}
			to, inside := target(name, string(n.Destination))
			n.Destination = []byte(to)
			if !inside {
				outside = append(outside, n)
			}
		case *ast.Image:
			if entering {
				to, _ := target(name, string(n.Destination))
				n.Destination = []byte(to)
			}
		}
		return ast.WalkContinue, nil
	})
	for _, link := range outside {
		unlink(link)
	}
}

// unlink replaces a link with its text and the path of the file in the source.
func unlink(link *ast.Link) {
	parent := link.Parent()
	for link.FirstChild() != nil {
		parent.InsertBefore(parent, link, link.FirstChild())
	}
	parent.ReplaceChild(parent, link, ast.NewString([]byte(" ("+html.EscapeString(string(link.Destination))+
		" in the source)")))
}

// target returns the address for the target of a link in a file. If the site does not contain that file, target returns
// the path in the source and false.
func target(from, to string) (address string, inside bool) {
	if strings.Contains(to, "://") || strings.HasPrefix(to, "#") || strings.HasPrefix(to, "/") {
		return to, true
	}
	file, anchor, hasAnchor := strings.Cut(to, "#")
	file = path.Join("docs", path.Dir(from), file)
	below, inDocs := strings.CutPrefix(file, "docs/")
	switch {
	case below == "api/openapi.yaml":
		return "/openapi.yaml", true
	case inDocs && strings.HasPrefix(below, "pictures/"):
		return "/docs/" + below, true
	case !inDocs || path.Ext(below) != ".md" || strings.HasPrefix(below, "decisions/"):
		return file, false
	case hasAnchor:
		return addressOf(below) + "#" + anchor, true
	}
	return addressOf(below), true
}

func (p page) file() string {
	if p.address == "/docs" {
		return "index.html"
	}
	return strings.TrimPrefix(p.address, "/docs/") + ".html"
}

// html returns the whole document of the page, with the menu.
func (p page) html(sections []section) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `<!doctype html><html lang="en"><head><meta charset="utf-8">`+
		`<meta name="viewport" content="width=device-width, initial-scale=1">`+
		`<link rel="icon" href="/favicon.svg"><link rel="stylesheet" href="/docs/manual.css">`+
		`<script type="module" src="/docs/manual.js"></script>`+
		`<title>%s · Holdfast manual</title></head><body><a class="skip" href="#main">Skip to the text</a>`+
		`<header><a class="brand" href="/docs"><span class="mark" aria-hidden="true">H</span> Holdfast manual</a>`+
		`<a href="/docs/api">API reference</a></header><div class="frame">`,
		html.EscapeString(p.title))
	b.WriteString(`<nav aria-label="Pages of the manual"><details><summary>Pages</summary>`)
	sections = append(slices.Clone(sections), section{"API reference", apiEntries()})
	for _, s := range sections {
		fmt.Fprintf(&b, `<p class="group">%s</p><ul>`, html.EscapeString(s.title))
		for _, e := range s.entries {
			here := ""
			if e.address == p.address {
				here = ` aria-current="page"`
			}
			fmt.Fprintf(&b, `<li><a href="%s"%s>%s</a></li>`, e.address, here, html.EscapeString(e.title))
		}
		b.WriteString("</ul>")
	}
	fmt.Fprintf(&b, `</details></nav><main id="main" tabindex="-1">%s</main></div></body></html>`+"\n", p.body)
	return b.Bytes()
}

var (
	anyHref = regexp.MustCompile(`<(?:a|link|img|script)[^>]* (?:href|src)="([^"]*)"`)
	anyID   = regexp.MustCompile(` id="([^"]*)"`)
)

// checkLinks returns an error that lists every link to a page, a section or a picture that does not exist.
func checkLinks(files map[string][]byte, pictures []string) error {
	ids := map[string]bool{"/openapi.yaml": true, "/openapi.json": true, "/favicon.svg": true, "/": true}
	for _, name := range pictures {
		ids["/docs/"+name] = true
	}
	addresses := make(map[string]string)
	for name, body := range files {
		address := "/docs/" + name
		if base, isPage := strings.CutSuffix(name, ".html"); isPage {
			address = strings.TrimSuffix("/docs/"+base, "/index")
		}
		addresses[name], ids[address] = address, true
		for _, m := range anyID.FindAllSubmatch(body, -1) {
			ids[address+"#"+html.UnescapeString(string(m[1]))] = true
		}
	}
	var broken []string
	for name, body := range files {
		if path.Ext(name) != ".html" {
			continue
		}
		for _, m := range anyHref.FindAllSubmatch(body, -1) {
			to := html.UnescapeString(string(m[1]))
			if strings.HasPrefix(to, "#") {
				to = addresses[name] + to
			}
			if strings.HasPrefix(to, "/") && !ids[to] {
				broken = append(broken, name+" → "+to)
			}
		}
	}
	slices.Sort(broken)
	if broken = slices.Compact(broken); len(broken) > 0 {
		return fmt.Errorf("links to nothing:\n\t%s", strings.Join(broken, "\n\t"))
	}
	return nil
}
