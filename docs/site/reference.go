package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// reference is the API description: its operations by tag, in the order of the paths.
type reference struct {
	doc        *openapi3.T
	operations map[string][]operation // by tag
	json       []byte                 // the whole description, for /openapi.json
}

// operation is one method of one path.
type operation struct {
	*openapi3.Operation
	method, path string
}

func readReference(description []byte) (*reference, error) {
	loader := openapi3.NewLoader()
	doc, err := loader.LoadFromData(description)
	if err != nil {
		return nil, err
	}
	if err := doc.Validate(loader.Context); err != nil {
		return nil, err
	}
	r := &reference{doc: doc, operations: make(map[string][]operation)}
	if r.json, err = doc.MarshalJSON(); err != nil {
		return nil, err
	}
	for _, path := range doc.Paths.InMatchingOrder() {
		item := doc.Paths.Value(path)
		for method, o := range item.Operations() {
			if len(o.Tags) != 1 || o.OperationID == "" || doc.Tags.Get(o.Tags[0]) == nil {
				return nil, fmt.Errorf("%s %s needs an operationId and one tag that the description defines",
					method, path)
			}
			o.Parameters = append(slices.Clone(item.Parameters), o.Parameters...)
			r.operations[o.Tags[0]] = append(r.operations[o.Tags[0]], operation{o, method, path})
		}
	}
	for _, all := range r.operations {
		slices.SortFunc(all, func(a, b operation) int {
			return cmp.Or(strings.Compare(a.path, b.path), slices.Index(methods,
				a.method)-slices.Index(methods, b.method))
		})
	}
	return r, nil
}

var methods = []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

// apiEntries returns the menu entries for the API.
func apiEntries() []entry {
	return []entry{{"/docs/api", "All operations"}, {"/docs/api/schemas", "Schemas"}, {"/docs/errors", "Error codes"}}
}

// pages returns the list of all operations, one page for each tag, and the page of the schemas.
func (r *reference) pages() []page {
	var list strings.Builder
	list.WriteString(`<h1>API reference</h1>` + renderText(r.doc.Info.Description) +
		`<p>The same description as files: <a href="/openapi.yaml">openapi.yaml</a> and ` +
		`<a href="/openapi.json">openapi.json</a>. ` +
		`Each error code has a section in <a href="/docs/errors">Errors</a>.</p>` + r.credentials() +
		`<h2 id="operations">Operations</h2><p class="find" hidden>` +
		`<label for="find">Search by path, name or text</label> ` +
		`<input id="find" type="search" autocomplete="off"> <span role="status"></span></p>`)
	var pages []page
	for _, tag := range r.doc.Tags {
		address := "/docs/api/" + tag.Name
		var body strings.Builder
		fmt.Fprintf(&body, `<h1>API: %s</h1><p>%s.</p>%s`, tag.Name, html.EscapeString(tag.Description), tryKey)
		fmt.Fprintf(&list, `<section class="operations"><h3 id="tag-%[1]s"><a href="%[2]s">%[1]s</a></h3>`+
			`<p>%[3]s.</p><table><thead><tr><th scope="col">Method</th><th scope="col">Path</th>`+
			`<th scope="col">Result</th></tr></thead><tbody>`,
			tag.Name, address, html.EscapeString(tag.Description))
		for _, o := range r.operations[tag.Name] {
			fmt.Fprintf(&list, `<tr id="%s"><td><code>%s</code></td><td><a href="%s#%s"><code>%s</code></a></td>`+
				`<td>%s</td></tr>`,
				o.OperationID, o.method, address, o.OperationID, html.EscapeString(o.path), inline(o.Summary))
			body.WriteString(r.article(o))
		}
		list.WriteString(`</tbody></table></section>`)
		pages = append(pages, page{address, "API: " + tag.Name, body.String()})
	}
	return append(pages, page{"/docs/api", "API reference", list.String()},
		page{"/docs/api/schemas", "Schemas", r.schemas()})
}

// tryKey is the form for an API key. It stays hidden until the script shows it, because no operation can be tried
// without the script.
const tryKey = `<p class="key" hidden>` +
	`<label for="key">Your API key, for “Try it” on this page</label> ` +
	`<input id="key" type="password" autocomplete="off" spellcheck="false"> ` +
	`The page keeps the key until you leave it.</p>`

// credentials describes how a caller can identify itself.
func (r *reference) credentials() string {
	var b strings.Builder
	b.WriteString(`<h2 id="credentials">Credentials</h2><table><thead><tr><th scope="col">Name</th>` +
		`<th scope="col">Sent as</th><th scope="col">Meaning</th></tr></thead><tbody>`)
	for _, name := range sortedKeys(r.doc.Components.SecuritySchemes) {
		s := r.doc.Components.SecuritySchemes[name].Value
		sent := "Authorization: Bearer …"
		if s.Type == "apiKey" {
			sent = s.In + " " + s.Name
		}
		fmt.Fprintf(&b, `<tr id="credential-%s"><td>%s</td><td><code>%s</code></td><td>%s</td></tr>`, name,
			credentialNames[name], html.EscapeString(sent), inline(s.Description))
	}
	return b.String() + `</tbody></table>`
}

var credentialNames = map[string]string{"apiKey": "API key", "session": "staff session", "manageLink": "manage link"}

// security lists the credentials for an operation, which needs one of them.
func (r *reference) security(o operation) string {
	var names []string
	open := false
	for _, way := range r.ways(o) {
		open = open || len(way) == 0
		for name := range way {
			names = append(names, `<a href="/docs/api#credential-`+name+`">`+credentialNames[name]+`</a>`)
		}
	}
	switch {
	case len(names) == 0:
		return "none needed"
	case open:
		return "none needed; more with " + strings.Join(names, " or ")
	}
	return strings.Join(names, " or ")
}

func (r *reference) ways(o operation) openapi3.SecurityRequirements {
	if o.Security != nil {
		return *o.Security
	}
	return r.doc.Security
}

// article returns the section of one operation, as HTML.
func (r *reference) article(o operation) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<article><h2 id="%[1]s"><code class="method">%[2]s</code> <code>%[3]s</code></h2><p>`+
		`<strong>%[4]s.</strong></p>%[5]s<p>Credential: %[6]s.</p>`,
		o.OperationID, o.method, html.EscapeString(o.path), inline(o.Summary), renderText(o.Description), r.security(o))
	r.parameters(&b, o)
	r.body(&b, o)
	r.answers(&b, o)
	fmt.Fprintf(&b, `<h3>Errors</h3><p>`)
	for i, code := range errorCodes(r, o) {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, `<a href="/docs/errors#%[1]s"><code>%[1]s</code></a>`, code)
	}
	b.WriteString(`</p>`)
	r.example(&b, o)
	return b.String() + `</article>`
}

func (r *reference) parameters(b *strings.Builder, o operation) {
	if len(o.Parameters) == 0 {
		return
	}
	b.WriteString(`<h3>Parameters</h3><table><thead><tr><th scope="col">Name</th><th scope="col">In</th>` +
		`<th scope="col">Type and limits</th><th scope="col">Meaning</th></tr></thead><tbody>`)
	for _, ref := range o.Parameters {
		p := ref.Value
		fmt.Fprintf(b, `<tr><td><code>%s</code>%s</td><td>%s</td><td>%s</td><td>%s</td></tr>`,
			html.EscapeString(p.Name), mark(p.Required), p.In, typeOf(p.Schema),
			inline(cmp.Or(p.Description, p.Schema.Value.Description)))
	}
	b.WriteString(`</tbody></table>`)
}

func (r *reference) body(b *strings.Builder, o operation) {
	if o.RequestBody == nil {
		return
	}
	for _, kind := range sortedKeys(o.RequestBody.Value.Content) {
		fmt.Fprintf(b, `<h3>Body</h3><p><code>%s</code>`, kind)
		if schema := o.RequestBody.Value.Content[kind].Schema; schema != nil {
			fmt.Fprintf(b, `: %s</p>%s`, typeOf(schema), fieldTable(schema))
			continue
		}
		b.WriteString(`</p>`)
	}
}

func (r *reference) answers(b *strings.Builder, o operation) {
	b.WriteString(`<h3>Answers</h3>`)
	for _, status := range sortedKeys(o.Responses.Map()) {
		answer := o.Responses.Value(status).Value
		if status == "default" {
			continue // the errors have their own heading
		}
		fmt.Fprintf(b, `<p><code>%s</code> %s`, status, inline(strings.TrimSpace(*answer.Description)))
		for _, name := range sortedKeys(answer.Headers) {
			fmt.Fprintf(b, `; header <code>%s</code>`, name)
		}
		b.WriteString(`</p>`)
		for _, kind := range sortedKeys(answer.Content) {
			if schema := answer.Content[kind].Schema; schema != nil {
				fmt.Fprintf(b, `<p><code>%s</code>: %s</p>%s`, kind, typeOf(schema), fieldTable(schema))
			}
		}
	}
}

// example writes a call with curl, the start of a response, and the data that the script needs to build the form for
// trying the operation.
func (r *reference) example(b *strings.Builder, o operation) {
	address, call := o.path, "curl"
	var query []string
	if o.method != http.MethodGet {
		call += " -X " + o.method
	}
	for _, ref := range o.Parameters {
		p := ref.Value
		value := fmt.Sprint(exampleOf(p.Schema, 0))
		switch {
		case p.In == "path":
			address = strings.ReplaceAll(address, "{"+p.Name+"}", value)
		case p.In == "query" && p.Required:
			query = append(query, p.Name+"="+value)
		}
	}
	if len(query) > 0 {
		address += "?" + strings.Join(query, "&")
	}
	call += ` "$HOLDFAST` + address + `"`
	ways := r.ways(o)
	needs := func(name string) bool {
		return slices.ContainsFunc(ways, func(way openapi3.SecurityRequirement) bool { return way[name] != nil }) &&
			!slices.ContainsFunc(ways, func(way openapi3.SecurityRequirement) bool { return len(way) == 0 })
	}
	switch {
	case needs("apiKey"):
		call += " \\\n  -H \"Authorization: Bearer $HOLDFAST_KEY\""
	case needs("manageLink"):
		call += " \\\n  -H \"Holdfast-Manage: $TOKEN\""
	case needs("session"):
		call += " \\\n  -b cookies.txt"
	}
	body := ""
	if o.RequestBody != nil {
		if json := o.RequestBody.Value.Content.Get("application/json"); json != nil && json.Schema != nil {
			body = indented(exampleOf(json.Schema, 0))
			if json.Example != nil {
				body = indented(json.Example)
			}
			call += " \\\n  -H \"Content-Type: application/json\" -d '" + strings.ReplaceAll(body, "'", `'\''`) + "'"
		}
	}
	fmt.Fprintf(b, `<h3>Example</h3><pre tabindex="0"><code>%s</code></pre>`, html.EscapeString(call))
	for _, status := range sortedKeys(o.Responses.Map()) {
		if !strings.HasPrefix(status, "2") {
			continue
		}
		if answer := o.Responses.Value(status).Value.Content["application/json"]; answer != nil &&
			answer.Schema != nil {
			fmt.Fprintf(b, `<details><summary>Answer <code>%s</code></summary><pre tabindex="0"><code>%s</code></pre>`+
				`</details>`, status, html.EscapeString(indented(exampleOf(answer.Schema, 0))))
		}
		break
	}
	parameters := make([]tryParameter, 0, len(o.Parameters))
	for _, ref := range o.Parameters {
		if p := ref.Value; p.In != "cookie" && p.Name != "Idempotency-Key" {
			parameters = append(parameters, tryParameter{p.Name, p.In, p.Required})
		}
	}
	data, err := json.Marshal(tryForm{o.method, o.path, parameters, body})
	if err != nil {
		panic(err) // encoding strings cannot fail
	}
	fmt.Fprintf(b, `<div class="try" data-try="%s"></div>`, html.EscapeString(string(data)))
}

// tryForm holds the data of the form for trying an operation. manual.js reads it.
type tryForm struct {
	Method     string         `json:"method"`
	Path       string         `json:"path"`
	Parameters []tryParameter `json:"parameters"`
	Body       string         `json:"body"`
}

type tryParameter struct {
	Name     string `json:"name"`
	In       string `json:"in"`
	Required bool   `json:"required"`
}

// errorCodes returns the codes that an operation can return. They follow from its credentials, its body and its
// parameters, or are listed in its x-errors.
func errorCodes(r *reference, o operation) []string {
	codes := []string{"internal", "storage_unavailable"}
	if listed, ok := o.Extensions["x-errors"].([]any); ok {
		for _, code := range listed {
			codes = append(codes, fmt.Sprint(code))
		}
	}
	ways := r.ways(o)
	if len(ways) > 0 && !slices.ContainsFunc(ways, func(way openapi3.SecurityRequirement) bool {
		return len(way) == 0
	}) {
		codes = append(codes, "unauthorized", "forbidden")
	}
	if o.RequestBody != nil && o.RequestBody.Value.Content["application/json"] != nil {
		codes = append(codes, "malformed_body", "payload_too_large", "unsupported_media_type", "validation_failed")
	}
	for _, ref := range o.Parameters {
		switch p := ref.Value; {
		case p.In == "path":
			codes = append(codes, "not_found")
		case p.In == "query":
			codes = append(codes, "validation_failed")
		case p.Name == "Idempotency-Key":
			codes = append(codes, "idempotency_mismatch", "idempotency_in_flight")
		case p.Name == "If-Match":
			codes = append(codes, "version_mismatch")
		}
	}
	slices.Sort(codes)
	return slices.Compact(codes)
}

func mark(required bool) string {
	if required {
		return ` <span class="required">required</span>`
	}
	return ""
}
