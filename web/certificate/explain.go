package certificate

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"golang.org/x/crypto/acme"
)

// explain describes an error and what to do. counts reports whether the directory was reached and may count the
// failure.
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
		return "the directory does not believe that the domain leads here", true
	case errors.As(err, &order) && order.Problem != nil:
		return problem(order.Problem, domain), true
	case errors.As(err, &said):
		return problem(said, domain), true
	case errors.Is(err, errNoChallenge):
		return "the directory confirms domains in no way that this server knows: choose another with --acme-directory", true
	}
	var dns *net.DNSError
	var call *url.Error
	var network net.Error
	if errors.As(err, &dns) || errors.As(err, &call) || errors.As(err, &network) {
		return fmt.Sprintf("the directory %s cannot be reached; this machine needs a way out to it: %v", directory, err), false
	}
	return err.Error(), true
}

// problem explains what the directory has said, by its type (RFC 8555, 6.7).
func problem(p *acme.Error, domain string) string {
	kind := p.ProblemType[strings.LastIndexByte(p.ProblemType, ':')+1:]
	does := map[string]string{
		"dns":                     fmt.Sprintf("the name %s has no address that the directory can find: make an A or AAAA record that leads here", domain),
		"connection":              fmt.Sprintf("the directory could not connect to %s: let ports 80 and 443 through to this machine, or mend the address of the name", domain),
		"unauthorized":            fmt.Sprintf("something else answers at %s: let its address lead to this machine, and ports 80 and 443 to this server", domain),
		"tls":                     fmt.Sprintf("something else answers at %s: let its address lead to this machine, and port 443 to this server, with nothing in between that ends TLS", domain),
		"caa":                     fmt.Sprintf("a CAA record of %s lets other directories alone make certificates: add this one to it, or name theirs with --acme-directory", domain),
		"rateLimited":             "the directory takes no more orders for now",
		"rejectedIdentifier":      fmt.Sprintf("the directory makes no certificate for %s", domain),
		"externalAccountRequired": "the directory is for those who have an account there, which this server cannot have: choose another with --acme-directory",
		"invalidContact":          "the directory does not take the address of --acme-email",
		"unsupportedContact":      "the directory does not take the address of --acme-email",
		"userActionRequired":      "the directory has new terms that somebody has to agree to: " + p.Instance,
		"serverInternal":          "the directory has trouble of its own",
	}[kind]
	if does == "" {
		does = "the directory refused"
	}
	return does + ". It said: " + p.Detail
}
