package certificate

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"golang.org/x/crypto/acme"
)

// explain describes an error and what the operator can do. counts reports whether the directory was reached and may
// count the failure.
func explain(err error, domain, directory string) (why string, counts bool) {
	var refused *acme.AuthorizationError
	var order *acme.OrderError
	var said *acme.Error
	switch {
	case errors.As(err, &refused):
		for _, e := range refused.Errors {
			if errors.As(e, &said) {
				return problem(said, domain), true
			}
		}
		return "the directory could not validate the domain", true
	case errors.As(err, &order) && order.Problem != nil:
		return problem(order.Problem, domain), true
	case errors.As(err, &said):
		return problem(said, domain), true
	case errors.Is(err, errNoChallenge):
		return "the directory offers no challenge type that this server supports; choose another directory with " +
			"--acme-directory", true
	}
	var dns *net.DNSError
	var call *url.Error
	var network net.Error
	if errors.As(err, &dns) || errors.As(err, &call) || errors.As(err, &network) {
		return fmt.Sprintf("the directory %s cannot be reached; this machine needs outbound access to it: %v",
			directory, err), false
	}
	return err.Error(), true
}

// problem explains the directory's error by its type (RFC 8555, 6.7).
func problem(p *acme.Error, domain string) string {
	kind := p.ProblemType[strings.LastIndexByte(p.ProblemType, ':')+1:]
	does := map[string]string{
		"dns": fmt.Sprintf(
			"the name %s has no address that the directory can find: create an A or AAAA record for this machine",
			domain,
		),
		"connection": fmt.Sprintf(
			"the directory could not connect to %s: open ports 80 and 443 to this machine, or correct the address "+
				"of the name",
			domain,
		),
		"unauthorized": fmt.Sprintf(
			"a different server responds at %s: point this name to this machine, and ports 80 and 443 to this server",
			domain,
		),
		"tls": fmt.Sprintf(
			"a different server responds at %s: point this name to this machine, and port 443 to this server without "+
				"a TLS proxy in between",
			domain,
		),
		"caa": fmt.Sprintf(
			"the CAA record of %s allows only other directories: add this directory to the record, or choose an "+
				"allowed directory with --acme-directory",
			domain,
		),
		"rateLimited":        "the directory's rate limit is reached",
		"rejectedIdentifier": fmt.Sprintf("the directory issues no certificate for %s", domain),
		"externalAccountRequired": "the directory requires an external account, which this server does not support: " +
			"choose another directory with --acme-directory",
		"invalidContact":     "the directory rejects the address of --acme-email",
		"unsupportedContact": "the directory rejects the address of --acme-email",
		"userActionRequired": "the directory has new terms that you have to accept: " + p.Instance,
		"serverInternal":     "the directory has an internal error",
	}[kind]
	if does == "" {
		does = "the directory refused"
	}
	return does + ". The directory responded: " + p.Detail
}
