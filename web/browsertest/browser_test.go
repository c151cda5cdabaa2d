// Package browsertest tests the pages of patients, receptionists and owners. It runs the real server, engine, database
// and table of holds, and a real Chromium. It repeats the journeys in a real Firefox. The package contains only tests.
//
// house is the clinic (house_test.go). tab is one tab of a browser (tab_test.go), with the same methods for every
// browser (driver_test.go, chromium_test.go, foxtab_test.go). journey_test.go lists the tests that also run in Firefox.
// The other files test the guarantees of the pages, by subject. All tests share one browser process. Each tab is a
// window with its own profile. The profile is emptied before another test gets the window, because creating a window
// takes longer than most tests. Every tab is watched: an exception, an error on the console, a violation of the content
// security policy or a request to any other server fails its test.
//
// No test fails because the machine is slow. Each test waits for the expected state of the page, for at most the
// duration patience. Measured times are logged. If no browser is installed, the tests are skipped with a message.
//
// With HOLDFAST_SHOTS=<folder>, the tests also write pictures of the pages to that folder, in both themes.
package browsertest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/css"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"holdfast/cli/clitest"
)

// patience is the longest time that a test waits for a condition. It is long because the machine may be busy.
const patience = 4 * time.Minute

var errNoBrowser = errors.New(
	"no Chromium is installed (Debian: apt-get install chromium-headless-shell), so no page is tested")

// chromium is the one browser of this package. It starts with the first test that needs it and ends with the last.
var chromium = new(browser)

type browser struct {
	start sync.Once
	ctx   context.Context
	stop  func()
	err   error

	mu   sync.Mutex
	idle []window
}

// window is a tab with its own profile.
type window struct {
	ctx   context.Context
	close func()
}

// window returns an empty window: one that an earlier test has used, or a new one.
func (b *browser) window(t testing.TB) window {
	t.Helper()
	ctx := b.open(t)
	b.mu.Lock()
	if n := len(b.idle); n > 0 {
		defer b.mu.Unlock()
		w := b.idle[n-1]
		b.idle = b.idle[:n-1]
		return w
	}
	b.mu.Unlock()
	own, closeIt := chromedp.NewContext(ctx, chromedp.WithNewBrowserContext())
	// The window exists as long as the context of its first call. CSS and DOM events are turned off, because the tests
	// query the page itself.
	if err := chromedp.Do(own, command(css.Disable, cdp.Empty{}), command(dom.Disable, cdp.Empty{})); err != nil {
		closeIt()
		t.Fatalf("no window: %v", err)
	}
	return window{own, closeIt}
}

// giveBack empties a window for the next test. It closes a window that cannot be emptied.
func (b *browser) giveBack(w window) {
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	const forget = `try { sessionStorage.clear(); localStorage.clear() } catch {}`
	err := chromedp.Do(ctx,
		chromedp.Evaluate[chromedp.Void](forget), command(network.ClearBrowserCookies, cdp.Empty{}),
		chromedp.Navigate("about:blank"), connection(true),
	)
	if err != nil {
		w.close()
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.idle = append(b.idle, w)
}

// crowd is the number of tests that run concurrently. It is larger than the number of processors, because tests mostly
// wait.
const crowd = "6"

func TestMain(m *testing.M) {
	flag.Parse()
	asked := false
	flag.Visit(func(f *flag.Flag) { asked = asked || f.Name == "test.parallel" })
	if !asked {
		_ = flag.Set("test.parallel", crowd) // every test binary has this flag
	}
	code := m.Run()
	if errors.Is(chromium.err, errNoBrowser) {
		fmt.Fprintln(os.Stderr, "browsertest: SKIPPED:", chromium.err)
	}
	if chromium.stop != nil {
		chromium.stop()
	}
	if errors.Is(firefox.err, errNoFirefox) {
		fmt.Fprintln(os.Stderr, "browsertest: SKIPPED:", firefox.err)
	}
	if firefox.stop != nil {
		firefox.stop()
	}
	if errors.Is(webkit.err, errNoWebKit) {
		fmt.Fprintln(os.Stderr, "browsertest: SKIPPED:", webkit.err)
	}
	if webkit.stop != nil {
		webkit.stop()
	}
	os.Exit(code)
}

// open starts the browser if it is not running yet.
func (b *browser) open(t testing.TB) context.Context {
	t.Helper()
	if testing.Short() {
		t.Skip("short run: no browser")
	}
	b.start.Do(func() { b.ctx, b.stop, b.err = launch() })
	if errors.Is(b.err, errNoBrowser) {
		t.Skip("SKIPPED: ", b.err)
	}
	if b.err != nil {
		t.Fatalf("Chromium does not start: %v", b.err)
	}
	return b.ctx
}

func launch() (context.Context, func(), error) {
	program, err := installed()
	if err != nil {
		return nil, nil, err
	}
	flags := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Env("TZ=UTC"),
		chromedp.Flag("accept-lang", "en-GB,en"), chromedp.Flag("hide-scrollbars", true),
		// The name is not localhost, so its pages are not a secure context, as on a clinic's local network.
		chromedp.Flag("host-resolver-rules", "MAP "+lanName+" 127.0.0.1"),
		chromedp.Flag("disable-features", strings.Join(withoutFeatures, ",")),
	)
	if !clitest.IsLong() { // .ci/run also tests the pages with compilers
		flags = append(flags, chromedp.Flag("js-flags", withoutCompilers))
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(), flags...)
	ctx, _ := chromedp.NewContext(allocator)
	if err := chromedp.Do(ctx); err != nil {
		stop()
		return nil, nil, err
	}
	return ctx, func() {
		_ = chromedp.Cancel(ctx)
		stop()
	}, nil
}

// withoutFeatures lists features of Chromium that no test needs. chromedp disables the first two by default. The next
// three load a page of 190 scripts into each window for the suggestions of the address bar. The last one keeps a spare
// process for the next page. Without the last four, the tests take a quarter less processor time.
var withoutFeatures = []string{
	"Translate", "BlinkGenPropertyTrees",
	"WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "WebUIOmniboxFullPopup", "SpareRendererForSitePerProcess",
}

// withoutCompilers turns off the compilers of Chromium's JavaScript engine. A page of a test is open too short for
// compiled functions to save the time that their compilation takes. Scripts do the same without compilers.
const withoutCompilers = "--no-sparkplug --no-maglev --no-opt"

// lanName is the host name of a server without TLS in a clinic's network.
const lanName = "desk.clinic.test"

// installed returns the path of Chromium. It prefers the headless shell, which has the same engine but no desktop
// windows. Such windows would take a quarter of the processor time of the tests.
func installed() (string, error) {
	for _, name := range []string{"chromium-headless-shell", "/usr/bin/chromium", "chromium", "chromium-browser",
		"google-chrome-stable", "google-chrome"} {
		if program, err := exec.LookPath(name); err == nil {
			return program, nil
		}
	}
	return "", errNoBrowser
}
