// Package docs carries the parts of the documentation that the server itself shows: the description of its API and the
// page that the type of every problem points to.
package docs

import _ "embed"

// OpenAPI is the description of the HTTP API, as served at /openapi.yaml.
//
//go:embed api/openapi.yaml
var OpenAPI []byte

// Errors says of every error code what it means and what to do, in Markdown of headings, paragraphs and lists.
//
//go:embed errors.md
var Errors string
