package deploy

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io/fs"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/cli/clitest"
)

// These tests start the proxies of docs/https.md in front of a server. Each proxy uses the configuration on that page.

const proxiedName = "book.example.org"

// proxy is one of the proxies in docs/https.md.
type proxy struct {
	name, language string   // name of the proxy, and language of its block in the manual
	program        string   // a name, or a path if it is not in PATH
	comesWith      string   // the package that contains it
	edits          []string // edits of the block, as for strings.NewReplacer; each must occur
	files          map[string]string
	args           []string
	logged         string // part of its log line for a request to /v1/clinic; empty if it writes no log
	// quiet is the line of the block that limits how long the proxy waits for the next part of a response. brief is the
	// same line with 2 seconds. Empty means no limit.
	quiet, brief string
}

// In the edits, the files and the arguments, DIR is where the proxy may write, PORT is where it listens, and TO is
// the server. BLOCK is the edited block.
var proxies = []proxy{
	{
		name: "nginx", language: "nginx", program: "/usr/sbin/nginx", comesWith: "nginx-light",
		edits: []string{"listen 443 ssl", "listen 127.0.0.1:PORT ssl", "    listen [::]:443 ssl http2;\n", "",
			"127.0.0.1:8788", "TO", "/var/log/nginx/", "DIR/",
			"/etc/letsencrypt/live/book.example.org/fullchain.pem", "DIR/cert.pem",
			"/etc/letsencrypt/live/book.example.org/privkey.pem", "DIR/key.pem"},
		files: map[string]string{"nginx.conf": "daemon off;\nmaster_process off;\npid DIR/nginx.pid;\nevents {}\nhttp {\naccess_log off;\n" +
			"client_body_temp_path DIR/body;\nproxy_temp_path DIR/proxy;\nfastcgi_temp_path DIR/fastcgi;\nuwsgi_temp_path DIR/uwsgi;\nscgi_temp_path DIR/scgi;\n" +
			"BLOCK\n}\n"},
		args:   []string{"-p", "DIR", "-c", "DIR/nginx.conf", "-e", "DIR/early.log"},
		logged: `"GET /v1/clinic"`, quiet: "proxy_read_timeout 90s;", brief: "proxy_read_timeout 2s;",
	},
	{
		name: "Caddy", language: "caddyfile", program: "caddy", comesWith: "caddy",
		edits: []string{"{\n    log {", "{\n    admin off\n    auto_https disable_redirects\n    log {",
			"127.0.0.1:8788", "TO",
			"book.example.org {", "https://book.example.org:PORT {\n    bind 127.0.0.1\n    tls DIR/cert.pem DIR/key.pem"},
		files:  map[string]string{"Caddyfile": "BLOCK"},
		args:   []string{"run", "--config", "DIR/Caddyfile", "--adapter", "caddyfile"},
		logged: `"uri":"/v1/clinic"`,
	},
	{
		name: "Traefik", language: "yaml", program: "traefik",
		edits: []string{"tls: {certResolver: letsencrypt}", "tls: {}", "http://127.0.0.1:8788", "http://TO"},
		files: map[string]string{
			"dynamic.yml": "BLOCK\ntls: {certificates: [{certFile: DIR/cert.pem, keyFile: DIR/key.pem}]}\n",
			"traefik.yml": "entryPoints: {websecure: {address: 127.0.0.1:PORT}}\nproviders: {file: {filename: DIR/dynamic.yml}}\naccessLog: {}\n",
		},
		args: []string{"--configfile=DIR/traefik.yml"},
	},
}

// documented returns the block of a language in the manual's section about proxies.
func documented(t *testing.T, language string) string {
	t.Helper()
	manual, err := os.ReadFile("../docs/https.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(manual), "\n## Behind a proxy\n")
	section, _, _ := strings.Cut(rest, "\n## ")
	blocks := strings.Split(section, "\n```"+language+"\n")
	if len(blocks) != 2 {
		t.Fatalf("the manual has %d blocks of %s about proxies, want one", len(blocks)-1, language)
	}
	block, _, _ := strings.Cut(blocks[1], "\n```\n")
	return block
}

// front is a running proxy.
type front struct {
	address string // on loopback, with TLS
	roots   *x509.CertPool
	stop    func() (wrote string) // stops the proxy, and returns everything that it has written
}

// start starts the proxy in front of the server at an address. The test is skipped if the proxy is not installed.
func (p proxy) start(t *testing.T, to string, more ...string) *front {
	t.Helper()
	clitest.Long(t, "a proxy of its own")
	program, err := exec.LookPath(p.program)
	if err != nil {
		if p.comesWith == "" {
			t.Skipf("SKIPPED: %s, which Debian does not have; the test uses %s if it is in PATH", p.name, p.program)
		}
		t.Skipf("SKIPPED: %s; apt-get install --no-install-recommends %s", p.name, p.comesWith)
	}
	block := documented(t, p.language)
	edits := append(append([]string{}, p.edits...), more...)
	for i := 0; i < len(edits); i += 2 {
		if !strings.Contains(block, edits[i]) {
			t.Fatalf("the block for %s does not contain %q", p.name, edits[i])
		}
	}
	block = strings.NewReplacer(edits...).Replace(block)
	f, said := p.startOnce(t, program, block, to)
	if f == nil {
		t.Fatalf("%s does not start: %s", p.name, said)
	}
	return f
}

func (p proxy) startOnce(t *testing.T, program, block, to string) (f *front, failed string) {
	t.Helper()
	dir := t.TempDir()
	port := strconv.Itoa(clitest.Port(t))
	f = &front{address: "127.0.0.1:" + port, roots: x509.NewCertPool()}
	fill := strings.NewReplacer("BLOCK", block)
	known := strings.NewReplacer("DIR", dir, "PORT", port, "TO", to)
	f.roots.AppendCertsFromPEM(certify(t, dir))
	given := map[string]bool{"cert.pem": true, "key.pem": true}
	for name, text := range p.files {
		given[name] = true
		if err := os.WriteFile(filepath.Join(dir, name), []byte(known.Replace(fill.Replace(text))), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var args []string
	for _, a := range p.args {
		args = append(args, known.Replace(a))
	}
	run := exec.Command(program, args...)
	run.Env = append(os.Environ(), "HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir)
	var said bytes.Buffer
	run.Stdout, run.Stderr = &said, &said
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = run.Wait() }()
	stop := sync.OnceValue(func() string {
		_ = run.Process.Kill()
		<-ended
		return said.String() + written(t, dir, given)
	})
	f.stop = stop
	t.Cleanup(func() {
		if wrote := stop(); t.Failed() {
			t.Logf("%s wrote at last:\n%s", p.name, wrote[max(0, len(wrote)-4000):])
		}
	})
	patience, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	for {
		if conn, err := tls.Dial("tcp", f.address, f.tls()); err == nil {
			_ = conn.Close()
			return f, ""
		}
		select {
		case <-ended:
			return nil, stop()
		case <-patience.Done():
			return nil, "it does not listen after a minute: " + stop()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// written returns the content of all files in a directory except the given ones.
func written(t *testing.T, dir string, given map[string]bool) string {
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || given[d.Name()] {
			return err
		}
		b, err := os.ReadFile(path)
		all.WriteString(d.Name() + ": ")
		all.Write(b)
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return all.String()
}

// certify writes a self-signed certificate for proxiedName into a directory, and returns it. Only clients that use it
// as a root trust it.
func certify(t *testing.T, dir string) (certificate []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	of := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{proxiedName},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true}
	raw, err := x509.CreateCertificate(rand.Reader, of, of, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certificate = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})
	for name, text := range map[string][]byte{"cert.pem": certificate,
		"key.pem": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certificate
}

func (f *front) tls() *tls.Config { return &tls.Config{ServerName: proxiedName, RootCAs: f.roots} }

// visitor returns a client with the loopback address from. For this client, the clinic's name resolves to the proxy.
func (f *front) visitor(t *testing.T, from string) *http.Client {
	t.Helper()
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: f.tls(),
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, network, f.address)
		}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}
