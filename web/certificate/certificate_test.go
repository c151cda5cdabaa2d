package certificate

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/cli/clitest"
	"holdfast/web/certificate/acmetest"
)

const domain = "book.clinic.test"

// serving is a Keeper with its two listeners, and an ACME directory that validates domains on the listeners' ports.
type serving struct {
	*Keeper
	directory *acmetest.Directory
	plain     net.Listener
	secure    net.Listener
	stop      func()
}

// open starts a Keeper that serves until the test ends. withoutPort is the port that stays closed: "plain", "secure",
// or empty for none.
func open(t *testing.T, dir string, change func(*Options), how acmetest.Options, withoutPort string,
	before ...func(*Keeper)) *serving {
	t.Helper()
	s := &serving{plain: listen(t), secure: listen(t)}
	how.HTTPPort, how.TLSPort = s.plain.Addr().(*net.TCPAddr).Port, s.secure.Addr().(*net.TCPAddr).Port
	s.directory = acmetest.Start(t, how)
	o := Options{Domains: []string{domain}, Dir: dir, Directory: s.directory.URL, Roots: s.directory.Roots}
	if change != nil {
		change(&o)
	}
	var err error
	if s.Keeper, err = New(o); err != nil {
		t.Fatal(err)
	}
	// On a busy machine, an attempt may fail for a reason that the test did not cause. The next attempt then follows
	// after 100 ms instead of minutes.
	s.pause = func(int, bool, error) time.Duration { return 100 * time.Millisecond }
	for _, do := range before {
		do(s.Keeper)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	server := &http.Server{TLSConfig: s.TLS(), Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "hello")
	})}
	if withoutPort == "plain" {
		_ = s.plain.Close()
	} else {
		all.Go(func() { _ = s.Serve(ctx, s.plain) })
	}
	if withoutPort == "secure" {
		_ = s.secure.Close()
	} else {
		all.Go(func() { _ = server.ServeTLS(s.secure, "", "") })
	}
	all.Go(func() { s.Run(ctx) })
	s.stop = sync.OnceFunc(func() {
		cancel()
		_ = server.Close()
		all.Wait()
	})
	t.Cleanup(s.stop)
	return s
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// eventually waits until the only domain is in the expected state.
func (s *serving) eventually(t *testing.T, what string, so func(Status) bool) Status {
	t.Helper()
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		is := s.Status()[0]
		if so(is) {
			return is
		}
		if time.Since(began) > 10*time.Minute {
			t.Fatalf("never %s: %+v", what, is)
		}
	}
}

func got(s Status) bool    { return !s.Until.IsZero() }
func failed(s Status) bool { return !s.Failed.IsZero() }

// presented returns the certificate that the server sends for a name, or an error if a browser would not trust it.
func (s *serving) presented(t *testing.T, name string) (*x509.Certificate, error) {
	t.Helper()
	c, err := tls.Dial("tcp", s.secure.Addr().String(), &tls.Config{ServerName: name, RootCAs: s.directory.Issuer(t)})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.ConnectionState().PeerCertificates[0], nil
}

// TestCertificateIsObtained obtains a certificate with both ports open and with port 80 closed, because a machine may
// be reachable on only one port. It also checks that the certificate is stored.
func TestCertificateIsObtained(t *testing.T) {
	t.Parallel()
	for _, without := range []string{"", "plain"} {
		t.Run("without "+without, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "certificates")
			s := open(t, dir, nil, acmetest.Options{}, without)
			s.eventually(t, "got", got)
			first, err := s.presented(t, domain)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.presented(t, "other.clinic.test"); err == nil {
				t.Error("an unknown name got a certificate")
			}
			s.stop()
			again, err := New(s.options)
			if err != nil {
				t.Fatal(err)
			}
			if held := again.held[domain]; held == nil || !held.Leaf.Equal(first) {
				t.Error("the certificate is missing after a restart")
			}
			expectPrivate(t, dir)
		})
	}
}

func expectPrivate(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v: other users can read it", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestSecondChallengeIsTried: if port 443 is unreachable, the second attempt uses port 80.
func TestSecondChallengeIsTried(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), nil, acmetest.Options{}, "secure")
	is := s.eventually(t, "failed", failed)
	if !strings.Contains(is.Why, "443") {
		t.Errorf("why: %q", is.Why)
	}
	if is = s.eventually(t, "got", got); failed(is) {
		t.Errorf("the certificate was obtained, but is reported as failed: %+v", is)
	}
}

// TestCertificateIsRenewed checks that a certificate is renewed when a third of its lifetime is left, and no earlier.
func TestCertificateIsRenewed(t *testing.T) {
	t.Parallel()
	now := time.Now()
	last := &x509.Certificate{NotBefore: now.Add(-50 * time.Minute), NotAfter: now.Add(10 * time.Minute)}
	s := open(t, t.TempDir(), nil, acmetest.Options{Validity: time.Hour}, "", func(k *Keeper) {
		k.held[domain] = &tls.Certificate{Leaf: &x509.Certificate{NotBefore: now.Add(-30 * time.Minute),
			NotAfter: now.Add(30 * time.Minute)}}
		if k.due(domain) <= 0 {
			t.Error("a certificate at half of its lifetime is due for renewal")
		}
		k.held[domain] = &tls.Certificate{Leaf: last}
	})
	second := s.eventually(t, "renewed", func(is Status) bool { return is.Until.After(last.NotAfter) })
	if is, err := s.presented(t, domain); err != nil || is.NotAfter.Before(second.Until) {
		t.Errorf("the server sends %v, %v; want the renewed one", is, err)
	}
}

// TestUnreachableDomain: the status explains the failure, and the server continues without a certificate.
func TestUnreachableDomain(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), func(o *Options) { o.Domains = []string{"book.clinic.example"} }, acmetest.Options{}, "")
	is := s.eventually(t, "failed", failed)
	if want := "Could not resolve"; !strings.Contains(is.Why, want) {
		t.Errorf("the reason is %q, want %q in it", is.Why, want)
	}
	if _, err := s.presented(t, "book.clinic.example"); err == nil {
		t.Error("the server sent a self-signed certificate")
	}
}

// TestStoredCertificateIsServed checks that the server uses a stored certificate, even an expired one.
func TestStoredCertificateIsServed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, nil, acmetest.Options{Validity: time.Second}, "")
	s.eventually(t, "got", got)
	s.stop()
	o := s.options
	host := filepath.Base(s.dir)
	o.Directory = fmt.Sprintf("https://127.0.0.1:%d/dir", clitest.Port(t))
	k, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if k.held[domain] != nil {
		t.Error("the server uses the certificate of another directory")
	}
	if err := errors.Join(os.RemoveAll(k.dir), os.Rename(filepath.Join(dir, host), k.dir)); err != nil {
		t.Fatal(err)
	}
	if k, err = New(o); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() { k.Run(ctx) })
	defer all.Wait()
	defer cancel()
	again := &serving{Keeper: k}
	is := again.eventually(t, "failed", failed)
	if !strings.Contains(is.Why, "cannot be reached") || is.Until.IsZero() {
		t.Errorf("%+v: want an unreachable directory and the existing certificate", is)
	}
	if c, err := k.certificate(&tls.ClientHelloInfo{ServerName: domain}); err != nil || c.Leaf.NotAfter != is.Until {
		t.Errorf("a handshake: %v, want the old certificate", err)
	}
}

// TestHTTPRedirectsToHTTPS checks that plain HTTP is redirected to the requested domain, or to the first one if the
// requested domain is unknown.
func TestHTTPRedirectsToHTTPS(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ base, host, path, want string }{
		{"", "book.clinic.test", "/staff?day=1", "https://book.clinic.test/staff?day=1"},
		{"", "BOOK.clinic.test.:80", "/", "https://book.clinic.test/"},
		{"", "www.clinic.test", "/", "https://www.clinic.test/"},
		{"", "192.0.2.1", "/", "https://book.clinic.test/"},
		{"", "evil.example", "/x", "https://book.clinic.test/x"},
		{"https://book.clinic.test:8443", "book.clinic.test:8080", "/", "https://book.clinic.test:8443/"},
		{"https://book.clinic.test:8443", "www.clinic.test", "/", "https://www.clinic.test/"},
	} {
		k, err := New(Options{Domains: []string{"book.clinic.test", "www.clinic.test"}, Dir: t.TempDir(),
			BaseURL: c.base})
		if err != nil {
			t.Fatal(err)
		}
		for _, method := range []string{"GET", "POST"} {
			r, err := http.NewRequest(method, "http://x"+c.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Host = c.host
			w := &answer{header: http.Header{}}
			k.ServeHTTP(w, r)
			if w.status != http.StatusPermanentRedirect || w.header.Get("Location") != c.want {
				t.Errorf("%s %s: %d to %q, want 308 to %q", method, c.host+c.path, w.status, w.header.Get("Location"),
					c.want)
			}
		}
	}
}

// answer records the response of a handler.
type answer struct {
	header http.Header
	status int
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(status int)      { a.status = status }
func (a *answer) Write(b []byte) (int, error) { return len(b), nil }
