package browsertest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/cli/clitest"
)

var errNoFirefox = errors.New("no Firefox is installed (Debian: apt-get install firefox-esr), so no page is tested in it")

// errOldFirefox: Firefox 140 ignores moz:scope, and returns a page instead of its own window.
var errOldFirefox = errors.New("this Firefox is too old, so no page is tested in it (153 is new enough: " +
	"apt-get install firefox-esr)")

// firefox is the one Firefox of this package. It starts with the first test that needs it and ends with the last.
var firefox = new(fox)

type fox struct {
	start sync.Once
	stop  func()
	err   error

	*bidi
	inside string // the browsing context of Firefox's own window, where scripts have more rights than in a page

	fronting sync.Mutex
	front    string      // the browsing context in front
	opened   atomic.Bool // a page has opened another one since front was set

	mu      sync.Mutex
	tabs    map[string]*tab   // by browsing context
	parents map[string]string // of the frames
	openers map[string]string // of the tabs that pages have opened
}

// prefs are the preferences that differ from those of a newly installed Firefox. With them, Firefox asks no questions,
// makes no requests of its own, and reaches the server by the host name that it has in a clinic's network.
var prefs = map[string]any{
	"intl.accept_languages": "en-GB,en", "network.dns.localDomains": lanName, "network.proxy.type": 0,
	"dom.security.https_first": false, "browser.cache.disk.enable": false, "browser.startup.page": 0,
	"browser.aboutwelcome.enabled": false, "extensions.getAddons.showPane": false, "browser.newtabpage.enabled": false,
	"browser.chrome.site_icons": false, "datareporting.policy.dataSubmissionEnabled": false,
	"app.normandy.enabled": false, "ui.prefersReducedMotion": 1,
}

// leash is a shell script that runs a program. It kills the program and deletes the directory PROFILE when the shell's
// input closes. That happens when the test process ends, for whatever reason.
const leash = `trap '' INT; "$@" & read -r _; kill -9 $!; wait; rm -rf "$PROFILE"`

// open starts the browser if it is not running yet.
func (b *fox) open(t testing.TB) {
	t.Helper()
	clitest.Long(t, "Firefox repeats the journeys of Chromium, in ten minutes")
	b.start.Do(func() { b.err = b.launch() })
	if errors.Is(b.err, errNoFirefox) || errors.Is(b.err, errOldFirefox) {
		t.Skip("SKIPPED: ", b.err)
	}
	if b.err != nil {
		t.Fatalf("Firefox does not start: %v", b.err)
	}
}

func (b *fox) launch() error {
	program, err := exec.LookPath("firefox-esr")
	if err != nil {
		if program, err = exec.LookPath("firefox"); err != nil {
			return errNoFirefox
		}
	}
	profile, err := os.MkdirTemp("", "holdfast-firefox-")
	if err != nil {
		return err
	}
	var user strings.Builder
	for name, value := range prefs {
		raw, _ := json.Marshal(value) // a string, a number or a boolean
		fmt.Fprintf(&user, "user_pref(%q, %s);\n", name, raw)
	}
	if err := os.WriteFile(filepath.Join(profile, "user.js"), []byte(user.String()), 0o600); err != nil {
		return err
	}
	run := exec.Command("/bin/sh", "-c", leash, "sh", program, "--headless", "--no-remote", "--profile", profile,
		"--remote-debugging-port=0", "--remote-allow-system-access", "about:blank")
	run.Env = append(os.Environ(), "PROFILE="+profile, "TZ=UTC", "MOZ_CRASHREPORTER_DISABLE=1",
		"MOZ_DISABLE_AUTO_SAFE_MODE=1")
	leashEnd, err := run.StdinPipe()
	if err != nil {
		return err
	}
	said, err := run.StderrPipe()
	if err != nil {
		return err
	}
	if err := run.Start(); err != nil {
		return err
	}
	b.stop = func() {
		_ = leashEnd.Close()
		_ = run.Wait()
	}
	address, err := listening(said)
	if err != nil {
		return err
	}
	return b.connect(address)
}

// listening reads Firefox's output up to the line with the address of BiDi, and discards the rest.
func listening(said io.Reader) (address string, err error) {
	found := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(said)
		for lines.Scan() {
			if _, address, is := strings.Cut(lines.Text(), "WebDriver BiDi listening on "); is {
				found <- address + "/session"
				break
			}
		}
		_, _ = io.Copy(io.Discard, said)
	}()
	select {
	case address := <-found:
		return address, nil
	case <-time.After(patience):
		return "", errors.New("it names no address")
	}
}

// connect begins the session and subscribes to the messages and requests of pages.
func (b *fox) connect(address string) error {
	socket, err := dial(address)
	if err != nil {
		return err
	}
	b.tabs, b.parents, b.openers = make(map[string]*tab), make(map[string]string), make(map[string]string)
	b.bidi = &bidi{socket: socket, event: b.saw, waiting: make(map[int]chan bidiMessage)}
	go b.listen()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	// If a page asks for confirmation before the user leaves it, Firefox confirms automatically.
	asked := object{"capabilities": object{"alwaysMatch": object{"unhandledPromptBehavior": object{"default": "accept"}}}}
	if err := b.call(ctx, "session.new", asked, nil); err != nil {
		return err
	}
	events := []string{"browsingContext.contextCreated", "log.entryAdded", "network.beforeRequestSent",
		"network.responseCompleted"}
	if err := b.call(ctx, "session.subscribe", object{"events": events}, nil); err != nil {
		return err
	}
	var windows struct {
		Contexts []struct {
			Context string
			Scope   string `json:"moz:scope"`
		}
	}
	if err := b.call(ctx, "browsingContext.getTree", object{"moz:scope": "chrome", "maxDepth": 0},
		&windows); err != nil {
		return err
	}
	if len(windows.Contexts) == 0 {
		return errors.New("it has no window")
	}
	if windows.Contexts[0].Scope != "chrome" {
		return errOldFirefox
	}
	b.inside = windows.Contexts[0].Context
	return nil
}

// saw handles every event of every tab.
func (b *fox) saw(method string, params json.RawMessage) {
	var e struct {
		Context, Parent, OriginalOpener string
		Source                          struct{ Context string }
		Level, Type, Text               string
		Request                         struct{ Method, URL string }
		Response                        struct{ BytesReceived float64 }
	}
	_ = json.Unmarshal(params, &e) // missing fields are empty
	b.mu.Lock()
	defer b.mu.Unlock()
	if method == "browsingContext.contextCreated" {
		if e.Parent != "" {
			b.parents[e.Context] = e.Parent
		}
		if e.Parent == "" {
			b.opened.Store(true)
		}
		if e.OriginalOpener != "" {
			b.openers[e.Context] = e.OriginalOpener
		}
		return
	}
	at := e.Context + e.Source.Context
	for b.parents[at] != "" {
		at = b.parents[at]
	}
	p := b.tabs[at]
	if p == nil {
		return
	}
	switch method {
	case "network.beforeRequestSent":
		p.requested(e.Request.Method, e.Request.URL)
	case "network.responseCompleted":
		p.receives(e.Response.BytesReceived)
	case "log.entryAdded":
		if e.Level == "error" || e.Level == "warn" {
			// Chromium's spelling
			said := strings.ReplaceAll(e.Text, "Content-Security-Policy", "Content Security Policy")
			p.complain(fmt.Sprintf("have the browser say (%s) %s", e.Type, said))
		}
	}
}

// bring puts a browsing context in front. Only the window in front has the focus, so the tests in Firefox run one after
// another, and a tab comes to the front when a test uses it.
func (b *fox) bring(ctx context.Context, browsingContext string) error {
	b.fronting.Lock()
	defer b.fronting.Unlock()
	if b.front == browsingContext && !b.opened.Swap(false) { // a page that was opened may come to the front on its own
		return nil
	}
	b.front = ""
	err := b.call(ctx, "browsingContext.activate", object{"context": browsingContext}, nil)
	if err == nil {
		b.front = browsingContext
	}
	return err
}

// aboutFirefox reports whether a test is a subtest of TestInFirefox, which runs in Firefox.
func aboutFirefox(t testing.TB) bool { return strings.HasPrefix(t.Name(), "TestInFirefox/") }

// firefoxTab opens a window with its own cookies and storage.
func (h *house) firefoxTab(t testing.TB) *tab {
	t.Helper()
	firefox.open(t)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var own struct{ UserContext string }
	if err := firefox.call(ctx, "browser.createUserContext", nil, &own); err != nil {
		t.Fatalf("no window: %v", err)
	}
	var made struct{ Context string }
	if err := firefox.call(ctx, "browsingContext.create", object{"type": "window", "userContext": own.UserContext},
		&made); err != nil {
		t.Fatalf("no window: %v", err)
	}
	return h.watchFirefox(t, made.Context, func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := firefox.call(ctx, "browser.removeUserContext", object{"userContext": own.UserContext},
			nil); err != nil {
			t.Errorf("the window does not close: %v", err)
		}
	})
}

// watchFirefox does the same as watch, for a browsing context of Firefox.
func (h *house) watchFirefox(t testing.TB, browsingContext string, done func()) *tab {
	t.Helper()
	p := h.newTab(t)
	p.ctx, p.driver = context.Background(), foxTab{p, browsingContext}
	firefox.mu.Lock()
	firefox.tabs[browsingContext] = p
	firefox.mu.Unlock()
	return p.watched(func() {
		firefox.mu.Lock()
		delete(firefox.tabs, browsingContext)
		firefox.mu.Unlock()
	}, done)
}
