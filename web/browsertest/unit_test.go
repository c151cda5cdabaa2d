package browsertest

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// These tests run the unit tests of the pages' state machines, which are in testdata/unit. They run them in Chromium,
// and in Node if it is installed.

// imports maps the names that modules import to the files that a browser loads for them.
var imports = map[string]string{
	"preact": "../ui/vendor/preact.js", "preact/hooks": "../ui/vendor/hooks.js",
	"node:test": "./inbrowser.js", "node:assert/strict": "./inbrowser.js",
}

// unitTests copies the modules of the pages and their tests into one folder, and lists the tests.
func unitTests(t *testing.T) (dir string, names []string) {
	t.Helper()
	dir = t.TempDir()
	for from, to := range map[string]string{"../ui": "ui", "testdata/unit": "unit"} {
		if err := os.CopyFS(filepath.Join(dir, to), os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	writeTexts(t, filepath.Join(dir, "ui", "i18n"))
	files, err := filepath.Glob(filepath.Join(dir, "unit", "*.test.js"))
	if err != nil || len(files) < 4 {
		t.Fatalf("%d tests, %v; want the files of testdata/unit", len(files), err)
	}
	for _, file := range files {
		names = append(names, filepath.Base(file))
	}
	return dir, names
}

// writeTexts writes the scripts of texts, which are built from engine/words, into a directory.
func writeTexts(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	built, err := filepath.Glob("../pages/built/i18n/*.js*")
	if err != nil || len(built) == 0 {
		t.Fatalf("got %d scripts, %v; want the files of web/pages/built/i18n", len(built), err)
	}
	for _, file := range built {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name, isPacked := strings.CutSuffix(filepath.Base(file), ".gz")
		if isPacked {
			packed, err := gzip.NewReader(bytes.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			if text, err = io.ReadAll(packed); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPageStateMachinesInNode(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("SKIPPED: Node is not installed; Chromium runs the same tests")
	}
	dir, names := unitTests(t)
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("package.json", `{"type": "module"}`)
	write("node_modules/preact/package.json",
		`{"type": "module", "exports": {".": "./index.js", "./hooks": "./hooks.js"}}`)
	write("node_modules/preact/index.js", `export * from '../../ui/vendor/preact.js'`)
	write("node_modules/preact/hooks.js", `export * from '../../ui/vendor/hooks.js'`)
	args := []string{"--test"}
	for _, name := range names {
		args = append(args, filepath.Join("unit", name))
	}
	run := exec.CommandContext(t.Context(), node, args...)
	run.Dir = dir
	said, err := run.CombinedOutput()
	if err != nil || !strings.Contains(string(said), "fail 0") {
		t.Fatalf("%v\n%s", err, said)
	}
}

func TestPageStateMachinesInChromium(t *testing.T) {
	t.Parallel()
	dir, names := unitTests(t)
	table, err := json.Marshal(map[string]any{"imports": imports})
	if err != nil {
		t.Fatal(err)
	}
	files := http.FileServer(http.Dir(dir))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, isPage := strings.CutPrefix(r.URL.Path, "/unit/run/")
		if !isPage {
			files.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, `<!doctype html><html lang="en"><title>%s</title><link rel="icon" href="data:,"><base href="/unit/">
<script type="application/json" id="boot">{"clinic": {"name": "Harbour Clinic", "timezone": "Europe/Berlin", "locale": "en"}}</script>
<script type="importmap">%s</script>
<script type="module">import '%s'; import { run } from './inbrowser.js'; run().then(r => { window.result = r })</script></html>`, name, table, "./"+name)
	}))
	t.Cleanup(server.Close)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			h := &house{t: t, url: server.URL}
			p := h.tab(t)
			p.open("/unit/run/" + name)
			p.until(`Boolean(window.result)`)
			got := ask[struct {
				Ran    int
				Failed []string
			}](p, `window.result`)
			if got.Ran == 0 || len(got.Failed) > 0 {
				t.Errorf("%d tests, failed: %s", got.Ran, strings.Join(got.Failed, "\n"))
			}
		})
	}
}
