package deploy

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/cli/clitest"
)

// tool returns the path of a program from Debian's prometheus package. If the program is missing, tool skips the test,
// with a message about the part that is not tested.
func tool(t *testing.T, name string) string {
	t.Helper()
	clitest.Long(t, "Prometheus is installed for it")
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("SKIPPED: %s is not installed (apt-get install prometheus), so Prometheus did not check deploy/", name)
	}
	return path
}

// TestPromtoolAcceptsRules: promtool accepts the syntax of the rules, and the scenarios in alerts_test.yml pass.
func TestPromtoolAcceptsRules(t *testing.T) {
	promtool := tool(t, "promtool")
	for _, args := range [][]string{{"check", "rules", "alerts.yml"}, {"test", "rules", "alerts_test.yml"}} {
		c := exec.Command(promtool, args...)
		c.Dir = "prometheus"
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// TestPrometheusAnswersQueries lets Prometheus scrape a live server and sends it every query of the dashboard and the
// alerts. Every query of the dashboard returns data, and no alert fires on this healthy server.
func TestPrometheusAnswersQueries(t *testing.T) {
	p := startPrometheus(t, tool(t, "prometheus"), newHouse(t))
	for _, q := range dashboard(t) {
		n, err := p.shown(q.expr)
		if err != nil {
			t.Errorf("the dashboard, %s: %v\n\t%s", q.where, err, q.expr)
		} else if n == 0 && !strings.Contains(q.expr, "> 0") {
			t.Errorf("the dashboard, %s: no data\n\t%s", q.where, q.expr)
		}
	}
	for _, q := range alerts(t) {
		n, err := p.query(q.expr)
		if err != nil {
			t.Errorf("the alerts, %s: %v\n\t%s", q.where, err, q.expr)
		} else if n > 0 && q.where != "HoldfastBackupOld" { // this server has no backup
			t.Errorf("the alert %s fires on a healthy server\n\t%s", q.where, q.expr)
		}
	}
}

// prometheus is a running Prometheus that scrapes a house.
type prometheus struct{ url string }

// startPrometheus starts Prometheus, generates some activity on the house, and waits until
// Prometheus has scraped it.
func startPrometheus(t *testing.T, binary string, h *house) *prometheus {
	t.Helper()
	dir := t.TempDir()
	config := fmt.Sprintf("global: {scrape_interval: 500ms, scrape_timeout: 500ms, evaluation_interval: 1s}\nscrape_configs: [{job_name: holdfast, static_configs: [{targets: [%q]}]}]\n", strings.TrimPrefix(h.url, "http://"))
	file := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprintf("127.0.0.1:%d", clitest.Port(t))
	c := exec.Command(binary, "--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address="+address, "--log.level=error")
	var said strings.Builder
	c.Stdout, c.Stderr = &said, &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
		if t.Failed() {
			t.Logf("prometheus said:\n%s", said.String())
		}
	})
	p := &prometheus{"http://" + address}
	p.until(t, `count_over_time(up{job="holdfast"}[1m]) >= 2`)
	h.bustle()
	p.until(t, `rate(holdfast_bookings_total{source="web"}[5m]) > 0 and on (job) count_over_time(holdfast_http_route_seconds_total{route="POST /v1/appointment-types/{id}/book"}[1m]) >= 3`)
	return p
}

// shown repeats a query until there is a result, for at most a minute. If the last scrape took too long, there is no
// result for a moment.
func (p *prometheus) shown(expr string) (n int, err error) {
	for end := time.Now().Add(10 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
		if n, err = p.query(expr); err != nil || n > 0 || strings.Contains(expr, "> 0") || time.Now().After(end) {
			return n, err
		}
	}
}

// until repeats a query until there is a result, for at most two minutes.
func (p *prometheus) until(t *testing.T, expr string) {
	t.Helper()
	var err error
	for end := time.Now().Add(10 * time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		var n int
		if n, err = p.query(expr); err == nil && n > 0 {
			return
		}
	}
	t.Fatalf("Prometheus never scraped %s: %v", expr, err)
}

// query returns the number of series that an expression has now.
func (p *prometheus) query(expr string) (int, error) {
	reply, err := http.Get(p.url + "/api/v1/query?query=" + url.QueryEscape(expr))
	if err != nil {
		return 0, err
	}
	defer reply.Body.Close()
	var answer struct {
		Status, Error string
		Data          struct{ Result []json.RawMessage }
	}
	if err := json.NewDecoder(reply.Body).Decode(&answer); err != nil {
		return 0, err
	}
	if answer.Status != "success" {
		return 0, fmt.Errorf("%s", answer.Error)
	}
	return len(answer.Data.Result), nil
}
