package web

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestErrorsNameRoutesThatExist: if an error tells the caller to use a route, the API has this route. The test reads
// the texts in the source of this package, because a running server shows only some of them.
func TestErrorsNameRoutesThatExist(t *testing.T) {
	t.Parallel()
	var (
		text    = regexp.MustCompile(`"(?:[^"\\\n]|\\.)+"`)
		named   = regexp.MustCompile(`\b(?:GET|POST|PUT|PATCH|DELETE) /v1/[a-zA-Z0-9/{}-]+`)
		holder  = regexp.MustCompile(`\{[^}]*\}|\bmanaged\b`) // "managed" is the id that the manage token names
		general = func(route string) string { return holder.ReplaceAllString(route, "{}") }
	)
	routes := map[string]bool{}
	for _, r := range (&Server{}).routes() {
		routes[general(r.method+" "+r.pattern)] = true
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, said := range text.FindAllString(string(source), -1) {
			for _, route := range named.FindAllString(said, -1) {
				if found++; !routes[general(route)] {
					t.Errorf("%s: %s names %s, which is not a route", file, said, route)
				}
			}
		}
	}
	if found == 0 {
		t.Error("no error names a route, so this test checks nothing")
	}
}
