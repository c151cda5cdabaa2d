package web_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"holdfast/docs"
	"holdfast/web"
)

// description is docs/api/openapi.yaml, parsed once. The tests of this package check every response against this
// description.
var description = sync.OnceValues(func() (*openapi3.T, error) {
	loader := openapi3.NewLoader()
	doc, err := loader.LoadFromData(docs.OpenAPI())
	if err != nil {
		return nil, err
	}
	return doc, doc.Validate(loader.Context)
})

func TestOpenAPIIsValid(t *testing.T) {
	if _, err := description(); err != nil {
		t.Fatal(err)
	}
}

func TestOpenAPIDescribesEveryRoute(t *testing.T) {
	doc, err := description()
	if err != nil {
		t.Fatal(err)
	}
	routes := web.RoutesOf(newHouse(t).web)
	var described []string
	for path, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			described = append(described, method+" "+path)
		}
	}
	slices.Sort(routes)
	slices.Sort(described)
	for _, r := range routes {
		if !slices.Contains(described, r) {
			t.Errorf("%s is a route, but not in docs/api/openapi.yaml", r)
		}
	}
	for _, r := range described {
		if !slices.Contains(routes, r) {
			t.Errorf("%s is in docs/api/openapi.yaml, but not a route", r)
		}
	}
	if len(routes) < 30 {
		t.Errorf("found only %d routes", len(routes))
	}
}

// conforms checks one response against the description. It ignores responses that belong to no operation, such as a
// page.
func (r *reply) conforms(method, path string) {
	r.t.Helper()
	doc, err := description()
	if err != nil || r.body == nil {
		return
	}
	path, _, _ = strings.Cut(path, "?")
	operation := findOperation(doc, method, path)
	if operation == nil {
		return
	}
	if code, _ := r.body["code"].(string); slices.Contains(listedCodes, code) && !lists(operation, code) {
		r.t.Errorf("%s %s answers %s, which its x-errors do not list: %s", method, path, code, r.raw)
	}
	answer := operation.Responses.Status(r.status)
	if answer == nil {
		answer = operation.Responses.Default()
	}
	if answer == nil {
		r.t.Errorf("%s %s answers %d, which the description does not have", method, path, r.status)
		return
	}
	content := answer.Value.Content.Get(r.header.Get("Content-Type"))
	if content == nil {
		r.t.Errorf("%s %s answers %d as %s, which the description does not have", method, path, r.status, r.header.Get("Content-Type"))
		return
	}
	if err := content.Schema.Value.VisitJSON(r.body); err != nil {
		r.t.Errorf("%s %s answers %d in another form than described: %v\n%s", method, path, r.status, err, r.raw)
	}
}

// listedCodes are the error codes that an operation must list in x-errors if it can return them. All other codes follow
// from the operation's access, parameters and body.
var listedCodes = []string{"not_owner", "no_slots", "slot_taken", "slot_held", "not_bookable", "operation_state", "hold_expired", "quota_exceeded", "cooldown_active"}

func lists(operation *openapi3.Operation, code string) bool {
	codes, _ := operation.Extensions["x-errors"].([]any)
	return slices.Contains(codes, any(code))
}

// findOperation returns the operation for a method and a path, or nil. It prefers a path without parameters.
func findOperation(doc *openapi3.T, method, path string) *openapi3.Operation {
	if item := doc.Paths.Value(path); item != nil {
		return item.GetOperation(method)
	}
	asked := strings.Split(path, "/")
	for template, item := range doc.Paths.Map() {
		parts := strings.Split(template, "/")
		if len(parts) == len(asked) && slices.EqualFunc(parts, asked, func(p, a string) bool { return p == a || strings.HasPrefix(p, "{") }) {
			return item.GetOperation(method)
		}
	}
	return nil
}

// TestOpenAPIDescribesAccess: a route that refuses anonymous callers needs a credential in the description, and the
// others need none. The manage link and the session are named where they are accepted.
func TestOpenAPIDescribesAccess(t *testing.T) {
	doc, err := description()
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	for _, line := range readRoleTable(t) {
		name := line.method + " " + line.path
		operation := findOperation(doc, line.method, line.path)
		if operation == nil || seen[name] {
			continue // TestOpenAPIDescribesEveryRoute reports missing operations
		}
		seen[name] = true
		schemes := make(map[string]bool)
		security := doc.Security
		if operation.Security != nil {
			security = *operation.Security
		}
		for _, alternative := range security {
			if len(alternative) == 0 {
				schemes["none"] = true
			}
			for scheme := range alternative {
				schemes[scheme] = true
			}
		}
		who := func(column string) string { return line.want[slices.Index(roleColumns, column)] }
		needs := who("nobody") == "401"
		if needs == (len(schemes) == 0 || schemes["none"]) && line.path != "/metrics" { // this machine may
			t.Errorf("%s: the description requires %v; a caller without a credential got %s", name, schemes, who(roleColumns[0]))
		}
		if !needs {
			continue
		}
		if opens := who("link") != "401"; opens != schemes["manageLink"] {
			t.Errorf("%s: the description requires %v; a manage link got %s", name, schemes, who("link"))
		}
		staff := who("owner") != "401" && who("owner") != "403"
		if staff != schemes["session"] {
			t.Errorf("%s: the description requires %v; a signed-in owner got %s", name, schemes, who("owner"))
		}
		program := false
		for _, column := range []string{"agent", "presence", "admin"} {
			program = program || who(column) != "401" && who(column) != "403"
		}
		if program != schemes["apiKey"] {
			t.Errorf("%s: the description requires %v; keys got %s, %s, %s", name, schemes, who("agent"), who("presence"), who("admin"))
		}
	}
}

// notRemembered are the POSTs whose responses are not stored under an Idempotency-Key, with the reasons.
var notRemembered = map[string]string{
	"/v1/setup":                               "signs in, and a link works once",
	"/v1/setup/check":                         "changes nothing",
	"/v1/auth/sign-in":                        "the cookie is a secret",
	"/v1/auth/openid":                         "the cookie is a secret",
	"/v1/auth/openid/code":                    "the cookie is a secret",
	"/v1/auth/sign-out":                       "every answer takes the cookie away",
	"/v1/auth/password":                       "the body is a secret, and a repeat comes to the same",
	"/v1/auth/totp":                           "the answer is a secret; it changes nothing",
	"/v1/holds/stream-ticket":                 "each ticket works once",
	"/v1/specialists/{id}/calendar-feed":      "the answer is a secret",
	"/v1/appointments/search":                 "it is a question",
	"/v1/appointment-types/{id}/find":         "it is a question",
	"/v1/settings/mail-preview":               "it is a question",
	"/v1/settings/mail-server/test":           "every test is a new mail",
	"/v1/settings/sms-gateway/test":           "every test is a new message",
	"/v1/settings/sms-preview":                "it is a question",
	"/v1/settings/webhook-test":               "every test is a new message",
	"/v1/settings/booking-rule/test":          "every test is a new call",
	"/v1/people/search":                       "it is a question",
	"/fhir/Schedule/_search":                  "it is a question",
	"/fhir/Slot/_search":                      "it is a question",
	"/fhir/Appointment/_search":               "it is a question",
	"/v1/audit/search":                        "it is a question",
	"/v1/people/erase-plan":                   "it is a question",
	"/v1/import/plan":                         "it is a question",
	"/v1/import/appointments-plan":            "it is a question",
	"/v1/blocks/plan":                         "it is a question",
	"/v1/absences/plan":                       "it is a question",
	"/v1/downtime-kit/check":                  "it is a question",
	"/v1/blocks/holidays":                     "it is a question",
	"/v1/appointment-types/{id}/series-plan":  "it is a question",
	"/v1/appointments/{id}/series/plan":       "it is a question",
	"/mcp":                                    "the protocol has no such header; a booking token books once",
	"/v1/specialists/{id}/busy-calendar/read": "it reads again, and a repeat has the same result",
}

// TestOpenAPIDescribesIdempotency: every POST accepts an Idempotency-Key, except those in notRemembered.
func TestOpenAPIDescribesIdempotency(t *testing.T) {
	doc, err := description()
	if err != nil {
		t.Fatal(err)
	}
	for path, item := range doc.Paths.Map() {
		if item.Post == nil {
			continue
		}
		takes := slices.ContainsFunc(item.Post.Parameters, func(p *openapi3.ParameterRef) bool { return p.Value.Name == "Idempotency-Key" })
		if want := notRemembered[path] == ""; takes != want {
			t.Errorf("POST %s: the description has the header Idempotency-Key: %t, want %t", path, takes, want)
		}
	}
}
