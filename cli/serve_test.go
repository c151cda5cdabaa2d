package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// server is a holdfast process.
type server struct {
	*exec.Cmd
	base   string // its address
	stdout *transcript
	stderr *transcript
	exited chan error
}

// transcript is the output of a process, which can be read while the process runs.
type transcript struct {
	mu   sync.Mutex
	text strings.Builder
}

func (t *transcript) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.Write(b)
}

func (t *transcript) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}

// started runs holdfast in a separate process and waits until it has printed its address.
func started(t *testing.T, args ...string) *server {
	t.Helper()
	return startedWith(t, nil, args...)
}

// startedWith is like started, with additional environment variables, as NAME=value.
func startedWith(t *testing.T, environment []string, args ...string) *server {
	t.Helper()
	return startedFrom(t, os.Args[0], append([]string{asMain + "=1"}, environment...), args...)
}

// startedFrom is like startedWith, but runs the given program file. It starts a server again that a busy PostgreSQL did
// not answer in time, as a service manager does.
func startedFrom(t *testing.T, program string, environment []string, args ...string) (s *server) {
	t.Helper()
	eventually(t, "the database answers in time", func() bool {
		s = launched(t, program, environment, args...)
		return s.base != "" || !strings.Contains(s.stderr.String(), "unavailable")
	})
	if s.base == "" {
		t.Fatalf("the server did not start: %s", s.stderr)
	}
	return s
}

// launched starts a server and waits until it listens, or exits without an address.
func launched(t *testing.T, program string, environment []string, args ...string) *server {
	t.Helper()
	if testing.Short() {
		t.Skip("short run: no server")
	}
	s := &server{Cmd: exec.Command(program, args...), stdout: &transcript{}, stderr: &transcript{},
		exited: make(chan error, 1)}
	s.Env = append(os.Environ(), environment...)
	dieWithParent(s.Cmd)
	s.Stderr = s.stderr
	out, err := s.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Process.Kill() })
	said := io.TeeReader(out, s.stdout)
	tree := bufio.NewScanner(said)
	for tree.Scan() {
		if _, after, ok := strings.Cut(tree.Text(), "├─ book"); ok {
			s.base = strings.TrimRight(strings.TrimSpace(after), "/")
			break
		}
	}
	go func() {
		_, _ = io.Copy(io.Discard, said)
		s.exited <- s.Wait()
	}()
	if s.base == "" {
		<-s.exited
	}
	return s
}

// ended waits for the exit, and returns the exit code, or -1 if a signal ended the process.
func (s *server) ended(t *testing.T) int {
	t.Helper()
	select {
	case <-s.exited:
		return s.ProcessState.ExitCode()
	case <-time.After(10 * time.Minute):
		t.Fatal("the server did not stop within a minute")
		return 0
	}
}

// TestServeFromStartToStop starts a server, checks its health, sends it commands through its socket, refuses a second
// server, ends it with SIGTERM and exit code 0, kills it and starts it again.
func TestServeFromStartToStop(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	s := started(t, "serve", "--data", dir, "--listen", "127.0.0.1:0")
	address := strings.TrimPrefix(s.base, "http://")
	must(t, "healthcheck", "--listen", address)

	second := command(t, nil, "", "serve", "--data", dir, "--listen", "127.0.0.1:0")
	if second.code != 1 {
		t.Errorf("a second server: exit code %d, want 1", second.code)
	}
	contains(t, "a second server", second.stderr, "in use by process "+strconv.Itoa(s.Process.Pid))

	if got := mode(t, filepath.Join(dir, socketFile)); got != 0o600 {
		t.Errorf("mode of the socket: got %#o, want 0600", got)
	}
	must(t, "import", "--data", dir, harbour)
	status, body := get(t, s.base+"/v1/specialists", "")
	if status != http.StatusOK || !strings.Contains(body, "Dr Ada Brandt") {
		t.Errorf("after an import into the running server: got %d %s", status, body)
	}
	key := strings.TrimSpace(must(t, "apikey", "create", "--data", dir, "--name", "test", "--scope", "admin"))
	if status, body := get(t, s.base+"/v1/appointments", key); status != http.StatusOK {
		t.Errorf("with the key: got %d %s, want 200", status, body)
	}
	if status, _ := get(t, s.base+"/v1/appointments", key+"x"); status != http.StatusUnauthorized {
		t.Errorf("with another key: got %d, want 401", status)
	}
	contains(t, "verify", must(t, "verify", "--data", dir), "intact")
	must(t, "backup", "--data", dir)
	if strings.Contains(s.stderr.String(), key) {
		t.Error("the log contains the key")
	}

	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := s.ended(t); code != 0 {
		t.Errorf("after SIGTERM: exit code %d, want 0; it printed %s", code, s.stderr)
	}
	if _, err := os.Stat(filepath.Join(dir, socketFile)); !os.IsNotExist(err) {
		t.Errorf("the socket remains: %v", err)
	}
	if got := command(t, nil, "", "healthcheck", "--listen", address); got.code != 1 {
		t.Errorf("healthcheck without a server: exit code %d, want 1", got.code)
	}

	s = started(t, "--data", dir, "--listen", "127.0.0.1:0") // the command without arguments serves too
	if err := s.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	s.ended(t)
	s = started(t, "serve", "--data", dir, "--listen", "127.0.0.1:0")
	if _, body := get(t, s.base+"/v1/specialists", ""); !strings.Contains(body, "Dr Ada Brandt") {
		t.Errorf("after a kill: got %s", body)
	}
	if err := s.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := s.ended(t); code != 0 {
		t.Errorf("after SIGINT: exit code %d, want 0; it printed %s", code, s.stderr)
	}
}

// underWay opens a connection and sends a request whose handler waits for the rest of the body.
func underWay(t *testing.T, s *server) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_, err = io.WriteString(conn, "POST /v1/holds HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
	if err != nil {
		t.Fatal(err)
	}
	// "100 Continue" is sent when the handler first reads.
	b := make([]byte, len("HTTP/1.1 100 Continue\r\n\r\n"))
	if _, err := io.ReadFull(conn, b); err != nil || !strings.Contains(string(b), "100 Continue") {
		t.Fatalf("got %q, %v, want 100 Continue", b, err)
	}
	return conn
}

// askedToStop sends SIGTERM and waits until no more connections are accepted.
func askedToStop(t *testing.T, s *server) {
	t.Helper()
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Minute); ; {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.base, "http://"))
		if err != nil {
			return
		}
		conn.Close()
		if time.Now().After(deadline) {
			t.Fatal("a minute after SIGTERM, the server still accepts connections")
		}
		runtime.Gosched()
	}
}

// TestRequestsUnderWayAreFinished: a server that is stopping finishes the running requests.
func TestRequestsUnderWayAreFinished(t *testing.T) {
	t.Parallel()
	s := started(t, "serve", "--data", clinicDir(t), "--listen", "127.0.0.1:0")
	conn := underWay(t, s)
	askedToStop(t, s)
	if _, err := io.WriteString(conn, "{}"); err != nil {
		t.Fatal(err)
	}
	reply, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("the request was interrupted: %v", err)
	}
	reply.Body.Close()
	if reply.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("status: got %d, want 422", reply.StatusCode)
	}
	if code := s.ended(t); code != 0 {
		t.Errorf("exit code: got %d, want 0", code)
	}
}

// TestStreamLivesUntilServerStops: a stream over a real socket, older than every deadline of its first frames,
// receives an expired hold and the message that the server stops.
func TestStreamLivesUntilServerStops(t *testing.T) {
	t.Parallel()
	s := started(t, "serve", "--data", clinicDir(t), "--listen", "127.0.0.1:0")
	reply, err := http.Get(s.base + "/v1/holds/stream?appointmentTypeId=checkup&clientId=a-watching-client-0001")
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	stream := bufio.NewScanner(reply.Body)
	upTo := func(text string) {
		t.Helper()
		for stream.Scan() {
			if strings.Contains(stream.Text(), text) {
				return
			}
		}
		t.Fatalf("the stream ended before %s: %v", text, stream.Err())
	}
	upTo(`"connected"`)
	_, next := get(t, s.base+"/v1/appointment-types/checkup/next-available", "")
	start := regexp.MustCompile(`"start":"([^"]+)"`).FindStringSubmatch(next)
	if start == nil {
		t.Fatalf("no slot: %s", next)
	}
	held, err := http.Post(s.base+"/v1/holds", "application/json", strings.NewReader(
		`{"appointmentTypeId":"checkup","slotStartDate":"`+start[1]+
			`","clientId":"a-holding-client-0001","ttlSeconds":7}`))
	if err != nil {
		t.Fatal(err)
	}
	held.Body.Close()
	upTo(`"hold"`)
	upTo(`"expired"`) // seven seconds later
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	upTo(`"server-shutdown"`)
	if code := s.ended(t); code != 0 {
		t.Errorf("exit code: got %d, want 0", code)
	}
}

// TestSecondSignalExitsAtOnce: the server does not wait for running requests.
func TestSecondSignalExitsAtOnce(t *testing.T) {
	t.Parallel()
	s := started(t, "serve", "--data", clinicDir(t), "--listen", "127.0.0.1:0")
	underWay(t, s)
	askedToStop(t, s)
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := s.ended(t); code != -1 { // 0 if it waited for running requests
		t.Errorf("exit code: got %d, want the end by a signal", code)
	}
}

// served runs a server on a free port until the test ends.
func served(t *testing.T, dir string, args ...string) (h *house, base string, stop context.CancelFunc,
	ended <-chan error) {
	t.Helper()
	cfg, _, err := resolved(t, nil, append([]string{"--data", dir}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	h, err = openHouse(t.Context(), cfg, houseOptions{version: "test", log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done, finished := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(finished)
		done <- errors.Join(h.serve(ctx, listener), h.close())
	}()
	t.Cleanup(func() {
		stop()
		<-finished // the server still writes into the directory while it stops, and the test removes the directory next
	})
	return h, "http://" + listener.Addr().String(), stop, done
}

// TestServeEndsWithItsContext: when its context ends, the server stops without an error and releases the directory.
func TestServeEndsWithItsContext(t *testing.T) {
	t.Parallel()
	dir := clinicDir(t)
	_, base, stop, ended := served(t, dir)
	if err := healthcheck(t.Context(), base); err != nil {
		t.Error(err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("got %v, want nil", err)
	}
	d, err := openDataDir(dir, time.Now(), 0)
	if err != nil {
		t.Fatal(err)
	}
	d.close()
}

// TestFailedStorageStopsServer: after a storage failure, the server exits with an error, so that a supervisor restarts
// it.
func TestFailedStorageStopsServer(t *testing.T) {
	t.Parallel()
	h, _, _, ended := served(t, clinicDir(t))
	broken := errors.New("the disk went away")
	h.fail(broken)
	h.fail(errors.New("and again")) // does not block
	select {
	case err := <-ended:
		if !errors.Is(err, broken) {
			t.Errorf("got %v, want it to wrap %v", err, broken)
		}
	case <-time.After(10 * time.Minute):
		t.Error("the server still runs")
	}
}

// TestAddressInUseIsExplained: the error explains an address that is in use. The server releases the data directory and
// creates no database.
func TestAddressInUseIsExplained(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	dir := clinicDir(t)
	for range 2 {
		got := command(t, nil, "", "serve", "--data", dir, "--listen", taken.Addr().String())
		if got.code != 1 {
			t.Errorf("exit code: got %d, want 1", got.code)
		}
		contains(t, "message", got.stderr, taken.Addr().String(), "in use by another program", "--listen")
	}
	empty := filepath.Join(t.TempDir(), "data")
	if got := command(t, nil, "", "serve", "--data", empty, "--listen", taken.Addr().String()); got.code != 1 ||
		hasDatabase(empty) {
		t.Errorf("without a database: exit code %d, created a database: %v; want 1 and none", got.code,
			hasDatabase(empty))
	}
}

// TestTCPListenerHasNoAdminRoutes: the routes of the local socket are not reachable over the network.
func TestTCPListenerHasNoAdminRoutes(t *testing.T) {
	t.Parallel()
	_, base, _, _ := served(t, clinicDir(t))
	for _, path := range []string{"/api-keys", "/export", "/import", "/backups", "/check"} {
		status, body := get(t, base+path, "")
		var keys []apiKeyBody
		if json.Unmarshal([]byte(body), &keys) == nil || strings.Contains(body, "Harbour") {
			t.Errorf("GET %s over TCP: got %d %s", path, status, body)
		}
	}
}

// TestReachable: a server that listens on all addresses is called on loopback.
func TestReachable(t *testing.T) {
	t.Parallel()
	for listen, want := range map[string]string{
		":8788": "127.0.0.1:8788", "0.0.0.0:80": "127.0.0.1:80", "[::]:8788": "[::1]:8788",
		"192.168.1.5:8788": "192.168.1.5:8788",
	} {
		if got := reachable(listen); got != want {
			t.Errorf("reachable(%s): got %s, want %s", listen, got, want)
		}
	}
}
