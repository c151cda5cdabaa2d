// Package openidtest is an identity provider for tests. It implements OpenID Connect over TLS and signs with real keys.
// The test chooses which user is signed in, and can make the provider return false data.
package openidtest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"
)

// Provider is an identity provider. While it is serving, change its fields only with Do.
type Provider struct {
	Issuer           string
	Roots            *x509.CertPool
	ClientID, Secret string
	Redirect         string // the registered address; empty allows any
	// the claims of the next sign-in; nil means none, and the browser returns with access_denied
	Who      map[string]any
	Down     bool           // it responds with 503
	Metadata map[string]any // replaces fields of its metadata
	Lie      func(header, claims map[string]any)
	Forge    func(signed string) string // changes a token after it has been signed
	SignWith *Key                       // a key that is not one of its own
	Extra    url.Values                 // added to the parameters of its redirects

	mu    sync.Mutex
	keys  []*Key
	codes map[string]code
}

type code struct{ nonce, challenge, redirect string }

// Key signs tokens.
type Key struct {
	ID     string
	Signer crypto.Signer // *rsa.PrivateKey or *ecdsa.PrivateKey of P-256
}

// NewKey creates an ECDSA key.
func NewKey(t testing.TB, id string) *Key {
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return &Key{id, k}
}

// NewRSAKey creates an RSA key.
func NewRSAKey(t testing.TB, id string) *Key {
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return &Key{id, k}
}

// Serve runs the provider until the test ends.
func (p *Provider) Serve(t testing.TB) *Provider {
	t.Helper()
	p.codes, p.keys = make(map[string]code), []*Key{NewKey(t, "first")}
	routes := http.NewServeMux()
	routes.HandleFunc("/.well-known/openid-configuration", p.describe)
	routes.HandleFunc("/keys", p.listKeys)
	routes.HandleFunc("/authorize", p.authorize)
	routes.HandleFunc("/token", p.token)
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.Down {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		routes.ServeHTTP(w, r)
	}))
	s.Config.ErrorLog = nil
	t.Cleanup(s.Close)
	p.Issuer, p.Roots = s.URL, x509.NewCertPool()
	p.Roots.AddCert(s.Certificate())
	return p
}

// Do changes the provider.
func (p *Provider) Do(change func(*Provider)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(p)
}

// Rotate makes the provider sign with a new key from now on, and withdraws the previous keys.
func (p *Provider) Rotate(k *Key) { p.Do(func(p *Provider) { p.keys = []*Key{k} }) }

// Follow opens a sign-in address the way a browser does, and returns the address to which it is redirected.
func (p *Provider) Follow(t testing.TB, address string) *url.URL {
	t.Helper()
	calls := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: p.Roots}}
	defer calls.CloseIdleConnections()
	answer, err := (&http.Client{Transport: calls, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}).Get(address)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	back, err := answer.Location()
	if err != nil {
		t.Fatalf("the provider answered %s: %v", answer.Status, err)
	}
	return back
}

func (p *Provider) describe(w http.ResponseWriter, _ *http.Request) {
	about := map[string]any{
		"issuer": p.Issuer, "authorization_endpoint": p.Issuer + "/authorize", "token_endpoint": p.Issuer + "/token",
		"jwks_uri": p.Issuer + "/keys", "response_types_supported": []string{"code"},
		"subject_types_supported": []string{"public"}, "id_token_signing_alg_values_supported": []string{"ES256",
			"RS256"},
	}
	for k, v := range p.Metadata {
		about[k] = v
	}
	send(w, http.StatusOK, about)
}

func (p *Provider) listKeys(w http.ResponseWriter, _ *http.Request) {
	list := []map[string]any{}
	for _, k := range p.keys {
		list = append(list, k.public())
	}
	send(w, http.StatusOK, map[string]any{"keys": list})
}

func (k *Key) public() map[string]any {
	switch pub := k.Signer.Public().(type) {
	case *rsa.PublicKey:
		return map[string]any{"kid": k.ID, "kty": "RSA", "alg": "RS256", "use": "sig", "n": encode(pub.N.Bytes()),
			"e": encode(big.NewInt(int64(pub.E)).Bytes())}
	case *ecdsa.PublicKey:
		b, _ := pub.Bytes() // never fails for P-256
		return map[string]any{"kid": k.ID, "kty": "EC", "alg": "ES256", "use": "sig", "crv": "P-256",
			"x": encode(b[1:33]), "y": encode(b[33:])}
	}
	return nil
}

func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	redirect := q.Get("redirect_uri")
	if q.Get("client_id") != p.ClientID || q.Get("response_type") != "code" ||
		q.Get("code_challenge_method") != "S256" || p.Redirect != "" && redirect != p.Redirect {
		http.Error(w, "client or its redirect_uri not registered", http.StatusBadRequest)
		return
	}
	back := url.Values{"state": {q.Get("state")}}
	if p.Who == nil {
		back.Set("error", "access_denied")
	} else {
		c := rand.Text()
		p.codes[c] = code{q.Get("nonce"), q.Get("code_challenge"), redirect}
		back.Set("code", c)
	}
	for k, v := range p.Extra {
		back[k] = v
	}
	http.Redirect(w, r, redirect+"?"+back.Encode(), http.StatusFound)
}

func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	id, secret, basic := r.BasicAuth()
	if basic { // both parts are encoded before they go into the header (RFC 6749 section 2.3.1)
		id, _ = url.QueryUnescape(id)
		secret, _ = url.QueryUnescape(secret)
	} else {
		id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	if id != p.ClientID || subtle.ConstantTimeCompare([]byte(secret), []byte(p.Secret)) != 1 {
		send(w, http.StatusUnauthorized, map[string]string{"error": "invalid_client"})
		return
	}
	c, known := p.codes[r.PostFormValue("code")]
	delete(p.codes, r.PostFormValue("code")) // a code works once
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if !known || encode(sum[:]) != c.challenge || r.PostFormValue("redirect_uri") != c.redirect {
		send(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant"})
		return
	}
	now := time.Now()
	claims := map[string]any{"iss": p.Issuer, "aud": p.ClientID, "iat": now.Unix(),
		"exp": now.Add(5 * time.Minute).Unix(), "nonce": c.nonce}
	for k, v := range p.Who {
		claims[k] = v
	}
	key := p.keys[0]
	if p.SignWith != nil {
		key = p.SignWith
	}
	send(w, http.StatusOK, map[string]any{"access_token": rand.Text(), "token_type": "Bearer",
		"id_token": p.sign(key, claims)})
}

// sign returns a signed token in the compact form of RFC 7515.
func (p *Provider) sign(k *Key, claims map[string]any) string {
	header := map[string]any{"kid": k.ID, "typ": "JWT", "alg": "ES256"}
	if _, is := k.Signer.(*rsa.PrivateKey); is {
		header["alg"] = "RS256"
	}
	if p.Lie != nil {
		p.Lie(header, claims)
	}
	h, _ := json.Marshal(header)
	c, _ := json.Marshal(claims)
	text := encode(h) + "." + encode(c)
	sum := sha256.Sum256([]byte(text))
	var signature []byte
	switch key := k.Signer.(type) {
	case *rsa.PrivateKey:
		signature, _ = rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	case *ecdsa.PrivateKey:
		r, s, _ := ecdsa.Sign(rand.Reader, key, sum[:])
		signature = make([]byte, 64)
		r.FillBytes(signature[:32])
		s.FillBytes(signature[32:])
	}
	text += "." + encode(signature)
	if p.Forge != nil {
		text = p.Forge(text)
	}
	return text
}

func send(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
