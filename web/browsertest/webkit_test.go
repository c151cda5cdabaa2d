package browsertest

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"holdfast/cli/clitest"
)

// WebKit is the engine of Safari, and of every browser on an iPhone. Debian's WebKitGTK is the same engine with other
// windows, fonts and video. It speaks only the first WebDriver protocol, which reports no errors, requests or policy
// violations of a page, and cannot change colours or the network. A journey that needs one of these is skipped.

var (
	errNoWebKit = errors.New(
		"no WebKit is installed (Debian: apt-get install webkit2gtk-driver xvfb openbox), so no page is tested in it")
	errUnsupported = errors.New("the WebDriver of WebKit cannot do that")
)

// miniBrowser finds WebKit's own small browser.
const miniBrowser = "/usr/lib/*/webkit2gtk-4.1/MiniBrowser"

// webkit is the X server of all WebKit windows. It starts with the first test that needs it and ends with the last.
var webkit = new(webkitScreen)

type webkitScreen struct {
	start   sync.Once
	err     error
	stop    func()
	display string // as ":7"
	browser string
	home    string // with settings that turn animations off
}

func (b *webkitScreen) open(t testing.TB) {
	t.Helper()
	clitest.Long(t, "WebKit repeats the journeys of Chromium")
	b.start.Do(func() { b.err = b.launch() })
	if errors.Is(b.err, errNoWebKit) {
		t.Skip("SKIPPED: ", b.err)
	}
	if b.err != nil {
		t.Fatalf("WebKit does not start: %v", b.err)
	}
}

func (b *webkitScreen) launch() error {
	screen, err := exec.LookPath("Xvfb")
	if err != nil {
		return errNoWebKit
	}
	found, _ := filepath.Glob(miniBrowser) // the pattern is valid
	if len(found) == 0 {
		return errNoWebKit
	}
	for _, program := range []string{"WebKitWebDriver", "openbox"} {
		if _, err := exec.LookPath(program); err != nil {
			return errNoWebKit
		}
	}
	b.browser = found[0]
	if b.home, err = os.MkdirTemp("", "holdfast-webkit-"); err != nil {
		return err
	}
	gtk := filepath.Join(b.home, "gtk-3.0")
	if err := os.MkdirAll(gtk, 0o700); err != nil {
		return err
	}
	const still = "[Settings]\ngtk-enable-animations=0\n"
	if err := os.WriteFile(filepath.Join(gtk, "settings.ini"), []byte(still), 0o600); err != nil {
		return err
	}
	said, tell, err := os.Pipe()
	if err != nil {
		return err
	}
	run := exec.Command("/bin/sh", "-c", leash, "sh", screen, "-displayfd", "3", "-screen", "0", "2000x1600x24",
		"-nolisten", "tcp")
	run.Env = append(os.Environ(), "PROFILE="+b.home)
	run.ExtraFiles = []*os.File{tell}
	end, err := run.StdinPipe()
	if err != nil {
		return err
	}
	if err := run.Start(); err != nil {
		return err
	}
	_ = tell.Close()
	b.stop = func() {
		_ = end.Close()
		_ = run.Wait()
	}
	var number int
	if _, err := fmt.Fscan(said, &number); err != nil {
		return fmt.Errorf("Xvfb names no display: %w", err)
	}
	b.display = fmt.Sprintf(":%d", number)
	// A page has the focus only in an active window, and only a window manager makes windows active.
	manager := exec.Command("openbox", "--sm-disable")
	manager.Env = append(os.Environ(), "DISPLAY="+b.display, "XDG_CONFIG_HOME="+b.home)
	return manager.Start() // it ends with the X server
}

// aboutWebKit reports whether a test is a subtest of TestInWebKit, which runs in WebKit.
func aboutWebKit(t testing.TB) bool { return strings.HasPrefix(t.Name(), "TestInWebKit/") }

// webkitTab opens a window with its own cookies and storage. It has its own WebDriver, because a WebDriver of WebKit
// has only one session.
func (h *house) webkitTab(t testing.TB) *tab {
	t.Helper()
	webkit.open(t)
	port := clitest.Port(t)
	run := exec.Command("/bin/sh", "-c", leash, "sh", "WebKitWebDriver", "--host=127.0.0.1",
		fmt.Sprintf("--port=%d", port))
	// Without a locale, WebKit names the language C, which no date format takes.
	run.Env = append(os.Environ(), "DISPLAY="+webkit.display, "TZ=UTC", "LANG=en_GB.UTF-8", "LC_ALL=en_GB.UTF-8",
		"LANGUAGE=en_GB", "XDG_CONFIG_HOME="+webkit.home,
		"GDK_BACKEND=x11", "LIBGL_ALWAYS_SOFTWARE=1")
	end, err := run.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	s := &webkitSession{base: fmt.Sprintf("http://127.0.0.1:%d/session", port)}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := s.begin(ctx); err != nil {
		_ = end.Close()
		t.Fatalf("no window: %v", err)
	}
	return h.watchWebKit(t, s, s.handle, func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_ = s.call(ctx, http.MethodDelete, "", nil, nil)
		_ = end.Close()
		_ = run.Wait()
	})
}

func (h *house) watchWebKit(t testing.TB, s *webkitSession, handle string, done func()) *tab {
	t.Helper()
	p := h.newTab(t)
	p.ctx, p.driver = context.Background(), webkitTab{p, s, handle}
	return p.watched(func() {}, done)
}

// webkitSession is a session of the WebDriver protocol, with one or more windows.
type webkitSession struct {
	mu     sync.Mutex
	base   string // the address of the session
	handle string // the window that the next call is about
}

// begin repeats the first call until the WebDriver listens.
func (s *webkitSession) begin(ctx context.Context) error {
	wanted := object{"capabilities": object{"alwaysMatch": object{
		// With the other strategies, each command waits for the frames of a page, and a live stream keeps them loading.
		"pageLoadStrategy": "none", "unhandledPromptBehavior": "accept",
		"timeouts":                 object{"script": patience.Milliseconds()},
		"webkitgtk:browserOptions": object{"binary": webkit.browser, "args": []string{"--automation"}},
	}}}
	var made struct{ SessionID string }
	for {
		err := s.call(ctx, http.MethodPost, "", wanted, &made)
		if err == nil {
			break
		}
		if ctx.Err() != nil || !errors.Is(err, errNotListening) {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
	s.base += "/" + made.SessionID
	return s.call(ctx, http.MethodGet, "/window", nil, &s.handle)
}

var errNotListening = errors.New("the WebDriver does not answer")

func (s *webkitSession) call(ctx context.Context, method, path string, body, result any) error {
	var raw io.Reader
	if method == http.MethodPost {
		if body == nil {
			body = object{}
		}
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		raw = bytes.NewReader(text)
	}
	ask, err := http.NewRequestWithContext(ctx, method, s.base+path, raw)
	if err != nil {
		return err
	}
	reply, err := http.DefaultClient.Do(ask)
	if err != nil {
		return fmt.Errorf("%w: %w", errNotListening, err)
	}
	defer reply.Body.Close()
	var answer struct{ Value json.RawMessage }
	if err := json.NewDecoder(reply.Body).Decode(&answer); err != nil {
		return err
	}
	if reply.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s", method, path, answer.Value)
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(answer.Value, result)
}

// webkitTab drives one window of a session.
type webkitTab struct {
	p       *tab
	session *webkitSession
	handle  string
}

// call makes the window the current one, then makes the call.
func (d webkitTab) call(ctx context.Context, method, path string, body, result any) error {
	d.session.mu.Lock()
	defer d.session.mu.Unlock()
	if d.session.handle != d.handle {
		if err := d.session.call(ctx, http.MethodPost, "/window", object{"handle": d.handle}, nil); err != nil {
			return err
		}
		d.session.handle = d.handle
	}
	return d.session.call(ctx, method, path, body, result)
}

// evaluate runs an expression, or the statements of run, as the body of a function, because the policy of the pages
// forbids eval.
func (d webkitTab) evaluate(ctx context.Context, script string) ([]byte, error) {
	body, is := strings.CutSuffix(script, "\n;void 0")
	if !is {
		body = "return (" + strings.TrimSuffix(strings.TrimSpace(script), ";") + "\n)"
	}
	script = `const done = arguments[arguments.length - 1]
		;(async () => {` + body + `
		})().then(v => done({ v: JSON.stringify(v) ?? null }), e => done({ e: String(e) }))`
	var said struct {
		V *string
		E string
	}
	err := d.call(ctx, http.MethodPost, "/execute/async", object{"script": script, "args": []any{}}, &said)
	if err == nil && said.E != "" {
		err = errors.New(said.E)
	}
	if err != nil || said.V == nil {
		return nil, err
	}
	return []byte(*said.V), nil
}

func (d webkitTab) open(ctx context.Context, address string) error {
	return d.navigate(ctx, "/url", object{"url": address}, address)
}

func (d webkitTab) reload(ctx context.Context) error {
	return d.navigate(ctx, "/refresh", nil, "")
}

// navigate makes a call that replaces the document, and waits for the new document. An address that differs from the
// current one only after its # replaces nothing.
func (d webkitTab) navigate(ctx context.Context, path string, body any, address string) error {
	raw, err := d.evaluate(ctx, `(window.isOld = true, location.href)`)
	if err != nil {
		return err
	}
	if err := d.call(ctx, http.MethodPost, path, body, nil); err != nil {
		return err
	}
	before, _, _ := strings.Cut(strings.Trim(string(raw), `"`), "#")
	if page, _, is := strings.Cut(address, "#"); is && page == before {
		return nil
	}
	for ctx.Err() == nil {
		if raw, err := d.evaluate(ctx, `!window.isOld && document.readyState !== 'loading'`); err == nil &&
			string(raw) == "true" {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return ctx.Err()
}

func (d webkitTab) everyDocument(context.Context, string) error { return errUnsupported }

func (d webkitTab) opened(ctx context.Context) (*tab, error) {
	var all []string
	if err := d.call(ctx, http.MethodGet, "/window/handles", nil, &all); err != nil {
		return nil, err
	}
	for _, handle := range all {
		if handle != d.handle {
			return d.p.h.watchWebKit(d.p.t, d.session, handle, func() {}), nil
		}
	}
	return nil, nil
}

func (d webkitTab) mouse(ctx context.Context, kind mouse, x, y float64) error {
	steps := []object{{"type": "pointerMove", "duration": 0, "x": int(x), "y": int(y)}}
	if named := map[mouse]string{mouseDown: "pointerDown", mouseUp: "pointerUp"}[kind]; named != "" {
		steps = append(steps, object{"type": named, "button": 0})
	}
	return d.perform(ctx, object{"type": "pointer", "id": "mouse", "actions": steps})
}

func (d webkitTab) perform(ctx context.Context, action object) error {
	return d.call(ctx, http.MethodPost, "/actions", object{"actions": []object{action}}, nil)
}

func (d webkitTab) key(ctx context.Context, k *kb.Key, modifiers int64) error {
	steps, err := webdriverPress(k, modifiers)
	if err != nil {
		return err
	}
	return d.perform(ctx, object{"type": "key", "id": "keys", "actions": steps})
}

func (d webkitTab) write(ctx context.Context, text string) error {
	return d.perform(ctx, object{"type": "key", "id": "keys", "actions": webdriverText(text)})
}

// size sets the size of the window so that the page has the wanted size.
func (d webkitTab) size(ctx context.Context, width, height int64) error {
	for range 3 {
		raw, err := d.evaluate(ctx, `[innerWidth, innerHeight]`)
		if err != nil {
			return err
		}
		var inner [2]int64
		if err := json.Unmarshal(raw, &inner); err != nil {
			return err
		}
		if inner == [2]int64{width, height} {
			return nil
		}
		var is struct{ Width, Height int64 }
		if err := d.call(ctx, http.MethodGet, "/window/rect", nil, &is); err != nil {
			return err
		}
		wanted := object{"x": 0, "y": 0, "width": is.Width + width - inner[0], "height": is.Height + height - inner[1]}
		if err := d.call(ctx, http.MethodPost, "/window/rect", wanted, nil); err != nil {
			return err
		}
	}
	return nil
}

func (d webkitTab) colours(_ context.Context, scheme string, forced bool) error {
	if scheme != "light" || forced {
		return errUnsupported
	}
	return nil
}

func (d webkitTab) network(context.Context, bool) error { return errUnsupported }

func (d webkitTab) forget(ctx context.Context) error {
	return d.call(ctx, http.MethodDelete, "/cookie", nil, nil)
}

func (d webkitTab) picture(ctx context.Context) ([]byte, error) {
	var shot string
	if err := d.call(ctx, http.MethodGet, "/screenshot", nil, &shot); err != nil {
		return nil, err
	}
	return base64.StdEncoding.DecodeString(shot)
}

// notInWebKit are the journeys that cannot run in WebKit, with the reason.
var notInWebKit = map[string]string{
	"TestPolicyViolationFailsTest":  "the WebDriver does not report violations",
	"TestUnlistedSiteCannotEmbed":   "the WebDriver does not report violations",
	"TestPatientBooksOverPlainHTTP": "the host name of the clinic's network is not known",
	"TestPatientBooksAt400Percent":  "a window is at least 447 points wide",
	"TestDuplicatedTabIsNewClient":  "a page cannot open a window",
	"TestHoldGreysTimeForOthers":    "WebKit stores the page that a patient leaves, so the hold stays until it expires",
}

// TestInWebKit runs the journeys one after another, because only one window can have the focus.
func TestInWebKit(t *testing.T) {
	t.Parallel()
	webkit.open(t)
	for _, j := range journeys {
		t.Run(j.name, func(t *testing.T) {
			if why := notInWebKit[j.name]; why != "" {
				t.Skip(why)
			}
			t.Run("again", j.run)
		})
	}
}
