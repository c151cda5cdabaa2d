package browsertest

import (
	"net/url"
	"testing"

	"github.com/chromedp/cdproto/security"
	"github.com/chromedp/chromedp/kb"

	"holdfast/engine"
	"holdfast/engine/clinic"
	"holdfast/engine/openid"
	"holdfast/engine/openid/openidtest"
	"holdfast/store"
	"holdfast/web"
)

// TestOwnerSignsInWithIdentityProvider: an owner configures an identity provider, sees its errors, and then signs in
// with it, using only the keyboard.
func TestOwnerSignsInWithIdentityProvider(t *testing.T) {
	t.Parallel()
	provider := (&openidtest.Provider{ClientID: "holdfast", Secret: "right"}).Serve(t)
	h := newHouseWith(t, engine.Options{OpenID: openid.NewClient(provider.Roots)}, web.Options{})
	if _, err := h.engine.Clinic.UpdateSettings(t.Context(), "system", func(s *clinic.Settings) {
		s.BaseURL = h.url
	}); err != nil {
		t.Fatal(err)
	}
	p := h.desk(t, store.RoleOwner)
	p.open("/staff?lang=en#settings")
	p.there("#openid-issuer")
	p.click("#openid [type=submit]")
	p.there("#openid .summary:focus")
	p.fill("#openid-name", "Clinic account")
	p.fill("#openid-issuer", provider.Issuer)
	p.fill("#openid-client", "holdfast")
	p.fill("#openid-secret", "wrong")
	p.fill("#openid-domains", "clinic.example, other.example")
	p.click("#openid [type=submit]")
	p.says("The provider does not recognise this client, or the secret is wrong.")
	p.says(h.url + "/v1/auth/openid/callback")
	p.accessible("an identity provider that was refused")
	p.run(`document.querySelector('#openid').scrollIntoView({ block: 'start', behavior: 'instant' })`)
	p.shot("openid-refused")
	p.set("#openid-secret", "right")
	p.click("#openid [type=submit]")
	p.until(`document.querySelector('#openid-secret').value === '' && document.querySelector('#openid-secret-hint').innerText.startsWith('A secret is stored')`)

	// Use another browser that is not signed in with the provider yet.
	p = h.tab(t)
	p.changed = true // it accepts the provider's certificate permanently
	there, err := url.Parse(provider.Issuer)
	if err != nil {
		t.Fatal(err)
	}
	p.also = []string{there.Host}
	p.do(command(security.SetIgnoreCertificateErrors, security.SetIgnoreCertificateErrorsParams{Ignore: true}))
	p.open("/staff?lang=en")
	// with presses the button with the keyboard. A page that is still starting can move the focus away from it.
	with := func() {
		p.there("#sign-with")
		p.run(`sessionStorage.removeItem('pressed'),
			document.querySelector('#sign-with').addEventListener('click', () => sessionStorage.setItem('pressed', 'yes'))`)
		for range 20 {
			p.run(`document.querySelector('#sign-with').focus()`)
			p.key(kb.Enter)
			if ask[bool](p, `sessionStorage.getItem('pressed') === 'yes'`) {
				return
			}
		}
		t.Fatal("the Enter key never pressed the button")
	}
	with()
	p.says("The provider did not sign you in.")
	p.accessible("signing in, without a session at the provider")
	p.shot("openid-denied")
	if at := ask[string](p, `location.pathname + location.search`); at != "/staff" {
		t.Errorf("the address is %q, want it without the error word", at)
	}
	provider.Do(func(x *openidtest.Provider) {
		x.Who = map[string]any{"sub": "1", "email": "owner@clinic.example", "email_verified": true}
	})
	with()
	p.board()

	// The owner removes the link, as the page asks for if the person has a new account at the provider.
	p.open("/staff?lang=en#users")
	p.press("Edit")
	p.until(`(box => box && (box.click(), true))([...document.querySelectorAll('dialog .check')].find(
		x => x.innerText.startsWith('Linked to an account at the identity provider'))?.querySelector('input'))`)
	p.accessible("a user who is linked to the identity provider")
	p.shot("users-linked")
	p.run(`document.querySelector('dialog form').requestSubmit()`)
	p.says("Your session has expired.") // the change signs the user out, and this is the owner's own account
	if u, err := h.engine.Account.UserByEmail(t.Context(), "owner@clinic.example"); err != nil || u.Identity != "" {
		t.Errorf("the link is still %q, %v", u.Identity, err)
	}
}
