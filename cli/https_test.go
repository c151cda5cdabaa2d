package cli

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"holdfast/cli/clitest"
	"holdfast/web/certificate/acmetest"
)

const clinicDomain = "book.clinic.test"

// browser returns a client that calls the server at an address under the clinic's domain.
func browser(at string, trusts *x509.CertPool, protocol string) *http.Client {
	dial := &net.Dialer{Timeout: 5 * time.Second}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(protocol == "HTTP/1.1")
	protocols.SetHTTP2(protocol == "HTTP/2.0")
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Protocols: protocols, TLSClientConfig: &tls.Config{RootCAs: trusts},
			DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return dial.DialContext(ctx, network, at)
			},
		},
	}
}

// TestHTTPSByItself: with only --domain, a server gets a certificate that browsers trust, speaks HTTP/2 and redirects
// plain HTTP to it. Cookies, links and headers for browsers match the HTTPS address. Live streams continue over both
// protocols, and receive the end frame.
func TestHTTPSByItself(t *testing.T) {
	t.Parallel()
	secure, plain, local := clitest.Port(t), clitest.Port(t), clitest.Port(t)
	directory := acmetest.Start(t, acmetest.Options{HTTPPort: plain, TLSPort: secure})
	dir := filepath.Join(t.TempDir(), "data")
	must(t, "import", "--data", dir, harbour)
	at := func(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
	s := started(t, "serve", "--data", dir, "--listen", at(local), "--domain", clinicDomain, "--https-listen",
		at(secure), "--http-listen", at(plain),
		"--acme-directory", directory.URL, "--acme-ca", directory.CAFile, "--acme-email", "it@clinic.test")
	if s.base != "https://"+clinicDomain {
		t.Errorf("the log is %s", s.base)
	}
	issuer := directory.Issuer(t)
	eventually(t, "a certificate", func() bool {
		answer, err := browser(at(secure), issuer, "HTTP/2.0").Get(s.base + "/livez")
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		return answer.StatusCode == http.StatusOK && answer.ProtoMajor == 2 &&
			answer.Header.Get("Strict-Transport-Security") != ""
	})

	answer, err := browser(at(plain), issuer, "HTTP/1.1").Post("http://"+clinicDomain+"/v1/holds?x=1",
		"application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := answer.Header.Get("Location"), s.base+
		"/v1/holds?x=1"; answer.StatusCode != http.StatusPermanentRedirect || got != want {
		t.Errorf("plain HTTP: %d to %q, want 308 to %q", answer.StatusCode, got, want)
	}
	expectSecureCookies(t, s, browser(at(secure), issuer, "HTTP/2.0"), dir)
	if status, figures := asked(t, http.MethodGet, "http://"+at(local)+"/metrics", nil, nil); status != http.StatusOK ||
		!strings.Contains(figures, `holdfast_certificate_end_timestamp_seconds{domain="`+clinicDomain+`"} 1`) {
		t.Errorf("metrics: %d, without the certificate's expiry", status)
	}

	streams := map[string]*bufio.Scanner{}
	for _, protocol := range []string{"HTTP/1.1", "HTTP/2.0"} {
		answer, err := browser(at(secure), issuer, protocol).Get(s.base +
			"/v1/holds/stream?appointmentTypeId=checkup&clientId=" + strings.Repeat(protocol[5:6], 20))
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		if answer.Proto != protocol || answer.StatusCode != http.StatusOK {
			t.Fatalf("a stream over %s: %s %d", protocol, answer.Proto, answer.StatusCode)
		}
		lines := bufio.NewScanner(answer.Body)
		lines.Buffer(nil, 1<<20)
		streams[protocol] = lines
		expectLine(t, protocol, lines, `"connected"`)
	}
	if status, said := asked(t, http.MethodPost, "http://"+at(local)+"/v1/holds", aHold(t, at(local)),
		nil); status != http.StatusCreated {
		t.Fatalf("a hold: %d %s", status, said)
	}
	for protocol, lines := range streams {
		expectLine(t, protocol, lines, `"hold"`)
	}
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for protocol, lines := range streams {
		expectLine(t, protocol, lines, "server-shutdown")
	}
	if code := s.ended(t); code != 0 {
		t.Errorf("exit code %d: %s", code, s.stderr)
	}
	if strings.Contains(s.stderr.String(), "level=ERROR") {
		t.Errorf("the log: %s", s.stderr)
	}
}

// expectLine reads a stream up to a line that contains part. It fails the test if the stream has no such line.
func expectLine(t *testing.T, protocol string, lines *bufio.Scanner, part string) {
	t.Helper()
	for began := time.Now(); lines.Scan() && time.Since(began) < 4*time.Minute; { // a ping arrives every 15 s
		if strings.Contains(lines.Text(), part) {
			return
		}
	}
	t.Fatalf("the stream over %s has no %q: %v", protocol, part, lines.Err())
}

// aHold returns the request body for a hold of the first free slot.
func aHold(t *testing.T, at string) map[string]any {
	t.Helper()
	_, said := asked(t, http.MethodGet, "http://"+at+"/v1/appointment-types/checkup/next-available", nil, nil)
	start := regexp.MustCompile(`"start":"([^"]+)"`).FindStringSubmatch(said)
	if start == nil {
		t.Fatalf("no slot: %s", said)
	}
	return map[string]any{"appointmentTypeId": "checkup", "slotStartDate": start[1],
		"clientId": strings.Repeat("h", 20)}
}

// expectSecureCookies sets the clinic up, which signs the owner in, and checks the cookies.
func expectSecureCookies(t *testing.T, s *server, through *http.Client, dir string) {
	t.Helper()
	_, token, _ := strings.Cut(strings.TrimSpace(must(t, "setup-url", "--data", dir)), "#")
	body, err := json.Marshal(map[string]any{"token": token,
		"clinic": map[string]any{"name": "Harbour Clinic", "timezone": "Europe/Berlin"},
		"owner":  map[string]any{"name": "Jo", "email": "jo@clinic.example", "password": "a few words together"}})
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequest(http.MethodPost, s.base+"/v1/setup", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Origin", s.base)
	answer, err := through.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	said, _ := io.ReadAll(answer.Body)
	if answer.StatusCode >= 300 || len(answer.Cookies()) == 0 {
		t.Fatalf("the setup: %d %s", answer.StatusCode, said)
	}
	for _, c := range answer.Cookies() {
		if !c.Secure || !strings.HasPrefix(c.Name, "__Host-") {
			t.Errorf("the cookie %s is not limited to HTTPS", c.Name)
		}
	}
}

// TestListenErrorIsExplained: the error explains a port that is in use, and settings that contradict each other.
func TestListenErrorIsExplained(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	serve := []string{"serve", "--data", filepath.Join(t.TempDir(), "data"), "--listen", "127.0.0.1:0", "--http-listen",
		"127.0.0.1:0", "--domain"}
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"a port that is taken", append(serve, clinicDomain, "--https-listen", taken.Addr().String()),
			"--https-listen"},
		{"no name", append(serve, "192.0.2.1"), "must be a DNS name"},
		{"a directory without TLS", append(serve, clinicDomain, "--acme-directory", "http://acme.example"),
			"must be an address such as https://"},
		{"a directory for nothing", []string{"serve", "--acme-directory", "https://acme.example/dir"},
			"--domain (HOLDFAST_DOMAIN): is missing"},
		{"no roots", append(serve, clinicDomain, "--acme-ca", "https_test.go"), "contains no PEM certificate"},
		{"the demo", []string{"demo", "--domain", clinicDomain}, "remove --domain"},
	} {
		if got := command(t, nil, "", c.args...); got.code == 0 || !strings.Contains(got.stderr, c.want) {
			t.Errorf("%s: exit %d and %q, want %q in it", c.name, got.code, got.stderr, c.want)
		}
	}
}
