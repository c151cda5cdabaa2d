package browsertest

import (
	"strings"
	"testing"
)

// TestPolicyViolationFailsTest: every tab of every test watches for forbidden behaviour: exceptions, violations of
// the content security policy, and requests to other servers. This test checks that the tab detects them.
func TestPolicyViolationFailsTest(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.tab(t)
	p.open("/?lang=en")
	p.there(".card")
	for _, c := range []struct{ script, seen string }{
		{`document.body.insertAdjacentHTML('beforeend', '<p style="color: red">x</p>')`, "Content Security Policy"},
		{`document.body.append(Object.assign(document.createElement('script'), { textContent: '1' }))`,
			"Content Security Policy"},
		{`setTimeout(() => { throw new Error('planted') })`, "planted"},
		{`console.error('planted words')`, "planted words"},
	} {
		p.run(c.script)
		p.misbehaves(c.seen)
	}
	_, port, _ := strings.Cut(p.host, ":")
	p.open("http://localhost:" + port + "/livez")
	p.misbehaves("speak to http://localhost")
	p.forgive()
}
