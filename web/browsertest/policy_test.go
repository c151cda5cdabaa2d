package browsertest

import (
	"strings"
	"testing"
)

// Every tab of every test watches for what no page may do: throw, break the content security policy, speak to anybody
// but the server. This is the proof that the watch sees it.
func TestAPageThatMisbehavesIsSeen(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.tab(t)
	p.open("/?lang=en")
	p.there(".card")
	for _, c := range []struct{ name, script, seen string }{
		{"an inline style", `document.body.insertAdjacentHTML('beforeend', '<p style="color: red">x</p>')`, "Content Security Policy"},
		{"an inline script", `document.body.append(Object.assign(document.createElement('script'), { textContent: '1' }))`, "Content Security Policy"},
		{"a request to another server", `new Image().src = 'http://127.0.0.1:9/pixel'`, "127.0.0.1:9"},
		{"an exception", `setTimeout(() => { throw new Error('planted') })`, "planted"},
		{"an error on the console", `console.error('planted words')`, "planted words"},
	} {
		p.run(c.script)
		p.until(`new Promise(done => setTimeout(() => done(true), 50))`)
		if got := strings.Join(p.forgive(), "\n"); !strings.Contains(got, c.seen) {
			t.Errorf("%s was not seen, only %q", c.name, got)
		}
	}
}
