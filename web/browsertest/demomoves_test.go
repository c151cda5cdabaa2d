package browsertest

import (
	"bufio"
	"bytes"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"holdfast/cli/clitest"
)

// startDemo starts the program's demo. It returns a house that has only an address, and the time of the start.
func startDemo(t *testing.T, flags ...string) (*house, time.Time) {
	t.Helper()
	c := exec.Command(clitest.Program(t), append([]string{"demo", "--listen", "127.0.0.1:0"}, flags...)...)
	var complains bytes.Buffer // read after the program has ended
	c.Stderr = &complains
	said, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		_ = c.Wait()
	})
	for lines := bufio.NewScanner(said); lines.Scan(); {
		if _, url, ok := strings.Cut(lines.Text(), "in one window: "); ok {
			return &house{t: t, url: strings.TrimSuffix(url, "/demo")}, began
		}
	}
	err = c.Wait()
	t.Fatalf("the demo did not print its address: %v; it printed %s", err, &complains)
	return nil, began
}

// TestDemoVisitorsBook: the demo's simulated visitors book without a click. Its page opens on today, with free times on
// both phones and a busy day at the desk. On an idle machine, the first change appears within five seconds.
func TestDemoVisitorsBook(t *testing.T) {
	t.Parallel()
	h, began := startDemo(t)
	p := h.tab(t)
	p.size(1600, 1000)
	p.open("/demo?lang=en")
	p.until(`document.querySelectorAll('iframe').length === 3`)
	p.run(`window.left = document.querySelectorAll('iframe')[0], window.desk = document.querySelectorAll('iframe')[1], window.right = document.querySelectorAll('iframe')[2]
		window.today = new Intl.DateTimeFormat('en-CA', { timeZone: JSON.parse(document.getElementById('boot').textContent).clinic.timezone }).format(new Date())`)
	for _, phone := range []string{"left", "right"} {
		p.until(phone + `.contentDocument?.querySelector('.day input:checked')?.value === today && ` + phone +
			`.contentDocument.querySelectorAll('.chip[data-status=free]').length > 3`)
	}
	p.until(`desk.contentDocument?.querySelector('.busywrap:not(.loading) .board i.now') && desk.contentDocument.querySelectorAll('.appt[data-id]').length > 15`)

	// A change is an appointment or a ghost on the desk, or the status of a time on a phone.
	shown := time.Now()
	p.run(`window.looks = () => [...desk.contentDocument.querySelectorAll('.appt')].map(x => x.dataset.id + x.className)
			.concat([left, right].flatMap(f => [...f.contentDocument.querySelectorAll('.chip')].map(x => x.dataset.start + x.dataset.status))).sort().join()
		window.before = looks()`)
	p.until(`looks() !== before`)
	t.Logf("from the start of the program: %v until the page is whole, %v until something moves",
		shown.Sub(began).Round(10*time.Millisecond), time.Since(began).Round(10*time.Millisecond))
	words := ask[string](p, `desk.contentDocument.querySelector('.board').innerHTML`)
	for _, attendance := range []string{"Completed", "In progress", "Arrived"} {
		if !strings.Contains(words, attendance) && !strings.Contains(words, strings.ToLower(attendance)) {
			t.Errorf("the board has no appointment of %s", attendance)
		}
	}
	p.shot("demo-3-by-itself")
}
