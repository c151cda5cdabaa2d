// Package buckettest starts the Versity S3 Gateway on loopback. It is a real server of the S3 protocol and checks
// every signature.
package buckettest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
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

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

const version = "v1.8.0"

// Service is a server that runs until the test ends. It serves the bucket "clinic" and has one user with all rights.
type Service struct {
	URL  string
	Root string // the directory of the bucket: an object is a file below it

	program string
}

// Name is the name of a Service's bucket.
const Name = "clinic"

// Access and Secret are the access key and the secret key of the user with all rights.
const (
	Access = "owner-access-key"
	Secret = "owner-secret-key-quite-long"
)

var building sync.Mutex

// binaryFor returns the path of the gateway's binary. It builds the binary if this user's cache does not contain it. It
// skips the test if the gateway cannot be downloaded.
func binaryFor(t testing.TB) string {
	t.Helper()
	clitest.Long(t, "the S3 server is compiled from source, in two to five minutes")
	building.Lock()
	defer building.Unlock()
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	dir := filepath.Join(cache, "holdfast-tests", "versitygw-"+version)
	file := filepath.Join(dir, "versitygw")
	if _, err := os.Stat(file); err == nil {
		return file
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	// The tests of another package may be building the gateway now. A build takes minutes, so wait for it.
	alone, err := os.OpenFile(filepath.Join(dir, "building"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer alone.Close() // this unlocks the file for the next process
	if err := waitAlone(alone); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); err == nil {
		return file
	}
	fresh, err := os.MkdirTemp(dir, "new-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(fresh)
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	build := exec.CommandContext(ctx, "go", "install", "github.com/versity/versitygw/cmd/versitygw@"+version)
	build.Env = append(os.Environ(), "GOBIN="+fresh, "GOFLAGS=", "CGO_ENABLED=0")
	build.Dir = fresh
	if said, err := build.CombinedOutput(); err != nil {
		t.Skipf("!!! SKIPPED: the Versity S3 Gateway %s, a real S3 server, cannot be fetched: %v\n%s", version, err,
			said)
	}
	if err := os.Rename(filepath.Join(fresh, "versitygw"), file); err != nil {
		t.Fatal(err)
	}
	return file
}

// Start starts a service.
func Start(t testing.TB) *Service {
	t.Helper()
	s := &Service{program: binaryFor(t)}
	dir := t.TempDir()
	s.Root = filepath.Join(dir, "objects", Name)
	for _, made := range []string{s.Root, filepath.Join(dir, "users"), filepath.Join(dir, "about")} {
		if err := os.MkdirAll(made, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	listen := free(t)
	s.URL = "http://" + listen
	// The gateway stores metadata in sidecar files, because a file system in memory may not support extended
	// attributes.
	run := exec.Command(s.program, "--access", Access, "--secret", Secret, "--port", listen, "--iam-dir",
		filepath.Join(dir, "users"), "--quiet", "--keep-alive",
		"posix", "--sidecar", filepath.Join(dir, "about"), filepath.Join(dir, "objects"))
	var said bytes.Buffer
	run.Stdout, run.Stderr = &said, &said
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = run.Process.Kill()
		_ = run.Wait()
		if t.Failed() {
			t.Logf("the gateway said:\n%s", &said)
		}
	})
	asking := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 5 * time.Second}
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		answer, err := asking.Get(s.URL)
		if err == nil {
			_ = answer.Body.Close()
			return s
		}
		if time.Since(began) > 10*time.Minute {
			t.Fatalf("the gateway does not answer: %v", err)
		}
	}
}

// User creates a user without any rights and returns its key.
func (s *Service) User(t testing.TB, name string) (access, secret string) {
	t.Helper()
	access, secret = name+"-access-key", name+"-secret-key-quite-long"
	made := exec.Command(s.program, "admin", "--access", Access, "--secret", Secret, "--endpoint-url", s.URL,
		"create-user", "--access", access, "--secret", secret, "--role", "user")
	if said, err := made.CombinedOutput(); err != nil {
		t.Fatalf("no user was made: %v\n%s", err, said)
	}
	return access, secret
}

// Allow sets the policy of the bucket: the actions that each user may perform, by access key.
func (s *Service) Allow(t testing.TB, may map[string][]string) {
	t.Helper()
	var statements []string
	for access, actions := range may {
		statements = append(statements,
			fmt.Sprintf(`{"Effect":"Allow","Principal":{"AWS":[%q]},"Action":["%s"],"Resource":["arn:aws:s3:::%s","arn:aws:s3:::%s/*"]}`,
				access, strings.Join(actions, `","`), Name, Name))
	}
	policy := `{"Version":"2012-10-17","Statement":[` + strings.Join(statements, ",") + `]}`
	ask, err := http.NewRequestWithContext(t.Context(), http.MethodPut, s.URL+"/"+Name+"?policy=",
		strings.NewReader(policy))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(policy))
	digest := hex.EncodeToString(sum[:])
	ask.Header.Set("X-Amz-Content-Sha256", digest)
	owner := aws.Credentials{AccessKeyID: Access, SecretAccessKey: Secret}
	if err := v4.NewSigner().SignHTTP(t.Context(), owner, ask, digest, "s3", "us-east-1", time.Now()); err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(ask)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if said, _ := io.ReadAll(answer.Body); answer.StatusCode >= http.StatusMultipleChoices {
		t.Fatalf("the policy %s: %s\n%s", policy, answer.Status, said)
	}
}

// free returns a free loopback address.
func free(t testing.TB) string {
	t.Helper()
	// Another process could take the port before the gateway starts. That is unlikely at a random address of
	// 127.0.0.0/8. Some systems have only 127.0.0.1.
	own := rand.Perm(250)
	l, err := net.Listen("tcp", fmt.Sprintf("127.%d.%d.%d:0", own[0]+1, own[1]+1, own[2]+1))
	if err != nil {
		l, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
