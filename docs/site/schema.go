package main

import (
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// maxDepth limits how deeply a table of fields, or an example, follows nested objects.
const maxDepth = 4

// schemas returns the page that lists every named schema with its fields.
func (r *reference) schemas() string {
	var b strings.Builder
	b.WriteString(`<h1>Schemas</h1>` +
		`<p>Each object that the API reads or returns, with its fields. ` +
		`The <a href="/docs/api">operations</a> link here.</p>`)
	for _, name := range sortedKeys(r.doc.Components.Schemas) {
		schema := r.doc.Components.Schemas[name]
		plain := &openapi3.SchemaRef{Value: schema.Value} // not a link to itself
		fmt.Fprintf(&b, `<article><h2 id="%[1]s">%[1]s</h2>%[2]s<p>%[3]s</p>%[4]s</article>`, name,
			renderText(schema.Value.Description), typeOf(plain), fieldTable(plain))
	}
	return b.String()
}

// field is a property of an object, with its path, such as openId.chosen.name.
type field struct {
	path     string
	required bool
	schema   *openapi3.SchemaRef
}

// fieldTable returns a table of the fields of an object, including the fields of unnamed objects nested in it.
func fieldTable(schema *openapi3.SchemaRef) string {
	fields := fieldsOf(schema, "", 0)
	if len(fields) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(`<table><thead><tr><th scope="col">Field</th><th scope="col">Type and limits</th>` +
		`<th scope="col">Meaning</th></tr></thead><tbody>`)
	for _, f := range fields {
		fmt.Fprintf(&b, `<tr><td><code>%s</code>%s</td><td>%s</td><td>%s</td></tr>`, html.EscapeString(f.path),
			mark(f.required), typeOf(f.schema), inline(descriptionOf(f.schema)))
	}
	return b.String() + `</tbody></table>`
}

// fieldsOf returns the required fields in their order, then the others by name.
func fieldsOf(schema *openapi3.SchemaRef, prefix string, depth int) (fields []field) {
	if schema == nil || depth > maxDepth || depth > 0 && nameOf(schema) != "" {
		return nil
	}
	s := schema.Value
	if s.Type.Is("array") {
		return fieldsOf(s.Items, prefix+"[]", depth+1)
	}
	for _, part := range slices.Concat(s.AllOf, s.OneOf, s.AnyOf) {
		fields = append(fields, fieldsOf(&openapi3.SchemaRef{Value: part.Value}, prefix, depth+1)...)
	}
	if prefix != "" {
		prefix += "."
	}
	names := slices.Clone(s.Required)
	for _, name := range sortedKeys(s.Properties) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for i, name := range names {
		inner := s.Properties[name]
		if inner == nil {
			continue // a part of the schema has this field
		}
		fields = append(fields, field{prefix + name, i < len(s.Required), inner})
		fields = append(fields, fieldsOf(inner, prefix+name, depth+1)...)
	}
	if more := s.AdditionalProperties.Schema; more != nil {
		fields = append(fields, fieldsOf(more, prefix+"*", depth+1)...)
	}
	return fields
}

// descriptionOf returns the description of a field. If the field has a named schema, descriptionOf returns the first
// sentence of that schema's description.
func descriptionOf(schema *openapi3.SchemaRef) string {
	if nameOf(schema) != "" {
		return firstSentence(schema.Value.Description)
	}
	return schema.Value.Description
}

func firstSentence(text string) string {
	first, _, _ := strings.Cut(text, ". ")
	return first
}

// nameOf returns the name of the schema in the API description, or an empty string if it has no name.
func nameOf(schema *openapi3.SchemaRef) string {
	return strings.TrimPrefix(schema.Ref, "#/components/schemas/")
}

// typeOf returns the type of a value with its limits, as HTML.
func typeOf(schema *openapi3.SchemaRef) string {
	if schema == nil {
		return "any"
	}
	if name := nameOf(schema); name != "" {
		return `<a href="/docs/api/schemas#` + name + `">` + name + `</a>`
	}
	s := schema.Value
	var words []string
	switch {
	case s.Type.Is("array"):
		words = append(words, "array of "+typeOf(s.Items))
	case s.Type != nil && len(s.Type.Slice()) > 0:
		words = append(words, strings.Join(s.Type.Slice(), " or "))
	}
	for _, combined := range []struct {
		word  string
		parts openapi3.SchemaRefs
	}{{"", s.AllOf}, {"one of ", s.OneOf}, {"any of ", s.AnyOf}} {
		var list []string
		for _, part := range combined.parts {
			list = append(list, typeOf(part))
		}
		if len(list) > 0 {
			words = append(words, combined.word+strings.Join(list, ", "))
		}
	}
	if len(words) == 0 {
		words = append(words, "any")
	}
	return strings.Join(append(words, limitsOf(s)...), "; ")
}

func limitsOf(s *openapi3.Schema) (limits []string) {
	add := func(format string, values ...any) {
		limits = append(limits, html.EscapeString(fmt.Sprintf(format, values...)))
	}
	if len(s.Enum) > 0 {
		var values []string
		for _, v := range s.Enum {
			values = append(values, fmt.Sprintf("<code>%s</code>", html.EscapeString(compact(v))))
		}
		limits = append(limits, strings.Join(values, ", "))
	}
	if s.Format != "" {
		add("format %s", s.Format)
	}
	limits = append(limits, rangeOf("", s.Min, s.Max)...)
	if s.MaxLength != nil || s.MinLength > 0 {
		limits = append(limits, countOf(s.MinLength, s.MaxLength, "characters"))
	}
	if s.MaxItems != nil || s.MinItems > 0 {
		limits = append(limits, countOf(s.MinItems, s.MaxItems, "items"))
	}
	if s.Pattern != "" {
		limits = append(limits, "pattern <code>"+html.EscapeString(s.Pattern)+"</code>")
	}
	if s.Default != nil {
		limits = append(limits, "default <code>"+html.EscapeString(compact(s.Default))+"</code>")
	}
	if s.Nullable {
		limits = append(limits, "or null")
	}
	return limits
}

func rangeOf(unit string, low, high *float64) []string {
	switch {
	case low != nil && high != nil:
		return []string{fmt.Sprintf("%v to %v%s", *low, *high, unit)}
	case low != nil:
		return []string{fmt.Sprintf("at least %v%s", *low, unit)}
	case high != nil:
		return []string{fmt.Sprintf("at most %v%s", *high, unit)}
	}
	return nil
}

func countOf(low uint64, high *uint64, unit string) string {
	switch {
	case high == nil:
		return fmt.Sprintf("at least %d %s", low, unit)
	case low == 0:
		return fmt.Sprintf("at most %d %s", *high, unit)
	}
	return fmt.Sprintf("%d to %d %s", low, *high, unit)
}

// exampleOf returns a value that the schema allows: its example, its default, or the first value that its limits allow.
func exampleOf(schema *openapi3.SchemaRef, depth int) any {
	if schema == nil || schema.Value == nil {
		return nil
	}
	s := schema.Value
	switch {
	case s.Example != nil:
		return s.Example
	case s.Default != nil:
		return s.Default
	case len(s.Enum) > 0:
		return s.Enum[0]
	case len(s.OneOf) > 0:
		return exampleOf(s.OneOf[0], depth)
	case len(s.AnyOf) > 0:
		return exampleOf(s.AnyOf[0], depth)
	case s.Type.Is("array"):
		if depth > maxDepth {
			return []any{}
		}
		return []any{exampleOf(s.Items, depth+1)}
	case s.Type.Is("integer"), s.Type.Is("number"):
		if s.Min != nil {
			return *s.Min
		}
		return 1
	case s.Type.Is("boolean"):
		return true
	case s.Type.Is("string"):
		return exampleString(s)
	}
	object := make(map[string]any)
	for _, part := range s.AllOf {
		value := exampleOf(part, depth)
		if fields, ok := value.(map[string]any); ok {
			maps.Copy(object, fields)
		} else if len(s.Properties) == 0 {
			return value
		}
	}
	for _, name := range sortedKeys(s.Properties) {
		if slices.Contains(s.Required, name) || depth == 0 && len(s.Required) == 0 {
			object[name] = exampleOf(s.Properties[name], depth+1)
		}
	}
	return object
}

func exampleString(s *openapi3.Schema) string {
	switch s.Format {
	case "date-time":
		return "2026-11-23T09:00:00Z"
	case "date":
		return "2026-11-23"
	case "email":
		return "lena@example.org"
	case "uri":
		return "https://book.example.org"
	}
	return strings.Repeat("x", int(max(s.MinLength, 1)))
}

func indented(v any) string {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		panic(err) // it was decoded from JSON
	}
	return string(b)
}

func compact(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // it was decoded from JSON
	}
	return string(b)
}

// inline renders one line of Markdown without a paragraph around it.
func inline(text string) string {
	body := strings.TrimSpace(renderText(strings.TrimSpace(text)))
	return strings.TrimSuffix(strings.TrimPrefix(body, "<p>"), "</p>")
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
