package web_test

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"holdfast/engine"
	"holdfast/engine/clinic"
	"holdfast/engine/notice"
)

// TestSettingsFieldsAreDescribed: the description contains every field of the settings, including nested ones, and no
// others.
func TestSettingsFieldsAreDescribed(t *testing.T) {
	doc, err := description()
	if err != nil {
		t.Fatal(err)
	}
	compareFields(t, "settings", reflect.TypeFor[clinic.Settings](), doc.Components.Schemas["Settings"].Value)
}

// compareFields compares the JSON fields of a struct with the properties of a schema.
func compareFields(t *testing.T, at string, of reflect.Type, schema *openapi3.Schema) {
	t.Helper()
	var fields []string
	for f := range of.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		fields = append(fields, name)
		inner := f.Type
		described := schema.Properties[name]
		if described == nil {
			continue
		}
		value := described.Value
		for inner.Kind() == reflect.Slice || inner.Kind() == reflect.Pointer {
			if inner.Kind() == reflect.Slice && value.Items != nil {
				value = value.Items.Value
			}
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Struct && inner != reflect.TypeFor[time.Time]() {
			compareFields(t, at+"."+name, inner, value)
		}
	}
	described := slices.Sorted(maps.Keys(schema.Properties))
	if slices.Sort(fields); !slices.Equal(fields, described) {
		t.Errorf("%s has the fields %v; the description has %v", at, fields, described)
	}
	if schema.AdditionalProperties.Has == nil || *schema.AdditionalProperties.Has {
		t.Errorf("%s: the description allows other fields", at)
	}
}

// TestWebhookEventsAreDescribed: each event has a callback in the description, and the webhooks that are sent match it,
// including the headers.
func TestWebhookEventsAreDescribed(t *testing.T) {
	if testing.Short() {
		t.Skip("makes every event")
	}
	doc, err := description()
	if err != nil {
		t.Fatal(err)
	}
	callbacks := doc.Paths.Value("/v1/settings").Put.Callbacks
	described := make(map[string]*openapi3.Operation)
	for event, callback := range callbacks {
		for _, item := range callback.Value.Map() {
			described[event] = item.Post
		}
	}
	events := clinic.WebhookEvents()
	slices.Sort(events)
	if got := slices.Sorted(maps.Keys(described)); !slices.Equal(got, events) {
		t.Fatalf("the description has the events %v; the code has %v", got, events)
	}

	type call struct {
		header http.Header
		body   []byte
	}
	calls := make(chan call, 100)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		calls <- call{r.Header, body}
	}))
	defer receiver.Close()
	h, _ := newPractice(t, func(o *engine.Options) {
		o.Notices.Hooks = notice.NewHooks(notice.HookOptions{AllowPrivate: true})
	})
	h.do("PUT", "/v1/settings", map[string]any{"webhooks": []any{map[string]any{"id": "crm", "url": receiver.URL}}},
		asAdmin).want(200)
	// not changed later, so that it reaches the practice-management system
	h.book(2, "checkup", map[string]any{"slotStartDate": h.at(120), "specialistId": "ada"}).want(201)
	id := h.book(1, "checkup", map[string]any{"slotStartDate": h.at(0),
		"specialistId": "ada"}).want(201).text("appointment", "id")
	h.do("POST", "/v1/appointments/"+id+"/reschedule", map[string]any{"slotStartDate": h.at(60)}, asAdmin).want(200)
	h.do("POST", "/v1/appointments/"+id+"/cancel", map[string]any{}, asAdmin).want(200)
	seen := make(map[string]bool)
	for end := time.After(10 * time.Minute); len(seen) < 4; {
		var got call
		select {
		case got = <-calls:
		case <-end:
			t.Fatalf("only these events arrived: %v", seen)
		}
		var body map[string]any
		if err := json.Unmarshal(got.body, &body); err != nil {
			t.Fatal(err)
		}
		event, _ := body["type"].(string)
		seen[event] = true
		operation := described[event]
		if operation == nil {
			t.Fatalf("%s is not described: %s", event, got.body)
		}
		if err := operation.RequestBody.Value.Content.Get("application/json").Schema.Value.VisitJSON(body); err != nil {
			t.Errorf("%s differs from its description: %v\n%s", event, err, got.body)
		}
		var named []string
		for _, p := range operation.Parameters {
			named = append(named, http.CanonicalHeaderKey(p.Value.Name))
			if err := p.Value.Schema.Value.VisitJSON(got.header.Get(p.Value.Name)); err != nil ||
				got.header.Get(p.Value.Name) == "" {
				t.Errorf("%s: the header %s is %q: %v", event, p.Value.Name, got.header.Get(p.Value.Name), err)
			}
		}
		for name := range got.header {
			if !slices.Contains(named, name) &&
				!slices.Contains([]string{"Content-Type", "Content-Length", "Accept-Encoding"}, name) {
				t.Errorf("%s: the header %s is not described", event, name)
			}
		}
	}
	for _, event := range []string{"appointment.created", "appointment.rescheduled", "appointment.cancelled",
		"upstream.completed"} {
		if !seen[event] {
			t.Errorf("%s did not arrive; the events were %v", event, seen)
		}
	}
}
