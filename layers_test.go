package main

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// layers lists the packages of this module that each directory may import; docs/architecture.md draws the same layers. A
// key or an entry that ends in /... stands for all directories below. A directory's own key takes precedence over a key
// of a parent.
var layers = map[string][]string{
	".":           {"cli"},
	"cli/clitest": {},                                                                  // the built program, free ports, and which tests belong to which run
	"cli/demo":    {"web", "engine", "engine/...", "store", "store/postgres", "holds"}, // and the embedded backends in tests
	"cli":         {"cli/demo", "docs", "deploy/systemd", "web", "web/certificate", "engine", "engine/...", "store", "store/...", "holds", "holds/..."},

	// web receives an *engine.Engine. It uses the types and errors of store and holds, but no backend.
	"web":        {"web/fhir", "web/certificate", "web/stream", "web/pages", "web/instant", "engine", "engine/...", "store", "holds", "docs"},
	"web/stream": {"web/instant", "engine/timed", "holds"}, // receives functions of the engine and does not import it
	"web/pages":  {"engine/words"}, "web/instant": {},      // in tests
	"web/pages/join":           {"engine/words"}, // a separate program, run when web/ui or a text changes
	"web/certificate/acmetest": {"cli/clitest"},
	"web/...":                  {}, // also for web/simulation/referee: the judge of the product must not use its code
	"docs":                     {}, // embeds the manual that the server shows
	"docs/site":                {}, // a separate program, run when the manual changes

	// The packages of the engine: each imports only those after it, and record.
	"engine":              {"engine/words", "engine/openid", "engine/busytime", "engine/absence", "engine/waitlist", "engine/report", "engine/sheet", "engine/downtime", "engine/feed", "engine/person", "engine/group", "engine/practice", "engine/agent", "engine/request", "engine/rule", "engine/message", "engine/outbound", "engine/booking", "engine/clinic", "engine/availability", "engine/presence", "engine/account", "engine/record", "engine/notice", "engine/token", "engine/timed", "engine/upstream", "store", "holds"},
	"engine/absence":      {"engine/waitlist", "engine/message", "engine/booking", "engine/clinic", "engine/availability", "engine/record", "store", "holds"},
	"engine/agent":        {"engine/words", "engine/rule", "engine/message", "engine/practice", "engine/outbound", "engine/booking", "engine/clinic", "engine/availability", "engine/record", "engine/token", "engine/timed", "engine/upstream", "store", "holds"},
	"engine/report":       {"engine/clinic", "engine/availability", "engine/record", "store"},
	"engine/feed":         {"engine/message", "engine/booking", "engine/clinic", "engine/record", "store"},
	"engine/busytime":     {"engine/ical", "engine/clinic", "engine/availability", "engine/record", "engine/notice", "engine/token", "engine/timed", "engine/upstream", "store"},
	"engine/rule":         {"engine/clinic", "engine/record", "store"},
	"engine/request":      {"engine/rule", "engine/message", "engine/outbound", "engine/booking", "engine/clinic", "engine/record", "engine/timed", "store", "holds"},
	"engine/message":      {"engine/words", "engine/ical", "engine/token", "engine/outbound", "engine/booking", "engine/clinic", "engine/record", "engine/notice", "engine/sms", "store"},
	"engine/waitlist":     {"engine/request", "engine/message", "engine/outbound", "engine/booking", "engine/clinic", "engine/availability", "engine/record", "engine/timed", "store", "holds"},
	"engine/outbound":     {"engine/booking", "engine/record", "engine/timed", "store"},
	"engine/practice":     {"engine/outbound", "engine/booking", "engine/occupancy", "engine/clinic", "engine/availability", "engine/record", "engine/timed", "engine/upstream", "store"},
	"engine/person":       {"engine/record", "engine/timed", "engine/notice", "store"},
	"engine/group":        {"engine/booking", "engine/occupancy", "engine/clinic", "engine/availability", "engine/record", "store", "holds"},
	"engine/booking":      {"engine/rule", "engine/occupancy", "engine/clinic", "engine/availability", "engine/record", "engine/token", "engine/timed", "store", "holds"},
	"engine/downtime":     {"engine/booking", "engine/clinic", "engine/availability", "engine/record", "store", "holds"},
	"engine/sheet":        {"engine/booking", "engine/clinic", "engine/availability", "engine/record", "store", "holds"},
	"engine/occupancy":    {"engine/clinic", "engine/availability", "engine/record", "store", "holds"},
	"engine/presence":     {"engine/clinic", "engine/availability", "engine/record", "engine/timed", "store", "holds"},
	"engine/account":      {"engine/openid", "engine/token", "engine/clinic", "engine/record", "engine/timed", "store", "holds"},
	"engine/clinic":       {"engine/words", "engine/availability", "engine/record", "engine/notice", "engine/openid", "engine/sms", "engine/token", "store", "holds"},
	"engine/availability": {"store", "holds"},
	"engine/ical":         {"store"}, // only store.Date
	"engine/record":       {"engine/timed", "store", "holds"},
	"engine/words":        {}, // embeds the texts for people
	"engine/sms":          {}, // pure
	"engine/words/...":    {"engine/words"},
	"engine/upstream":     {}, "engine/notice": {}, "engine/openid": {}, "engine/token": {}, "engine/timed": {}, // the loop, and the map that drops old entries, for all packages
	"engine/enginetest":   {"engine", "engine/...", "store", "store/...", "holds", "holds/..."},
	"engine/upstream/...": {"engine/upstream"},
	"engine/notice/...":   {}, "engine/openid/...": {},

	"store": {}, "holds": {}, "store/pool": {}, "store/disk": {},
	"store/bucket": {"store"}, "store/bucket/...": {"cli/clitest"}, // bucket speaks S3 and imports no backend
	"store/backup":          {"store", "store/bucket", "store/disk", "store/sqlite"},
	"store/table":           {"store"}, // the SQL that both databases share
	"store/sqlite":          {"store", "store/table"},
	"store/postgres":        {"store", "store/pool", "store/table"},
	"store/sqlite/...":      {"store/sqlite"},
	"store/...":             {"store"},
	"holds/redis/redistest": {"cli/clitest", "holds/node/nodetest"},
	// one log of events for all backends, and the code that several of them share
	"holds/...": {"holds", "holds/broadcast", "holds/node", "store/pool"},

	"deploy": {}, "clients": {}, // files for operators and for client programs, and their tests
	"deploy/systemd": {}, "deploy/dist": {}, // dist is a separate program, which creates the release archives

	// The load driver measures everything from outside.
	"bench":     {"web", "engine", "engine/...", "store", "store/...", "holds", "holds/..."},
	"bench/...": {"bench/planted", "web", "engine", "engine/...", "store", "store/...", "holds", "holds/..."},
}

// testsOnly lists the directories that no program imports.
var testsOnly = []string{
	"engine/words/wordstest", "cli/clitest", "store/storetest", "store/postgres/postgrestest",
	"store/sqlite/sqlitetest", "store/bucket/buckettest", "holds/holdstest", "holds/node/nodetest",
	"holds/redis/redistest", "engine/enginetest", "engine/notice/noticetest", "engine/openid/openidtest",
	"web/certificate/acmetest", "web/pipetest", "web/simulation", "web/simulation/referee",
}

// standardLibraryOnly lists the directories that import no third-party module, not even in tests.
var standardLibraryOnly = []string{"store", "holds", "engine/token", "engine/upstream"}

// owners maps each third-party module to the only directory that imports it. Modules that only tests use have an owner
// too.
var owners = map[string]string{
	"github.com/spf13/cobra": "cli", "github.com/spf13/pflag": "cli",
	"github.com/julienschmidt/httprouter": "web",
	"github.com/evanw/esbuild":            "web/pages/join", "github.com/tdewolff/parse/v2": "web/pages/join",
	"github.com/yuin/goldmark": "docs/site", "github.com/getkin/kin-openapi": "docs/site",
	"github.com/dgraph-io/ristretto/v2": "engine/booking",
	"filippo.io/age":                    "store/backup",
	"golang.org/x/crypto":               "engine/account",
	"golang.org/x/sys":                  "web",
	"golang.org/x/term":                 "cli", "github.com/coreos/go-systemd/v22": "cli", // only for sd_notify
	"github.com/modelcontextprotocol/go-sdk": "web",
	"github.com/google/jsonschema-go":        "web", // the schemas of its tools
	"github.com/wneessen/go-mail":            "engine/notice",
	"github.com/coreos/go-oidc/v3":           "engine/openid", "golang.org/x/oauth2": "engine/openid",
	"modernc.org/sqlite": "store/sqlite",
	"go.etcd.io/bbolt":   "store/bolt", "github.com/aws/aws-sdk-go-v2": "store/bucket", // only for its signer
	"github.com/jackc/pgx/v5":      "store/postgres",
	"github.com/redis/go-redis/v9": "holds/redis", "github.com/jackc/puddle/v2": "store/pool",
}

// coOwners maps a module to the second directory that imports it. The two directories may not import each other.
var coOwners = map[string]string{"github.com/jackc/pgx/v5": "holds/postgres", "golang.org/x/crypto": "web/certificate", "github.com/aws/aws-sdk-go-v2": "store/bucket/buckettest"}

// testModules may be imported by the tests of any directory that is not standardLibraryOnly.
var testModules = []string{
	"github.com/alicebob/miniredis/v2",
	"github.com/anishathalye/porcupine",
	"github.com/chromedp/cdproto", "github.com/chromedp/chromedp",
	"github.com/getkin/kin-openapi", "github.com/teambition/rrule-go", // package busytime is compared with it
	"pgregory.net/rapid",
}

// peers lists the modules that the benchmarks compare Holdfast with. The benchmarks may import them in addition to
// their owners.
var peers = []string{"github.com/jackc/pgx/v5", "github.com/redis/go-redis/v9", "go.etcd.io/bbolt", "modernc.org/sqlite"}

// long lists the files that may be longer than maxLines, each with its reason.
var long = map[string]string{}

const maxLines = 600

// source is one Go file of the tree.
type source struct {
	file    string // slash-separated, from the root
	dir     string
	test    bool
	imports []string
	syntax  *ast.File
}

// sources reads every Go file of the tree.
func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	for _, file := range tree(t, ".go") {
		syntax, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		s := source{file: file, dir: path.Dir(file), test: strings.HasSuffix(file, "_test.go"), syntax: syntax}
		for _, i := range syntax.Imports {
			p, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			s.imports = append(s.imports, p)
		}
		all = append(all, s)
	}
	if len(all) == 0 {
		t.Fatal("no Go file was found: is this the root of the module?")
	}
	return all
}

// tree lists the files with these extensions, except vendored files.
func tree(t *testing.T, extensions ...string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && p != "." && (d.Name() == "vendor" || d.Name() == "testdata" || d.Name() == "node_modules" || d.Name()[0] == '.' || p == "clients/go" || p == "clients/typescript") {
			return filepath.SkipDir
		}
		if !d.IsDir() && slices.Contains(extensions, filepath.Ext(p)) {
			files = append(files, filepath.ToSlash(p))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// within reports whether dir is the pattern or, for a pattern that ends in /..., below it.
func within(dir, pattern string) bool {
	if parent, ok := strings.CutSuffix(pattern, "/..."); ok {
		return strings.HasPrefix(dir, parent+"/")
	}
	return dir == pattern
}

func withinAny(dir string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return within(dir, p) })
}

// layerOf returns the key of the row for dir in the diagram: dir itself, or the key of the nearest parent that ends in
// /....
func layerOf(dir string) (key string, ok bool) {
	if _, ok := layers[dir]; ok {
		return dir, true
	}
	for above := path.Dir(dir); above != "."; above = path.Dir(above) {
		if _, ok := layers[above+"/..."]; ok {
			return above + "/...", true
		}
	}
	return "", false
}

// strayImports lists the imports that the diagram does not contain.
func strayImports(files []source) (wrong []string) {
	for _, s := range files {
		key, ok := layerOf(s.dir)
		if !ok {
			wrong = append(wrong, fmt.Sprintf("%s: the directory %s is not in the diagram", s.file, s.dir))
			continue
		}
		for _, i := range s.imports {
			dir, ours := strings.CutPrefix(i, "holdfast/")
			switch {
			case !ours:
			case withinAny(dir, testsOnly) && !s.test && !withinAny(s.dir, testsOnly):
				wrong = append(wrong, fmt.Sprintf("%s imports %s, which is for tests", s.file, dir))
			case s.test || dir == s.dir || withinAny(dir, layers[key]):
			default:
				wrong = append(wrong, fmt.Sprintf("%s imports %s; %s may import %v", s.file, dir, key, layers[key]))
			}
		}
	}
	return wrong
}

// TestImportsPointOneWay checks that all imports are in the diagram: cli → web → engine → holds, store.
func TestImportsPointOneWay(t *testing.T) {
	for _, w := range strayImports(sources(t)) {
		t.Error(w)
	}
}

// TestBrokenDiagramIsFound plants one import of each forbidden kind, and expects an error for each.
func TestBrokenDiagramIsFound(t *testing.T) {
	for _, c := range []struct {
		name    string
		planted source
		wrong   bool
	}{
		{"web into a backend", source{file: "web/x.go", dir: "web", imports: []string{"holdfast/store/sqlite"}}, true},
		{"the streams into web", source{file: "web/stream/x.go", dir: "web/stream", imports: []string{"holdfast/web"}}, true},
		{"the streams into the engine", source{file: "web/stream/x.go", dir: "web/stream", imports: []string{"holdfast/engine"}}, true},
		{"the pages into web", source{file: "web/pages/x.go", dir: "web/pages", imports: []string{"holdfast/web"}}, true},
		{"engine into web", source{file: "engine/x.go", dir: "engine", imports: []string{"holdfast/web"}}, true},
		{"engine into a backend", source{file: "engine/x.go", dir: "engine", imports: []string{"holdfast/holds/memory"}}, true},
		{"store into holds", source{file: "store/x.go", dir: "store", imports: []string{"holdfast/holds"}}, true},
		{"holds into store", source{file: "holds/memory/x.go", dir: "holds/memory", imports: []string{"holdfast/store"}}, true},
		{"one backend into another", source{file: "store/bolt/x.go", dir: "store/bolt", imports: []string{"holdfast/store/sqlite"}}, true},
		{"a package into one above it", source{file: "engine/booking/x.go", dir: "engine/booking", imports: []string{"holdfast/engine/outbound"}}, true},
		{"a package into the arrangement", source{file: "engine/clinic/x.go", dir: "engine/clinic", imports: []string{"holdfast/engine"}}, true},
		{"a package into what all changes have in common", source{file: "engine/account/x.go", dir: "engine/account", imports: []string{"holdfast/engine/record"}}, false},
		{"the leaf into its tree", source{file: "engine/token/x.go", dir: "engine/token", imports: []string{"holdfast/engine"}}, true},
		{"main past cli", source{file: "x.go", dir: ".", imports: []string{"holdfast/web"}}, true},
		{"a suite into the program", source{file: "cli/x.go", dir: "cli", imports: []string{"holdfast/store/storetest"}}, true},
		{"a room that is not in the house", source{file: "attic/x.go", dir: "attic"}, true},
		{"a suite into a test", source{file: "store/bolt/x_test.go", dir: "store/bolt", test: true, imports: []string{"holdfast/store/storetest"}}, false},
		{"web into its streams", source{file: "web/x.go", dir: "web", imports: []string{"holdfast/web/stream"}}, false},
		{"the wiring", source{file: "cli/serve.go", dir: "cli", imports: []string{"holdfast/store/sqlite", "holdfast/web"}}, false},
	} {
		if got := strayImports([]source{c.planted}); (len(got) > 0) != c.wrong {
			t.Errorf("%s: got %q, want a complaint: %t", c.name, got, c.wrong)
		}
	}
}

// requirements lists the module paths that go.mod requires.
func requirements(t *testing.T) []string {
	t.Helper()
	f, err := os.Open("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var modules []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if fields := strings.Fields(strings.TrimPrefix(lines.Text(), "require ")); len(fields) >= 2 && strings.HasPrefix(fields[1], "v") {
			modules = append(modules, fields[0])
		}
	}
	return modules
}

// moduleOf returns the third-party module of an import path. It returns an empty string for the standard library and
// for this module.
func moduleOf(modules []string, importPath string) (module string) {
	for _, m := range modules {
		if (importPath == m || strings.HasPrefix(importPath, m+"/")) && len(m) > len(module) {
			module = m
		}
	}
	return module
}

// TestThirdPartyModuleHasOneOwner checks that each third-party module is imported in one place, so that it can be
// replaced there.
func TestThirdPartyModuleHasOneOwner(t *testing.T) {
	modules := requirements(t)
	for _, s := range sources(t) {
		for _, i := range s.imports {
			m := moduleOf(modules, i)
			tests := s.test || withinAny(s.dir, testsOnly)
			bench := s.dir == "bench" || strings.HasPrefix(s.dir, "bench/") || s.test
			switch {
			case m == "" && strings.Contains(strings.Split(i, "/")[0], "."):
				t.Errorf("%s imports %s, which is not in go.mod", s.file, i)
			case m == "":
			case withinAny(s.dir, standardLibraryOnly):
				t.Errorf("%s imports %s; %s may import only the standard library", s.file, i, s.dir)
			case tests && slices.Contains(testModules, m), bench && slices.Contains(peers, m), owners[m] == s.dir, coOwners[m] == s.dir:
			case owners[m] == "":
				t.Errorf("%s imports %s: give the module an owner in layers_test.go", s.file, i)
			default:
				t.Errorf("%s imports %s, which belongs to %s", s.file, i, owners[m])
			}
		}
	}
}

// TestWebUsesNoStoreContracts checks that web uses the nouns of store and holds, but not their contracts.
func TestWebUsesNoStoreContracts(t *testing.T) {
	contracts := map[string][]string{"store": {"Store", "Queue", "Tx", "Reader"}, "holds": {"Backend", "Table"}}
	for _, s := range sources(t) {
		if !withinAny(s.dir, []string{"web", "web/..."}) || s.test {
			continue
		}
		ast.Inspect(s.syntax, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if pkg, ok := sel.X.(*ast.Ident); ok && slices.Contains(contracts[pkg.Name], sel.Sel.Name) {
					t.Errorf("%s uses %s.%s: ask the engine instead", s.file, pkg.Name, sel.Sel.Name)
				}
			}
			return true
		})
	}
}

// TestPackagesAreNouns checks that no package has a name such as util or common, because code in such a package is hard
// to find.
func TestPackagesAreNouns(t *testing.T) {
	drawers := []string{"util", "utils", "common", "helper", "helpers", "types", "model", "models", "misc", "shared", "base"}
	for _, s := range sources(t) {
		if slices.Contains(drawers, s.syntax.Name.Name) || slices.Contains(drawers, path.Base(s.dir)) {
			t.Errorf("%s: package %s in %s has no comment about its content", s.file, s.syntax.Name.Name, s.dir)
		}
	}
}

// TestFilesStayShort checks the length of every file: a file with more than maxLines lines covers two nouns, unless
// long gives a reason.
func TestFilesStayShort(t *testing.T) {
	for _, file := range tree(t, ".go", ".js") {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		n := strings.Count(string(b), "\n")
		reason, listed := long[file]
		switch {
		case n > maxLines && !listed:
			t.Errorf("%s has %d lines; over %d it needs a split, or a reason in layers_test.go", file, n, maxLines)
		case n <= maxLines && listed:
			t.Errorf("%s has %d lines and no longer needs its reason in layers_test.go", file, n)
		case listed && reason == "":
			t.Errorf("%s is listed as long without a reason", file)
		}
	}
	for file := range long {
		if _, err := os.Stat(file); err != nil {
			t.Errorf("%s is listed as long but does not exist", file)
		}
	}
}

// TestBinaryStaysSmall keeps out code that makes the linker keep every exported method (8 MB of them), and code that
// would register handlers on the default mux. cobra and go-mail import the template packages for calls that we do not
// make, which the linker prunes; make build checks that it did.
func TestBinaryStaysSmall(t *testing.T) {
	forbidden := []string{"text/template", "html/template", "net/http/pprof", "expvar", "testing", "net/http/httptest"}
	for _, s := range sources(t) {
		for _, i := range s.imports {
			if !s.test && !withinAny(s.dir, testsOnly) && !strings.HasPrefix(s.dir, "bench") && slices.Contains(forbidden, i) &&
				!strings.HasSuffix(s.dir, "upstreamtest") {
				t.Errorf("%s imports %s", s.file, i)
			}
		}
	}
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for dep := range strings.SplitSeq(string(out), "\n") {
		if slices.Contains([]string{"net/http/pprof", "testing", "net/http/httptest", "github.com/evanw/esbuild/pkg/api"}, dep) {
			t.Errorf("the import graph of the binary contains %s", dep)
		}
	}
}
