package deploy

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"holdfast/cli/clitest"
	"holdfast/engine/enginetest"
)

// portsInARow finds n consecutive free ports.
func portsInARow(t *testing.T, n int) int {
	t.Helper()
	for first := 21000; first < 31000; first += n {
		free := true
		for port := first; port < first+n && free; port++ {
			l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
			if free = err == nil; free {
				l.Close()
			}
		}
		if free {
			return first
		}
	}
	t.Fatal("no free ports")
	return 0
}

// TestClusterOnLoopback starts the servers that `make cluster` starts, and books through its load balancer while a node
// is killed. Ctrl-C ends all processes and leaves no files.
func TestClusterOnLoopback(t *testing.T) {
	clitest.Long(t, "two nodes, PostgreSQL, Redis and nginx")
	postgres, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	_, redis := exec.LookPath("redis-server")
	_, nginx := os.Stat("/usr/sbin/nginx")
	if len(postgres) == 0 || redis != nil || nginx != nil {
		t.Skip("SKIPPED: the cluster; apt-get install postgresql redis-server nginx-light")
	}
	clinic := filepath.Join(t.TempDir(), "clinic.json")
	if err := os.WriteFile(clinic, openClinic, 0o600); err != nil {
		t.Fatal(err)
	}
	port := portsInARow(t, 3)
	run := exec.Command("cluster/run")
	run.Env = append(os.Environ(), "HOLDFAST="+clitest.Program(t), "PORT="+strconv.Itoa(port), "CLINIC="+clinic)
	var failed bytes.Buffer
	run.Stderr = &failed
	out, err := run.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	said := ""
	for lines := bufio.NewScanner(out); !strings.Contains(said, "Ctrl-C") && lines.Scan(); {
		said += lines.Text() + "\n"
	}
	stopped := false
	stop := func() {
		if !stopped {
			stopped = true
			_ = run.Process.Signal(syscall.SIGINT)
			_, _ = io.Copy(io.Discard, out)
			_ = run.Wait()
		}
	}
	defer stop()
	kill := regexp.MustCompile(`kill -9 (\d+)`).FindStringSubmatch(said)
	logs := regexp.MustCompile(`logs +(\S+)/\*\.log`).FindStringSubmatch(said)
	key := regexp.MustCompile(`admin key +(\S+)`).FindStringSubmatch(said)
	if kill == nil || logs == nil || key == nil {
		t.Fatalf("it printed %s\n%s", said, failed.Bytes())
	}
	ask := func(n int) *http.Response {
		t.Helper()
		body := fmt.Sprintf(`{"clientId":"a-client-secret-%08d","slotStartDate":%q,"patient":{"name":"Jo Doe","phone":"030 1234567"}}`,
			n, enginetest.Noon(time.UTC, 2).Add(time.Duration(n)*30*time.Minute).Format(time.RFC3339))
		q, err := http.NewRequest(http.MethodPost, fmt.Sprintf("http://127.0.0.1:%d/v1/appointment-types/checkup/book",
			port), strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Content-Type", "application/json")
		q.Header.Set("Idempotency-Key", fmt.Sprintf("booking-of-the-test-%08d", n))
		q.Header.Set("Authorization", "Bearer "+key[1]) // the number of public bookings from one address is limited
		r, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	book := func(n int) {
		t.Helper()
		r := ask(n)
		// The node was killed while it had the request. A page repeats such a request with its key.
		if r.StatusCode == http.StatusBadGateway {
			r.Body.Close()
			r = ask(n)
		}
		defer r.Body.Close()
		if answer, _ := io.ReadAll(r.Body); r.StatusCode != http.StatusCreated ||
			r.Header.Get("Holdfast-Change") == "" {
			t.Errorf("booking %d: got %d %s, %v; want 201 of one of several nodes", n, r.StatusCode, answer, r.Header)
		}
	}
	for n := range 10 {
		book(n)
	}
	pid, err := strconv.Atoi(kill[1])
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for n := range 10 {
		book(10 + n)
	}
	stop()
	if _, err := os.Stat(logs[1]); !os.IsNotExist(err) {
		t.Errorf("%s still exists after Ctrl-C: %v", logs[1], err)
	}
	for p := port; p < port+3; p++ {
		if c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", p)); err == nil {
			c.Close()
			t.Errorf("a process still listens on %d", p)
		}
	}
}

// openClinic is the file of a clinic that never closes.
var openClinic = []byte(`{"clinic":{"name":"Harbour Clinic","timezone":"UTC","locale":"en"},
 "specialists":[{"id":"ada","name":"Dr Ada","timezone":"UTC","weeklyHours":[` + func() string {
	var days []string
	for day := range 7 {
		days = append(days, fmt.Sprintf(`{"weekday":%q,"start":"00:00","end":"24:00"}`,
			strings.ToLower(time.Weekday(day).String())))
	}
	return strings.Join(days, ",")
}() + `]}],
 "appointmentTypes":[{"id":"checkup","name":"Check-up","durationMinutes":30,"slotStepMinutes":30,"cooldownMinutes":0,"horizonDays":60,
   "specialists":[{"specialistId":"ada","priority":1}]}]}`)

// TestComposeFileIsConsistent checks compose.yaml without a container daemon. Everything that a service names is
// declared, the settings exist, and the load balancer uses the names of the nodes.
func TestComposeFileIsConsistent(t *testing.T) {
	b, err := os.ReadFile("compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	section := func(name string) (keys []string) {
		_, rest, found := strings.Cut(text, "\n"+name+":\n")
		if !found {
			t.Fatalf("the section %s is missing", name)
		}
		for _, line := range strings.Split(rest, "\n") {
			if m := regexp.MustCompile(`^  ([a-z0-9-]+):`).FindStringSubmatch(line); m != nil {
				keys = append(keys, m[1])
			} else if line != "" && line[0] != ' ' {
				break
			}
		}
		return keys
	}
	services, volumes, secrets := section("services"), section("volumes"), section("secrets")
	if want := []string{"node1", "node2", "keys", "balancer", "postgres", "valkey"}; !slices.Equal(services, want) {
		t.Errorf("services: got %v, want %v", services, want)
	}
	for _, m := range regexp.MustCompile(`"([a-z0-9-]+):/`).FindAllStringSubmatch(text, -1) {
		if !slices.Contains(volumes, m[1]) {
			t.Errorf("the volume %s is not declared", m[1])
		}
	}
	for _, m := range regexp.MustCompile(`"(\./[^:"]+):`).FindAllStringSubmatch(text, -1) {
		if _, err := os.Stat(m[1]); err != nil {
			t.Error(err)
		}
	}
	for _, m := range regexp.MustCompile(`/run/secrets/([a-z-]+)`).FindAllStringSubmatch(text, -1) {
		if !slices.Contains(secrets, m[1]) || !strings.Contains(text, "secrets: ["+m[1]+"]") {
			t.Errorf("the secret %s is not declared, or no service that reads it gets it", m[1])
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^ +([a-z0-9]+): \{condition:`).FindAllStringSubmatch(text, -1) {
		if !slices.Contains(services, m[1]) {
			t.Errorf("a service depends on %s, which is not a service", m[1])
		}
	}
	balancer, err := os.ReadFile("cluster/nginx.conf")
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range []string{"node1", "node2"} {
		if strings.Count(string(balancer), "server "+node+":8788") != 1 {
			t.Errorf("the load balancer does not have %s", node)
		}
	}

	// The program itself reports whether the settings exist: it warns about an unknown HOLDFAST_*.
	show := exec.Command(clitest.Program(t), "config", "print")
	show.Dir = t.TempDir()
	secret := filepath.Join(show.Dir, "database-url")
	if err := os.WriteFile(secret, []byte("postgres://holdfast:x@postgres/holdfast?sslmode=disable"),
		0o600); err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, m := range regexp.MustCompile(`(?m)^    (HOLDFAST_[A-Z_]+): (\S+)$`).FindAllStringSubmatch(text, -1) {
		show.Env = append(show.Env, m[1]+"="+strings.Replace(m[2], "/run/secrets/database-url", secret, 1))
		found++
	}
	var warned bytes.Buffer
	show.Stderr = &warned
	if said, err := show.Output(); err != nil || found < 5 || warned.Len() > 0 ||
		!strings.Contains(string(said), "HOLDFAST_REDIS") {
		t.Errorf("config print with its %d settings: %v\n%s", found, err, warned.Bytes())
	}
}
