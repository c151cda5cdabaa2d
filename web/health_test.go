package web_test

import (
	"strings"
	"testing"
)

// TestVersionNeedsOperator: any client may check whether the server is ready. Only operators see its version.
func TestVersionNeedsOperator(t *testing.T) {
	h := newHouse(t)
	through := header{"X-Forwarded-For": "198.51.100.7"} // a proxy, not this machine
	for _, x := range []struct {
		name string
		as   header
		sees bool
	}{
		{"anybody", through, false},
		{"an agent", header{"Authorization": h.key("agent")["Authorization"], "X-Forwarded-For": "198.51.100.7"},
			false},
		{"an admin", header{"Authorization": "Bearer " + adminKey, "X-Forwarded-For": "198.51.100.7"}, true},
		{"this machine", header{}, true},
	} {
		got := h.do("GET", "/readyz", nil, x.as).want(200)
		if sees := got.body["version"] == "test"; sees != x.sees || got.text("status") != "ready" {
			t.Errorf("%s gets %s", x.name, got.raw)
		}
	}
	if got := h.do("GET", "/fhir/metadata", nil, through).want(200); strings.Contains(got.raw, `"version":"test"`) {
		t.Errorf("the public answer is %s", got.raw)
	}
}
