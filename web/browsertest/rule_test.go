package browsertest

import (
	"strings"
	"testing"

	"holdfast/store"
)

// TestOwnerSetsBookingRule: the owner enters an address, chooses the outcome if no response arrives, and tests the
// rule.
func TestOwnerSetsBookingRule(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleOwner)
	p.open("/staff?lang=en#settings")
	p.fill("#rule-url", "https://rules.example.org/booking")
	p.there("#rule-failure")
	p.run(`(s => { s.value = 'refuse'; s.dispatchEvent(new Event('change', { bubbles: true })) })(document.querySelector('#rule-failure'))`)
	p.press("Test")
	p.says("The program did not respond correctly. Reason: this server makes no outbound calls.")
	p.run(`document.querySelector('#rule-url').form.requestSubmit()`)
	p.until(`document.querySelector('#rule-url').form.querySelector('button.textlink')`) // of the saved secret
	saved := h.must(200, "GET", "/v1/settings", nil, asAdmin).raw
	if !strings.Contains(saved, `"url":"https://rules.example.org/booking"`) || !strings.Contains(saved, `"onFailure":"refuse"`) {
		t.Errorf("saved is %s", saved)
	}
}
