package notice

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// secretPrefix is the prefix of a webhook's secret, as Standard Webhooks defines it.
const secretPrefix = "whsec_"

// NewWebhookSecret creates a secret of 256 bits.
func NewWebhookSecret() string {
	raw := make([]byte, 32)
	rand.Read(raw)
	return secretPrefix + base64.StdEncoding.EncodeToString(raw)
}

// ValidWebhookSecret reports whether a secret is valid: the prefix and at least 24 bytes in base64.
func ValidWebhookSecret(secret string) bool {
	_, ok := secretKey(secret)
	return ok
}

func secretKey(secret string) ([]byte, bool) {
	text, found := strings.CutPrefix(secret, secretPrefix)
	key, err := base64.StdEncoding.DecodeString(text)
	return key, found && err == nil && len(key) >= 24
}

// Sign returns the value of the webhook-signature header: HMAC-SHA256 over the id, the timestamp in Unix seconds and
// the body, joined by dots.
func Sign(secret, id string, at time.Time, body []byte) (string, error) {
	key, ok := secretKey(secret)
	if !ok {
		return "", errors.New("the webhook's secret cannot be read")
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%d.", id, at.Unix())
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)), nil
}

// Hooks posts webhooks. It is safe for concurrent use.
type Hooks struct{ client *http.Client }

// ErrGone is wrapped by the error for a webhook whose receiver responded with 410. According to Standard Webhooks, the
// sender must stop calling it.
var ErrGone = errors.New("the webhook's server responded with 410 (Gone)")

// HookOptions configure Hooks.
type HookOptions struct {
	// AllowPrivate allows webhooks to loopback, private and link-local addresses. By default, they are refused when the
	// connection is made, so that names that resolve to such addresses are refused as well.
	AllowPrivate bool
	// Timeout is the time limit for a delivery. Default: 15 s.
	Timeout time.Duration
	// Dial connects. Default: TCP, with AllowPrivate as above. A function given here is not restricted by
	// AllowPrivate.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// NewHooks returns Hooks that post with these options.
func NewHooks(o HookOptions) *Hooks {
	if o.Timeout == 0 {
		o.Timeout = 15 * time.Second
	}
	dialer := &net.Dialer{Timeout: 5 * time.Second}
	if !o.AllowPrivate {
		dialer.Control = func(_, address string, _ syscall.RawConn) error { return refusePrivate(address) }
	}
	if o.Dial == nil {
		o.Dial = dialer.DialContext
	}
	return &Hooks{&http.Client{
		Timeout: o.Timeout,
		// The booking rule makes concurrent calls to one address, so their connections must outlive a call.
		Transport: &http.Transport{
			DialContext: o.Dial, MaxIdleConnsPerHost: 32, IdleConnTimeout: time.Minute,
			ResponseHeaderTimeout: o.Timeout,
		},
		// A redirect could lead to any address, and most redirects turn a POST into a GET.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Answer is the response from a webhook's receiver. The zero value means that there was no response.
type Answer struct {
	Status int
	Body   []byte // at most its first 64 KiB, and less if the connection broke
	// RetryAfter is how long the receiver asks to wait, at most maxRetryAfter, or 0 if it does not ask.
	RetryAfter time.Duration
}

// maxRetryAfter limits the effect of a Retry-After header. A webhook is attempted at most ten times within a day.
const maxRetryAfter = time.Hour

// retryAfter reads the header Retry-After (RFC 9110, 10.2.3): a number of seconds, or a date.
func retryAfter(header string, now time.Time) time.Duration {
	var wait time.Duration
	if n, err := strconv.ParseUint(header, 10, 31); err == nil {
		wait = time.Duration(n) * time.Second
	} else if at, err := http.ParseTime(header); err == nil {
		wait = at.Sub(now)
	}
	return min(max(wait, 0), maxRetryAfter)
}

// Post delivers one webhook, signed with each of the secrets. The receiver recognizes repeats by the id. The Answer is
// valid even if there is an error. *Permanent: a retry is useless; it wraps ErrGone if the receiver responded with 410.
// *Unreachable: nothing was sent. After any other error, the webhook can also be retried.
func (h *Hooks) Post(ctx context.Context, url string, secrets []string, id string, at time.Time,
	body []byte) (a Answer, err error) {
	signatures := make([]string, len(secrets))
	for i, secret := range secrets {
		if signatures[i], err = Sign(secret, id, at, body); err != nil {
			return a, &Permanent{err}
		}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return a, permanent("the webhook's address cannot be used")
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "Holdfast-Webhook/1")
	r.Header.Set("webhook-id", id)
	r.Header.Set("webhook-timestamp", strconv.FormatInt(at.Unix(), 10))
	r.Header.Set("webhook-signature", strings.Join(signatures, " ")) // a receiver accepts any valid signature
	// atomic: the transport may still call GotConn after Do has returned
	var connected atomic.Bool
	r = r.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	}))
	answer, err := h.client.Do(r)
	switch {
	case errors.Is(err, errPrivate):
		return a, permanent(
			"the webhook points to a private address, which is not allowed; start with --webhook-allow-private to " +
				"allow it",
		)
	case isTLS(err):
		return a, errors.New("the certificate of the webhook's server is not valid, or the server does not encrypt")
	case err != nil && !connected.Load():
		return a, &Unreachable{errors.New("the webhook's server could not be reached")}
	case err != nil:
		return a, errors.New("the webhook's server did not respond in time, or closed the connection")
	}
	defer answer.Body.Close()
	a.Status = answer.StatusCode
	a.Body, _ = io.ReadAll(io.LimitReader(answer.Body, 64<<10)) // read to its end, so that the connection can be reused
	switch {
	case a.Status == http.StatusGone:
		return a, &Permanent{ErrGone}
	case a.Status >= 200 && a.Status < 300:
		return a, nil
	}
	a.RetryAfter = retryAfter(answer.Header.Get("Retry-After"), time.Now())
	return a, fmt.Errorf("the webhook's server responded with status %d", a.Status)
}
