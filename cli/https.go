package cli

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/mail"
	"net/url"
	"os"
	"slices"
	"strings"

	"holdfast/web"
	"holdfast/web/certificate"
)

// certificatesDir is the directory of the certificates in the data directory. Backups do not include it, because the
// certificates can be obtained again.
const certificatesDir = "certificates"

// httpsConfig holds the domains that the server itself serves over HTTPS, and the ACME directory that certifies them.
// Without a domain, the server does not serve HTTPS.
type httpsConfig struct {
	domains   []string
	listen    string // address for HTTPS
	plain     string // address for HTTP, which redirects to HTTPS
	directory string // URL of the ACME directory; empty means Let's Encrypt
	email     string
	ca        *x509.CertPool // verifies the ACME directory; nil means the system's roots
}

// httpsSettings returns the rows of the settings table about HTTPS.
func httpsSettings() []setting {
	return []setting{
		{
			name: "domain", audience: forServing,
			common: true, group: "HTTPS", value: "NAMES",
			help: "serve HTTPS for these DNS names, comma-separated, with automatic certificates",
			more: "The names must resolve to this machine. By using this setting, you agree to the terms of Let's " +
				"Encrypt, or of the CA in `--acme-directory`. See [HTTPS](https.md).",
			set: func(c *config, v string) (err error) { c.https.domains, err = parseDomains(v); return err },
		}, {
			name: "https-listen", fallback: ":443", audience: forServing,
			group: "HTTPS", value: "HOST:PORT", help: "with --domain: address to serve HTTPS on",
			more: "If you use another port, a router or proxy must forward port 443 to it.",
			set:  func(c *config, v string) (err error) { c.https.listen, err = parseListen(v); return err },
		}, {
			name: "http-listen", fallback: ":80", audience: forServing,
			group: "HTTPS", value: "HOST:PORT", help: "with --domain: address to listen on for HTTP requests to redirect to HTTPS",
			more: "If you use another port, a router or proxy must forward port 80 to it.",
			set:  func(c *config, v string) (err error) { c.https.plain, err = parseListen(v); return err },
		}, {
			name: "acme-directory", with: []string{"domain"}, audience: forServing,
			group: "HTTPS", value: "URL", help: "ACME directory that issues the certificates; default: Let's Encrypt",
			set: func(c *config, v string) (err error) { c.https.directory, err = parseDirectory(v); return err },
		}, {
			name: "acme-email", with: []string{"domain"}, audience: forServing,
			group: "HTTPS", value: "EMAIL", help: "contact email address for the ACME account",
			set: func(c *config, v string) (err error) { c.https.email, err = parseEmail(v); return err },
		}, {
			name: "acme-ca", with: []string{"domain"}, audience: forServing,
			group: "HTTPS", value: "FILE", help: "PEM file with the root certificates to trust for a private ACME " +
				"directory",
			set: func(c *config, v string) (err error) { c.https.ca, err = readRoots(v); return err },
		},
	}
}

func parseDomains(v string) ([]string, error) {
	var all []string
	for item := range strings.SplitSeq(v, ",") {
		if strings.TrimSpace(item) == "" {
			continue
		}
		name, err := certificate.ParseDomain(item)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all, nil
}

func parseDirectory(v string) (string, error) {
	if u, err := url.Parse(v); v != "" && (err != nil || u.Scheme != "https" || u.Host == "") {
		return "", fmt.Errorf("%q must be an address such as %s", v, certificate.LetsEncrypt)
	}
	return v, nil
}

func parseEmail(v string) (string, error) {
	if v == "" {
		return "", nil
	}
	address, err := mail.ParseAddress(v)
	if err != nil || address.Address != v {
		return "", fmt.Errorf("%q must be an email address, such as it@example.org", v)
	}
	return v, nil
}

func readRoots(path string) (*x509.CertPool, error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s contains no PEM certificate", path)
	}
	return pool, nil
}

// base returns the public address to use if no other one is set. It is empty if no domain is set.
func (c *httpsConfig) base() string {
	if len(c.domains) == 0 {
		return ""
	}
	return "https://" + c.domains[0]
}

// entrance holds the listeners for HTTPS and for plain HTTP, which redirects to HTTPS. A nil entrance has none.
type entrance struct {
	keeper *certificate.Keeper
	secure net.Listener
	plain  net.Listener
	log    *slog.Logger
}

// openEntrance opens the listeners. It returns nil if no domain is set.
func (h *house) openEntrance(cfg config) (*entrance, error) {
	c := &cfg.https
	if len(c.domains) == 0 {
		return nil, nil
	}
	if cfg.database != "" || cfg.redis != "" {
		h.log.Warn("--domain is set on a cluster; each node requests its own certificate. " +
			"If several nodes serve one domain, remove --domain and let the load balancer terminate TLS")
	}
	keeper, err := certificate.New(certificate.Options{
		Domains: c.domains, Dir: h.dir.file(certificatesDir), Directory: c.directory, Email: c.email, Roots: c.ca,
		BaseURL: cfg.baseURL, Logger: h.log,
	})
	if err != nil {
		return nil, err
	}
	e := &entrance{keeper: keeper, log: h.log}
	if e.secure, err = listen(c.listen, "https-listen"); err != nil {
		return nil, err
	}
	if e.plain, err = listen(c.plain, "http-listen"); err != nil {
		return nil, errors.Join(err, e.close())
	}
	h.log.Info("serving HTTPS; redirecting HTTP", "domains", strings.Join(c.domains, ", "), "https",
		e.secure.Addr().String(),
		"http", e.plain.Addr().String())
	return e, nil
}

// doors returns the listeners that the web server serves in addition to its own.
func (e *entrance) doors() []web.Door {
	if e == nil {
		return nil
	}
	return []web.Door{{Listener: e.secure, TLS: e.keeper.TLS()}}
}

// keep redirects HTTP requests to HTTPS, and obtains and renews the certificates, until ctx ends.
func (e *entrance) keep(ctx context.Context) {
	if e == nil {
		return
	}
	answering := make(chan struct{})
	go func() {
		defer close(answering)
		if err := e.keeper.Serve(ctx, e.plain); err != nil {
			e.log.Error("redirect from HTTP to HTTPS stopped", "error", err)
		}
	}()
	e.keeper.Run(ctx)
	<-answering
}

// status returns the state of each domain.
func (e *entrance) status() []certificate.Status {
	if e == nil {
		return nil
	}
	return e.keeper.Status()
}

func (e *entrance) close() error {
	if e == nil {
		return nil
	}
	var err error
	for _, l := range []net.Listener{e.secure, e.plain} {
		if l != nil {
			if closing := l.Close(); !errors.Is(closing, net.ErrClosed) {
				err = errors.Join(err, closing)
			}
		}
	}
	return err
}
