package certificate

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/acme"
)

// TestFailuresRespectRateLimits uses the limit of Let's Encrypt, which refuses further attempts after five failed
// validations of a name within an hour.
func TestFailuresRespectRateLimits(t *testing.T) {
	t.Parallel()
	wrong := errors.New("no")
	at, within := time.Duration(0), 0
	for n := range 20 {
		if at < time.Hour {
			within++
		}
		at += pause(n, true, wrong)
	}
	if within > 5 {
		t.Errorf("%d attempts in the first hour, want at most 5", within)
	}
	limited := &acme.Error{ProblemType: "urn:ietf:params:acme:error:rateLimited",
		Header: http.Header{"Retry-After": {"7200"}}}
	if got := pause(0, true, limited); got != 2*time.Hour {
		t.Errorf("after \"Retry-After: 7200\", it waits %v", got)
	}
	limited.Header = nil
	if got := pause(0, true, limited); got < time.Hour {
		t.Errorf("after a limit without a time it waits %v", got)
	}
	if got := backoff(1, nil, &http.Response{StatusCode: http.StatusTooManyRequests}); got > 0 {
		t.Errorf("a call over the rate limit is repeated after %v", got)
	}
	for range 3 {
		if got := pause(0, false, wrong); got != time.Minute {
			t.Errorf("without the directory it waits %v, want 1m", got)
		}
	}
}

// TestFailureIsExplained: an operator can act on the text of most failures.
func TestFailureIsExplained(t *testing.T) {
	t.Parallel()
	said := func(kind string) *acme.Error {
		return &acme.Error{ProblemType: "urn:ietf:params:acme:error:" + kind, Detail: "because"}
	}
	for _, c := range []struct {
		err    error
		why    string
		counts bool
	}{
		{&acme.AuthorizationError{Errors: []error{said("dns")}}, "create an A or AAAA record", true},
		{&acme.AuthorizationError{Errors: []error{said("connection")}}, "open ports 80 and 443", true},
		{&acme.AuthorizationError{Errors: []error{said("unauthorized")}}, "a different server responds at book.clinic.org",
			true},
		{&acme.AuthorizationError{}, "could not validate", true},
		{&acme.OrderError{Problem: said("caa")}, "CAA record", true},
		{said("rateLimited"), "rate limit is reached. The directory responded: because", true},
		{said("somethingNew"), "the directory refused. The directory responded: because", true},
		{errNoChallenge, "--acme-directory", true},
		{&url.Error{Op: "Get", Err: errors.New("refused")}, "cannot be reached", false},
		{&net.DNSError{Name: "acme.example"}, "cannot be reached", false},
	} {
		why, counts := explain(fmt.Errorf("ordering: %w", c.err), "book.clinic.org", "https://acme.example/dir")
		if !strings.Contains(why, c.why) || counts != c.counts {
			t.Errorf("%v: %q, counts %t; want %q in it, %t", c.err, why, counts, c.why, c.counts)
		}
	}
}

// TestDomainIsValidated checks that ParseDomain accepts only the form that the DNS and certificates use.
func TestDomainIsValidated(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ given, want, wrong string }{
		{given: " Book.Clinic.org. ", want: "book.clinic.org"},
		{given: "xn--krnten-bua.example", want: "xn--krnten-bua.example"},
		{given: "kärnten.example", wrong: "ASCII"},
		{given: "https://book.clinic.org/", wrong: "a host name only"},
		{given: "book.clinic.org:443", wrong: "a host name only"},
		{given: "*.clinic.org", wrong: "list each name"},
		{given: "192.0.2.1", wrong: "a DNS name"},
		{given: "localhost", wrong: "a DNS name"},
		{given: "book..org", wrong: "a DNS name"},
		{given: "-book.org", wrong: "a DNS name"},
		{given: "bo ok.org", wrong: "a DNS name"},
		{given: "", wrong: "a DNS name"},
	} {
		got, err := ParseDomain(c.given)
		if c.wrong == "" && (err != nil || got != c.want) {
			t.Errorf("%q: %q, %v; want %q", c.given, got, err, c.want)
		}
		if c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)) {
			t.Errorf("%q: %q, %v; want an error with %q", c.given, got, err, c.wrong)
		}
	}
}

// TestOrdersAreSerialUnderClockSkew: with a skewed clock, a new certificate is due for renewal immediately, so Run
// waits for a minimum time before it orders another.
func TestOrdersAreSerialUnderClockSkew(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		name     string
		validity time.Duration
		want     time.Duration
	}{
		{"of 90 days", 90 * 24 * time.Hour, time.Hour},
		{"of an hour", time.Hour, 30 * time.Minute},
	} {
		k := &Keeper{held: map[string]*tls.Certificate{domain: {Leaf: &x509.Certificate{NotBefore: now.Add(-c.validity - time.Hour), NotAfter: now.Add(-time.Hour)}}}}
		if due, rest := k.due(domain), k.rest(domain); due > 0 || rest != c.want {
			t.Errorf("%s: due in %s and valid for %s; want it due and still valid for %s", c.name, due, rest, c.want)
		}
	}
}
