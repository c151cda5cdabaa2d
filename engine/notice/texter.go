package notice

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
	"unicode"
)

// Texter sends text messages through an SMS gateway. It is safe for concurrent use.
type Texter struct {
	client       *http.Client
	allowPrivate bool
	given        *gatewayRoute
	chosen       atomic.Pointer[gatewayRoute]
}

// TexterOptions configure a Texter.
type TexterOptions struct {
	// Given is the gateway set at startup, or nil if there is none. It takes precedence over Use.
	Given  *Gateway
	Secret string
	// AllowPrivate allows a gateway on loopback, private and link-local addresses, and without encryption. By default,
	// such a gateway is refused when the connection is made, so that names that resolve to such addresses are refused
	// as well.
	AllowPrivate bool
	Timeout      time.Duration // for one message; default 15 s
	// Dial connects. Default: TCP, with AllowPrivate as above. A function given here is not restricted by
	// AllowPrivate.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// gatewayRoute is a gateway that is ready for requests.
type gatewayRoute struct {
	gateway Gateway
	secret  string
	broken  error // why it cannot be used; nil if it is usable
}

// Lost is the error for a message that was sent to the gateway without a usable response. The gateway may have accepted
// the message, so sending it again could deliver it twice.
type Lost struct{ Err error }

func (l *Lost) Error() string { return l.Err.Error() }
func (l *Lost) Unwrap() error { return l.Err }

// IsLost reports whether it is unknown if the gateway accepted the message.
func IsLost(err error) bool {
	var l *Lost
	return errors.As(err, &l)
}

var errNoGateway = errors.New("no SMS gateway is set")

// NewTexter returns a Texter.
func NewTexter(o TexterOptions) (*Texter, error) {
	if o.Timeout == 0 {
		o.Timeout = 15 * time.Second
	}
	x := &Texter{allowPrivate: o.AllowPrivate}
	if o.Given != nil {
		if wrong := o.Given.Mistakes(o.AllowPrivate); len(wrong) > 0 {
			return nil, fmt.Errorf("%s %s", wrong[0].Field, wrong[0].Text)
		}
		x.given = &gatewayRoute{gateway: *o.Given, secret: o.Secret}
	}
	dialer := &net.Dialer{Timeout: 5 * time.Second}
	if !o.AllowPrivate {
		dialer.Control = func(_, address string, _ syscall.RawConn) error { return refusePrivate(address) }
	}
	if o.Dial == nil {
		o.Dial = dialer.DialContext
	}
	x.client = &http.Client{
		Timeout: o.Timeout,
		// Without keep-alive connections, net/http never retries a request on its own.
		Transport: &http.Transport{
			DialContext: o.Dial, DisableKeepAlives: true, TLSHandshakeTimeout: 5 * time.Second,
			MaxResponseHeaderBytes: 64 << 10,
		},
		// A redirect could lead to any address.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return x, nil
}

// AllowsHTTP reports whether unencrypted gateways are allowed.
func (x *Texter) AllowsHTTP() bool { return x.allowPrivate }

// Given returns the gateway set at startup, without its secret, or nil if there is none.
func (x *Texter) Given() *Gateway {
	if x.given == nil {
		return nil
	}
	g := x.given.gateway
	return &g
}

// Use sets the gateway that the clinic has chosen, starting with the next message. Nil means no gateway. If isReadable
// is false, the secret could not be read, and messages wait.
func (x *Texter) Use(g *Gateway, secret string, isReadable bool) {
	if g == nil {
		x.chosen.Store(nil)
		return
	}
	r := &gatewayRoute{gateway: *g, secret: secret}
	if !isReadable {
		r.broken = errors.New(
			"the secret of the SMS gateway cannot be read with the keys of this server: an owner must enter the " +
				"secret again in the settings",
		)
	}
	x.chosen.Store(r)
}

func (x *Texter) route() *gatewayRoute {
	if x.given != nil {
		return x.given
	}
	return x.chosen.Load()
}

// IsSet reports whether a gateway is set.
func (x *Texter) IsSet() bool { return x.route() != nil }

// Send sends one text message to a number in E.164 format. *Permanent: a retry is useless. *Unreachable: nothing was
// sent. *Lost: it is unknown whether the gateway accepted the message. After any other error, the gateway certainly did
// not accept it.
func (x *Texter) Send(ctx context.Context, to, text string) error {
	r := x.route()
	switch {
	case r == nil:
		return &Unreachable{errNoGateway}
	case r.broken != nil:
		return &Unreachable{r.broken}
	}
	_, err := x.send(ctx, r, gatewayText{to, text})
	return err
}

// Try sends one message through a gateway that is not in use, and returns the gateway's response, truncated to 300
// characters. Errors: those of Send.
func (x *Texter) Try(ctx context.Context, g Gateway, secret, to, text string) (said string, err error) {
	return x.send(ctx, &gatewayRoute{gateway: g, secret: secret}, gatewayText{to, text})
}

func (x *Texter) send(ctx context.Context, r *gatewayRoute, m gatewayText) (said string, err error) {
	g := &r.gateway
	header, err := g.header(m, r.secret)
	if err != nil {
		return "", permanent("the headers of the SMS gateway cannot be used")
	}
	body := fillGateway(g.Body, m, g, r.secret, escapeFor(header.Get("Content-Type")))
	request, err := http.NewRequestWithContext(ctx, g.Method, fillGateway(g.URL, m, g, r.secret, url.QueryEscape),
		strings.NewReader(body))
	if err != nil {
		return "", permanent("the address of the SMS gateway cannot be used")
	}
	request.Header = header
	var connected atomic.Bool // atomic: the transport may still call GotConn after Do has returned
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }}
	answer, err := x.client.Do(request.WithContext(httptrace.WithClientTrace(ctx, trace)))
	switch {
	case errors.Is(err, errPrivate):
		return "", permanent(
			"the SMS gateway is at a private address, which is not allowed; start with --webhook-allow-private to " +
				"allow it",
		)
	case isTLS(err):
		return "", errors.New("the SMS gateway's certificate is not valid, or the gateway does not encrypt")
	case err != nil && !connected.Load():
		return "", &Unreachable{errors.New("the SMS gateway could not be reached")}
	case err != nil:
		return "", &Lost{
			errors.New(
				"the SMS gateway did not respond in time, or closed the connection: it may have sent the message",
			),
		}
	}
	defer answer.Body.Close()
	raw, readErr := io.ReadAll(io.LimitReader(answer.Body, 64<<10))
	said = inWords(fmt.Sprintf("%d %s", answer.StatusCode, raw))
	switch code := answer.StatusCode; {
	case code >= 200 && code < 300 && squeezed(g.Success) == "":
		return said, nil
	case code >= 200 && code < 300 && strings.Contains(squeezed(string(raw)), squeezed(g.Success)):
		return said, nil
	case code >= 200 && code < 300 && readErr != nil, code >= 500 && code != http.StatusServiceUnavailable:
		return said, &Lost{fmt.Errorf("the SMS gateway responded with status %d but without a result: it may have "+
			"sent the message",
			code)}
	case code >= 200 && code < 300:
		return said, permanent("the SMS gateway refused the message: its response does not contain the expected text")
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return said, fmt.Errorf("the SMS gateway responded with status %d: check the account and the secret", code)
	case code == http.StatusTooManyRequests, code == http.StatusServiceUnavailable:
		return said, fmt.Errorf("the SMS gateway responded with status %d", code)
	}
	return said, permanent(fmt.Sprintf("the SMS gateway responded with status %d", answer.StatusCode))
}

// squeezed returns s without white space.
func squeezed(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}
