// Package acmetest starts Pebble, Let's Encrypt's ACME server for testing clients, and a DNS server for it, on
// loopback.
package acmetest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/cli/clitest"
)

const version = "v2.10.1"

// Options tell the directory where to find the server that it validates.
type Options struct {
	HTTPPort, TLSPort int
	Validity          time.Duration // of certificates; 0: 90 days
}

// Directory is a Pebble server that runs until the test ends. Every name below .test resolves to this machine, and no
// other name resolves.
type Directory struct {
	URL    string
	CAFile string         // the certificate authority of the directory itself
	Roots  *x509.CertPool // the certificate in CAFile
	http   *http.Client
	manage string
}

var building sync.Mutex

// binaryFor returns the path of the Pebble binary, which is built once for each user. It skips the test if the build
// fails.
func binaryFor(t testing.TB) string {
	t.Helper()
	clitest.Long(t, "the ACME server is compiled from source")
	building.Lock()
	defer building.Unlock()
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	dir := filepath.Join(cache, "holdfast-tests", "pebble-"+version)
	file := filepath.Join(dir, "pebble")
	if _, err := os.Stat(file); err == nil {
		return file
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	fresh, err := os.MkdirTemp(dir, "new-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(fresh)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	build := exec.CommandContext(ctx, "go", "install", "github.com/letsencrypt/pebble/v2/cmd/pebble@"+version)
	build.Env = append(os.Environ(), "GOBIN="+fresh, "GOFLAGS=", "CGO_ENABLED=0")
	build.Dir = fresh
	if said, err := build.CombinedOutput(); err != nil {
		t.Skipf("!!! SKIPPED: Pebble %s, a real ACME server, cannot be fetched: %v\n%s", version, err, said)
	}
	if err := os.Rename(filepath.Join(fresh, "pebble"), file); err != nil {
		t.Fatal(err)
	}
	return file
}

// Start starts a directory.
func Start(t testing.TB, o Options) *Directory {
	t.Helper()
	pebble := binaryFor(t)
	dir := t.TempDir()
	d := &Directory{CAFile: filepath.Join(dir, "ca.pem"), Roots: x509.NewCertPool()}
	identify(t, dir, d)
	listen, manage := fmt.Sprintf("127.0.0.1:%d", clitest.Port(t)), fmt.Sprintf("127.0.0.1:%d", clitest.Port(t))
	d.URL, d.manage = "https://"+listen+"/dir", "https://"+manage
	validity := o.Validity
	if validity == 0 {
		validity = 90 * 24 * time.Hour
	}
	config, err := json.Marshal(map[string]any{"pebble": map[string]any{
		"listenAddress": listen, "managementListenAddress": manage, "certificate": d.CAFile,
		"privateKey": filepath.Join(dir, "key.pem"), "httpPort": o.HTTPPort, "tlsPort": o.TLSPort,
		"ocspResponderURL": "", "externalAccountBindingRequired": false,
		"profiles": map[string]any{"default": map[string]any{"description": "tests",
			"validityPeriod": int(validity.Seconds())}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "pebble.json")
	if err := os.WriteFile(file, config, 0o600); err != nil {
		t.Fatal(err)
	}
	run := exec.Command(pebble, "-config", file, "-dnsserver", serveDNS(t))
	run.Env = append(os.Environ(), "PEBBLE_VA_NOSLEEP=1", "PEBBLE_WFE_NONCEREJECT=20")
	var said strings.Builder
	run.Stdout, run.Stderr = &said, &said
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = run.Process.Kill()
		_ = run.Wait()
		if t.Failed() {
			t.Logf("Pebble said:\n%s", &said)
		}
	})
	d.http = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: d.Roots},
		DisableKeepAlives: true}, Timeout: 5 * time.Second}
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		answer, err := d.http.Get(d.URL)
		if err == nil {
			_ = answer.Body.Close()
			return d
		}
		if time.Since(began) > 10*time.Minute {
			t.Fatalf("Pebble does not answer: %v\n%s", err, &said)
		}
	}
}

// Issuer returns the root of the certificates that the directory issues.
func (d *Directory) Issuer(t testing.TB) *x509.CertPool {
	t.Helper()
	answer, err := d.http.Get(d.manage + "/roots/0")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	pool := x509.NewCertPool()
	if err != nil || !pool.AppendCertsFromPEM(text) {
		t.Fatalf("Pebble's root: %v, %s", err, text)
	}
	return pool
}

// identify creates the certificate of the directory itself.
func identify(t testing.TB, dir string, d *Directory) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	made := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	c, err := x509.CreateCertificate(rand.Reader, made, made, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	k, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c})
	d.Roots.AppendCertsFromPEM(text)
	for name, b := range map[string][]byte{"ca.pem": text,
		"key.pem": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: k})} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// serveDNS starts a DNS server (RFC 1035, 4.1) over TCP, as Pebble requires, and returns its address. Names below .test
// resolve to this machine. No other name exists.
func serveDNS(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	t.Cleanup(func() {
		_ = l.Close()
		all.Wait()
	})
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { converse(conn) })
		}
	})
	return l.Addr().String()
}

// converse answers the queries on one connection, until the client closes it or sends nothing for 30 s.
func converse(conn net.Conn) {
	defer conn.Close()
	for {
		_ = conn.SetDeadline(time.Now().Add(10 * time.Minute))
		var size [2]byte
		if _, err := io.ReadFull(conn, size[:]); err != nil {
			return
		}
		question := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(conn, question); err != nil {
			return
		}
		answer := resolve(question)
		if _, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))),
			answer...)); err != nil {
			return
		}
	}
}

func resolve(question []byte) []byte {
	const head, typeA = 12, 1
	at, name := head, ""
	for at < len(question) && question[at] != 0 {
		end := at + 1 + int(question[at])
		if end > len(question) {
			return nil
		}
		name += strings.ToLower(string(question[at+1:end])) + "."
		at = end
	}
	if at+5 > len(question) {
		return nil
	}
	answer := append([]byte{}, question[:at+5]...)
	binary.BigEndian.PutUint16(answer[2:], 0x8180)         // a response, recursion available
	copy(answer[4:head], []byte{0, 1, 0, 0, 0, 0, 0, 0})   // one question
	kind := binary.BigEndian.Uint16(question[at+1 : at+3]) // the queried type
	switch {
	case !strings.HasSuffix(name, ".test."):
		answer[3] |= 3 // no such name exists
	case kind == typeA:
		answer[7] = 1
		answer = append(answer, 0xc0, head, 0, typeA, 0, 1, 0, 0, 0, 1, 0, 4, 127, 0, 0, 1)
	}
	return answer
}
