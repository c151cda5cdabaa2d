package web

import (
	"cmp"
	"html"
	"strings"

	"holdfast/docs"
)

// The page /docs: every route of the table with what docs/api/openapi.yaml says of it.

// operation is what the description says of one route.
type operation struct {
	id, tag, summary string
	description      string   // may have several lines
	query            []string // names of the parameters that stand in the address
}

// section is one group of routes.
type section struct{ name, description string }

// readDescription reads what /docs shows out of the description. It understands the lines of this one document and no other
// YAML: paths, methods and their keys stand at fixed depths, and a test holds every route against it.
func readDescription(text string) (sections []section, operations map[string]operation) {
	operations = make(map[string]operation)
	var path, method, block string // block: the key whose lines are being read
	var at operation
	keep := func() {
		if method != "" {
			at.description = strings.TrimSpace(at.description)
			operations[strings.ToUpper(method)+" "+path] = at
		}
		method, at, block = "", operation{}, ""
	}
	inPaths := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		body := strings.TrimLeft(line, " ")
		depth := len(line) - len(body)
		switch {
		case depth == 0 && body != "":
			keep()
			inPaths = body == "paths:"
		case !inPaths && strings.HasPrefix(line, "  - {name: "):
			name, rest, _ := strings.Cut(strings.TrimPrefix(line, "  - {name: "), ", description: ")
			sections = append(sections, section{name, unquoted(strings.TrimSuffix(rest, "}"))})
		case !inPaths:
		case depth == 2 && strings.HasPrefix(body, "/"):
			keep()
			path = strings.TrimSuffix(body, ":")
		case depth == 4 && strings.HasSuffix(body, ":"):
			keep()
			if method = strings.TrimSuffix(body, ":"); method == "parameters" {
				method = ""
			}
		case depth == 6 && method != "":
			key, value, _ := strings.Cut(body, ":")
			block, value = key, unquoted(strings.TrimSpace(value))
			switch key {
			case "tags":
				at.tag = strings.Trim(value, "[]")
			case "operationId":
				at.id = value
			case "summary":
				at.summary = value
			case "description":
				at.description = strings.TrimPrefix(value, "|")
			}
		case block == "description" && (depth >= 8 || body == ""):
			at.description += body + "\n"
		case block == "parameters" && strings.HasPrefix(body, "- {name: ") && strings.Contains(body, "in: query"):
			name, _, _ := strings.Cut(strings.TrimPrefix(body, "- {name: "), ",")
			at.query = append(at.query, name)
		}
	}
	keep()
	return sections, operations
}

// unquoted is a value of the description without the quotes around it.
func unquoted(value string) string {
	if len(value) > 1 && (value[0] == '"' || value[0] == '\'') && value[len(value)-1] == value[0] {
		return value[1 : len(value)-1]
	}
	return value
}

// reference is the page: an index of all routes by subject, then each of them.
func reference(all []*route) string {
	sections, operations := readDescription(string(docs.OpenAPI()))
	var nav, index, body strings.Builder
	sections = append(sections, section{description: "What the description does not have yet."})
	for _, part := range sections {
		var rows, entries strings.Builder
		for _, rt := range all {
			o := operations[rt.method+" "+rt.pattern]
			if o.tag != part.name {
				continue
			}
			pattern, id := html.EscapeString(rt.pattern), html.EscapeString(cmp.Or(o.id, rt.method+rt.pattern))
			rows.WriteString(`<tr><td><code>` + rt.method + `</code></td><td><a href="#` + id + `"><code>` + pattern + `</code></a></td><td>` + inline(o.summary) + `</td></tr>`)
			entries.WriteString(`<article id="` + id + `"><h3><code class="` + strings.ToLower(rt.method) + `">` + rt.method + `</code> <code>` + pattern + `</code> <a class="here" href="#` + id + `" aria-label="Link to ` + rt.method + ` ` + pattern + `">#</a></h3><p>` +
				inline(o.summary) + `.</p>`)
			for paragraph := range strings.SplitSeq(o.description, "\n\n") {
				if paragraph != "" {
					entries.WriteString("<p>" + inline(paragraph) + "</p>")
				}
			}
			entries.WriteString(`<p class="who">For ` + rt.access.String())
			if len(o.query) > 0 {
				entries.WriteString(`; in the address: <code>` + html.EscapeString(strings.Join(o.query, " ")) + `</code>`)
			}
			entries.WriteString(`</p></article>`)
		}
		if rows.Len() == 0 {
			continue
		}
		nav.WriteString(`<li><a href="#` + part.name + `">` + part.name + `</a></li>`)
		index.WriteString(`<h2 id="` + part.name + `">` + part.name + `</h2><p>` + inline(part.description) + `</p><table><thead><tr><th>Method</th><th>Path</th><th>What it does</th></tr></thead><tbody>` +
			rows.String() + `</tbody></table>`)
		body.WriteString(`<h2>` + part.name + `</h2>` + entries.String())
	}
	return `<h1>Holdfast API</h1><p>Everything the pages do, a program can do. The full description, with every field, is <a href="/openapi.yaml">openapi.yaml</a>; every error code has a section in <a href="/docs/errors">errors</a>.</p>` +
		`<nav aria-label="Subjects"><ul>` + nav.String() + `</ul></nav>` + index.String() + `<h1>Each route</h1>` + body.String()
}
