package web

import (
	"crypto/sha256"
	"encoding/base64"
	"html"
	"net/http"
	"strings"

	"holdfast/docs"
)

// documents are the pages about the API, made once.
type documents struct {
	routes []byte // /docs
	errors []byte // /docs/errors
	policy []string
}

var (
	htmlType = []string{"text/html; charset=utf-8"}
	yamlType = []string{"application/yaml"}
)

// documentStyle is the whole look of the pages about the API. The policy allows these very bytes and no script.
const documentStyle = `:root{color-scheme:light dark;--bg:#f6f5f0;--surface:#fff;--ink:#14201e;--ink2:#46534f;--line:#d8d4c8;--accent:#0a655a;--soft:#dcefe9}` +
	`@media(prefers-color-scheme:dark){:root{--bg:#0e1413;--surface:#161e1d;--ink:#e9efec;--ink2:#aebcb8;--line:#2c3937;--accent:#63cdbb;--soft:#12332d}}` +
	`body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem 4rem;color:var(--ink);background:var(--bg)}` +
	`h1,h2,h3{line-height:1.2}h1{margin-top:2.5rem}h1:first-child{margin-top:0}h2{margin-top:2rem}a{color:var(--accent)}` +
	`code{font-family:ui-monospace,monospace;font-size:.92em;overflow-wrap:anywhere}` +
	`table{border-collapse:collapse;width:100%}td,th{padding:.3rem 1rem .3rem 0;text-align:start;vertical-align:top;border-bottom:1px solid var(--line)}` +
	`nav ul{display:flex;flex-wrap:wrap;gap:.25rem 1.25rem;list-style:none;padding:0}` +
	`article{background:var(--surface);border:1px solid var(--line);border-radius:10px;padding:.25rem 1rem;margin:1rem 0;scroll-margin-top:1rem}article:target{border-color:var(--accent)}` +
	`h3{font-size:1rem}h3 code:first-child{background:var(--soft);color:var(--accent);border-radius:6px;padding:.1rem .4rem}.here{text-decoration:none}.who{color:var(--ink2)}`

// OpenAPI is the description of the API, as served.
func OpenAPI() []byte { return docs.OpenAPI() }

func newDocuments(all []*route) documents {
	sum := sha256.Sum256([]byte(documentStyle))
	return documents{
		routes: documentPage("Holdfast API", reference(all)),
		errors: documentPage("Holdfast errors", renderMarkdown(docs.Errors)),
		policy: []string{"default-src 'none'; img-src 'self'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; frame-ancestors 'none'"},
	}
}

func documentPage(title, body string) []byte {
	return []byte("<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><link rel=\"icon\" href=\"/favicon.svg\"><title>" +
		html.EscapeString(title) + "</title><style>" + documentStyle + "</style></head><body>" + body + "</body></html>\n")
}

// String says in words who may call.
func (a access) String() string {
	switch a {
	case managed:
		return "the appointment's manage link, or the desk"
	case waits:
		return "a link from a mail of the waiting list, or the front desk"
	case desk:
		return "the desk: staff, or an admin key"
	case admin:
		return "an owner, or an admin key"
	case agentKey:
		return "an agent key"
	case frontDesk:
		return "an owner, the reception, or an admin key"
	case queueing:
		return "an agent key, an owner, the reception, or an admin key"
	case presenceKey:
		return "a presence key, or staff"
	case bookers:
		return "anyone, but no presence key"
	case operator:
		return "an owner, the reception, an admin key, or this machine"
	}
	return "anyone"
}

// renderMarkdown turns headings, paragraphs, lists and code marks into HTML. It knows nothing else of Markdown, and
// docs/errors.md uses nothing else.
func renderMarkdown(text string) string {
	var b strings.Builder
	for block := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		switch {
		case strings.HasPrefix(block, "# "):
			b.WriteString("<h1>" + inline(block[2:]) + "</h1>")
		case strings.HasPrefix(block, "## "):
			b.WriteString("<h2 id=\"" + html.EscapeString(block[3:]) + "\"><code>" + html.EscapeString(block[3:]) + "</code></h2>")
		case strings.HasPrefix(block, "- "):
			b.WriteString("<ul>")
			for item := range strings.SplitSeq(block[2:], "\n- ") {
				b.WriteString("<li>" + inline(item) + "</li>")
			}
			b.WriteString("</ul>")
		default:
			b.WriteString("<p>" + inline(block) + "</p>")
		}
	}
	return b.String()
}

// inline sets what stands between backticks as code.
func inline(text string) string {
	var b strings.Builder
	for i, part := range strings.Split(html.EscapeString(text), "`") {
		switch {
		case i%2 == 0:
			b.WriteString(part)
		default:
			b.WriteString("<code>" + part + "</code>")
		}
	}
	return b.String()
}

func (c *call) document(contentType []string, body []byte) error {
	h := c.rw.Header()
	h["Content-Type"] = contentType
	h["Cache-Control"] = []string{"no-cache"}
	c.status, c.out = http.StatusOK, body
	return nil
}

// getOpenAPI is `GET /openapi.yaml`. The file is stored compressed and sent as it is to a client that accepts gzip.
func (s *Server) getOpenAPI(c *call) error {
	if !takesGzip(c.r.Header["Accept-Encoding"]) {
		return c.document(yamlType, docs.OpenAPI())
	}
	h := c.rw.Header()
	addVary(h, "Accept-Encoding")
	h["Content-Encoding"] = []string{"gzip"}
	return c.document(yamlType, docs.PackedOpenAPI)
}

func (s *Server) getDocs(c *call) error {
	c.rw.Header()["Content-Security-Policy"] = s.documents.policy
	return c.document(htmlType, s.documents.routes)
}

func (s *Server) getErrorDocs(c *call) error {
	c.rw.Header()["Content-Security-Policy"] = s.documents.policy
	return c.document(htmlType, s.documents.errors)
}
