// Package upstream calls the clinic's practice-management system: one XML endpoint, eight procedures, no idempotency
// key, and a limit of about five writes a minute.
//
// The package classifies each response by one question: may the write have happened?
//
//	class          the write happened   what a caller does
//	(nil error)    yes                  record it; look it up first if Created.LookUp
//	RateLimited    no                   retry later
//	NotSent        no                   retry later
//	Refused        no                   give up; Reason has the cause
//	Misconfigured  no                   notify staff; a retry changes nothing
//	Unknown        unknown              wait until it can no longer be in flight, then look it up
//
// A response means "no" only if it says so clearly. A timeout, a dropped connection, half a response, an HTML page and
// an unfamiliar error text are all Unknown: repeating a write that did happen would book the patient twice. For the
// same reason, look the appointment up if a Refused with SlotTaken or AlreadyBooked follows an Unknown for the same
// operation. The first attempt itself may have taken the slot.
//
// Errors also arrive as Success with a Result of "Error: …". They are treated in the same way.
//
// Times on the wire are in the clinic's local time, in US format and without a zone. So every call with a time requires
// the zone and never guesses it. GUIDs are compared without regard to case.
//
// Errors contain fixed words from this package, never upstream text, a URL, a credential or personal data. So they can
// be logged and shown.
//
// Pacer spaces the writes. Client does not wait; it only restarts the Pacer's clock when a SetAppointment is sent. The
// package starts no goroutines.
package upstream

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"time"
)

// Namespace is the XML namespace of every request and response.
const Namespace = "http://schemas.practica.ws/cloud9/partners/"

// DefaultTimeout is the time limit per call, from dialling to the last byte.
const DefaultTimeout = 15 * time.Second

// connectTimeout limits dialling, and again the TLS handshake. Together they are shorter than the Pacer's spacing, so
// of two consecutive calls, the first is sent before the second.
const connectTimeout = 4 * time.Second

// Options configure a Client. URL, ClientID, User and Password are required.
type Options struct {
	URL      string // the URL of the endpoint, …/GetData.ashx; http or https
	ClientID string
	User     string
	Password string
	Vendor   string        // VendorUserName of patients and appointments; empty means User
	Timeout  time.Duration // for one call; zero means DefaultTimeout
	// Pacer, if set, has its clock restarted when a SetAppointment is written to the connection, so that the spacing
	// applies to what is sent on the wire.
	Pacer *Pacer
	// HTTP, if set, is the client that makes the connections. It is used unchanged, except that redirects are never
	// followed. The default client dials for each call: a reused connection that the upstream has closed would turn a
	// harmless write into an Unknown.
	HTTP *http.Client
}

// Client calls the upstream. It is safe for concurrent use.
type Client struct {
	url      string
	clientID string
	user     string
	password string
	vendor   string
	timeout  time.Duration
	pacer    *Pacer
	http     *http.Client
}

// New returns a Client, or an error that names the invalid option. It does not connect.
func New(o Options) (*Client, error) {
	u, err := url.Parse(o.URL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New(
			"upstream URL: expected the whole address of the endpoint, like https://pms.example/GetData.ashx",
		)
	case u.User != nil:
		return nil, errors.New("upstream URL: remove user and password from the address; they have their own options")
	}
	for _, required := range []struct{ name, value string }{{"client id", o.ClientID}, {"user", o.User},
		{"password", o.Password}} {
		if required.value == "" {
			return nil, fmt.Errorf("upstream %s: missing; the upstream's vendor issues it with the address",
				required.name)
		}
	}
	if o.Timeout < 0 {
		return nil, errors.New("upstream timeout: must not be negative")
	}
	c := &Client{
		url: o.URL, clientID: o.ClientID, user: o.User, password: o.Password,
		vendor: o.Vendor, timeout: o.Timeout, pacer: o.Pacer,
	}
	if c.vendor == "" {
		c.vendor = o.User
	}
	if c.timeout == 0 {
		c.timeout = DefaultTimeout
	}
	client := http.Client{Transport: transport()}
	if o.HTTP != nil {
		client = *o.HTTP
	}
	// A redirected POST would send the credentials to the target of the redirect.
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.http = &client
	return c, nil
}

func transport() *http.Transport {
	dialer := &net.Dialer{Timeout: connectTimeout}
	t := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         dialer.DialContext,
		TLSHandshakeTimeout: connectTimeout,
		DisableKeepAlives:   true,
		DisableCompression:  true,
		// HTTP/1.1 only: each request has its own connection.
		Protocols: new(http.Protocols),
	}
	t.Protocols.SetHTTP1(true)
	return t
}

// Format keeps the credentials out of all formatted output, including %#v.
func (o Options) Format(f fmt.State, _ rune) { _, _ = fmt.Fprint(f, "upstream options") }

// LogValue keeps the credentials out of logs.
func (o Options) LogValue() slog.Value { return slog.StringValue("upstream options") }

// Format keeps the credentials out of all formatted output, including %#v.
func (c *Client) Format(f fmt.State, _ rune) { _, _ = fmt.Fprint(f, "upstream client") }

// LogValue keeps the credentials out of logs.
func (c *Client) LogValue() slog.Value { return slog.StringValue("upstream client") }
