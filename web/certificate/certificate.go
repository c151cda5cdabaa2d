// Package certificate obtains the server's HTTPS certificates from an ACME directory (RFC 8555), such as Let's Encrypt,
// and renews them. Configuring a domain is enough.
//
// # How a domain is validated
//
// The directory connects to the domain. The server responds in the TLS handshake on port 443 (TLS-ALPN-01, RFC 8737),
// or with a file on port 80 (HTTP-01). Attempts alternate between the two, so a machine that is reachable on only one
// of the two ports also gets its certificate.
//
// # Failures
//
// The server serves the stored certificate even if it has expired: a page with a browser warning is better than no
// page. A handshake never calls the directory, because any client can start a handshake. Only Run calls the directory.
// Its pauses respect the limit of Let's Encrypt: five failed validations of a domain per hour. Run renews a certificate
// when a third of its lifetime is left, so that several weeks remain for further attempts. Status reports the state of
// each domain and its last error.
//
// # Files
//
// Options.Dir has a subdirectory for each ACME server, named after its host. A trial with a test server therefore
// leaves no files among those of the production server. The subdirectory contains one file for each domain (its key and
// its certificate chain) and the account key. If files are lost, Run obtains new ones.
package certificate

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/acme"
)

// LetsEncrypt is the default ACME directory.
const LetsEncrypt = acme.LetsEncryptURL

// Options configure a Keeper. Domains and Dir are required.
type Options struct {
	// Domains lists the domains, each of which gets a certificate. A client that names no domain gets the certificate
	// of the first one.
	Domains []string
	// Dir contains the keys and certificates. New creates it (0700) if it is missing.
	Dir string
	// Directory is the ACME directory, an https URL. Empty means LetsEncrypt.
	Directory string
	// Email is the address that the directory sends notices about the certificates to. Empty means none.
	Email string
	// Roots verify the ACME directory itself. Nil means the authorities of the system.
	Roots *x509.CertPool
	// BaseURL is the target of the HTTP redirect if its host is the requested domain. Set it if HTTPS uses a port other
	// than 443. If it is empty, the redirect leads to port 443 of the domain.
	BaseURL string
	// Logger logs obtained certificates and failures. Nil means no logging.
	Logger *slog.Logger
}

// Status is the state of a domain.
type Status struct {
	Domain string
	Until  time.Time // when its certificate expires; zero if there is none
	Failed time.Time // the last attempt, if it failed; zero after a success
	Why    string    // the reason for the failure, for the operator
}

// Keeper manages the certificates. It is safe for concurrent use.
type Keeper struct {
	options  Options
	dir      string
	log      *slog.Logger
	ordering sync.Mutex // one order at a time
	client   *acme.Client
	pause    func(before int, counts bool, err error) time.Duration // the wait after a failure

	mu     sync.RWMutex
	held   map[string]*tls.Certificate // by domain
	failed map[string]Status
	proofs map[string]*tls.Certificate // for TLS-ALPN-01, by domain, during validation
	tokens map[string]string           // pending HTTP-01 tokens, by path
}

// ParseDomain parses a name that a certificate can be issued for: a full DNS name, in ASCII.
func ParseDomain(s string) (string, error) {
	name := strings.TrimSuffix(strings.ToLower(strings.TrimSpace(s)), ".")
	labels := strings.Split(name, ".")
	wrong := func(l string) bool {
		return l == "" || len(l) > 63 || l[0] == '-' || l[len(l)-1] == '-' ||
			strings.Trim(l, "abcdefghijklmnopqrstuvwxyz0123456789-") != ""
	}
	switch {
	case strings.ContainsAny(name, "/:"):
		return "", fmt.Errorf("%q must be a host name only, such as book.example.org", s)
	case strings.HasPrefix(name, "*."):
		return "", fmt.Errorf("%q is a wildcard, which would need DNS validation; list each name instead", s)
	case strings.ContainsFunc(name, func(r rune) bool { return r > '~' }):
		return "", fmt.Errorf("%q must be in ASCII (punycode): write each part with other letters as xn--…", s)
	case net.ParseIP(name) != nil || len(labels) < 2 || len(name) > 253 || slices.ContainsFunc(labels, wrong):
		return "", fmt.Errorf("%q must be a DNS name, such as book.example.org", s)
	}
	return name, nil
}

// New returns a Keeper with the stored certificates. It sends no requests; Run does.
func New(o Options) (*Keeper, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Directory == "" {
		o.Directory = LetsEncrypt
	}
	directory, err := url.Parse(o.Directory)
	if err != nil || directory.Host == "" {
		return nil, fmt.Errorf("the ACME directory %q is not a URL", o.Directory)
	}
	if len(o.Domains) == 0 {
		return nil, errors.New("a certificate needs a domain")
	}
	k := &Keeper{
		options: o, log: o.Logger, dir: filepath.Join(o.Dir, strings.ReplaceAll(directory.Host, ":", "_")),
		pause: pause, held: map[string]*tls.Certificate{}, failed: map[string]Status{},
		proofs: map[string]*tls.Certificate{}, tokens: map[string]string{},
	}
	if err := os.MkdirAll(k.dir, 0o700); err != nil {
		return nil, fmt.Errorf("the certificate directory: %w", err)
	}
	for _, domain := range o.Domains {
		kept, err := k.read(domain)
		switch {
		case err == nil:
			k.held[domain] = kept
		case !errors.Is(err, os.ErrNotExist):
			k.log.Warn("stored certificate unusable; requesting a new certificate", "domain", domain, "error", err)
		}
	}
	return k, nil
}

// Status lists the state of each domain.
func (k *Keeper) Status() []Status {
	k.mu.RLock()
	defer k.mu.RUnlock()
	var all []Status
	for _, domain := range k.options.Domains {
		s := k.failed[domain]
		s.Domain = domain
		if c := k.held[domain]; c != nil {
			s.Until = c.Leaf.NotAfter
		}
		all = append(all, s)
	}
	return all
}

// TLS returns the listener's configuration. In a handshake, the server presents the certificate of the requested
// domain, or the proof for the directory.
func (k *Keeper) TLS() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, GetCertificate: k.certificate,
		NextProtos: []string{"h2", "http/1.1", acme.ALPNProto},
	}
}

// certificate returns the certificate for a handshake, from memory.
func (k *Keeper) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	domain := strings.TrimSuffix(strings.ToLower(hello.ServerName), ".")
	if domain == "" {
		domain = k.options.Domains[0]
	}
	k.mu.RLock()
	defer k.mu.RUnlock()
	from := k.held
	if slices.Equal(hello.SupportedProtos, []string{acme.ALPNProto}) {
		from = k.proofs
	}
	if c := from[domain]; c != nil {
		return c, nil
	}
	return nil, fmt.Errorf("there is no certificate for %q", domain)
}

const challengePath = "/.well-known/acme-challenge/"

// ServeHTTP answers plain HTTP requests. The ACME directory gets the response to its challenge. Every other client gets
// a permanent redirect (308) to HTTPS, so that it repeats its request there with the same method and body.
func (k *Keeper) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, challengePath) {
		k.mu.RLock()
		token, known := k.tokens[r.URL.Path]
		k.mu.RUnlock()
		if !known {
			http.Error(w, "No certificate was requested for this name.", http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = w.Write([]byte(token))
		return
	}
	w.Header().Set("Cache-Control", "no-store") // a cached redirect would still apply after the domain has moved
	http.Redirect(w, r, k.origin(r.Host)+r.URL.RequestURI(), http.StatusPermanentRedirect)
}

// origin returns the redirect target for a visitor to host.
func (k *Keeper) origin(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if !slices.Contains(k.options.Domains, host) {
		host = k.options.Domains[0]
	}
	if base, err := url.Parse(k.options.BaseURL); err == nil && base.Scheme == "https" && base.Hostname() == host {
		return k.options.BaseURL
	}
	return "https://" + host
}

// Limits of a plain HTTP connection, which needs only one short response.
const (
	plainTime   = 5 * time.Second
	plainHeader = 8 << 10
)

// Serve serves plain HTTP on l until ctx ends.
func (k *Keeper) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{
		Handler: k, ReadTimeout: plainTime, WriteTimeout: plainTime, IdleTimeout: plainTime,
		MaxHeaderBytes: plainHeader, ErrorLog: slog.NewLogLogger(k.log.Handler(), slog.LevelDebug),
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
