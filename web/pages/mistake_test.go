package pages

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	mistakeRule = regexp.MustCompile(`(?m)^  \[/(.+)/, '[\w.]+'`)
	placeholder = regexp.MustCompile(`%[dqsv]`)
)

// TestMistakeRulesMatchTheServersSentences: each pattern with which the pages translate a validation error of the
// server matches a sentence in the server's source. A pattern that matches none belongs to a sentence that has changed.
func TestMistakeRulesMatchTheServersSentences(t *testing.T) {
	source, err := os.ReadFile("../ui/lib/mistake.js")
	if err != nil {
		t.Fatal(err)
	}
	var sentences []string
	for _, dir := range []string{"../../engine", ".."} {
		sentences = append(sentences, sentencesIn(t, dir)...)
	}
	rules := mistakeRule.FindAllSubmatch(source, -1)
	if len(rules) < 30 {
		t.Fatalf("found %d rules", len(rules))
	}
	for _, r := range rules {
		for _, part := range alternatives(string(r[1])) {
			pattern, err := regexp.Compile(part)
			if err != nil {
				t.Fatal(err)
			}
			found := false
			for _, s := range sentences {
				found = found || pattern.MatchString(s)
			}
			if !found {
				t.Errorf("no sentence of the server matches %s", part)
			}
		}
	}
}

// alternatives splits a pattern at the bars outside its groups.
func alternatives(pattern string) (all []string) {
	depth, from := 0, 0
	for i, c := range pattern {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		case '|':
			if depth == 0 {
				all, from = append(all, pattern[from:i]), i+1
			}
		}
	}
	return append(all, pattern[from:])
}

// sentencesIn returns the strings in the Go files of a folder and its subfolders, except tests. Strings that are joined
// with + are one string. Values replace the verbs.
func sentencesIn(t *testing.T, dir string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			e, ok := n.(ast.Expr)
			if !ok {
				return true
			}
			s, ok := joined(e)
			if ok {
				all = append(all, placeholder.ReplaceAllStringFunc(s, func(verb string) string {
					return map[string]string{"%d": "7", "%q": `"x"`, "%s": "x", "%v": "x"}[verb]
				}))
			}
			return !ok
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// joined returns the value of a string, or of strings that are joined with +.
func joined(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING {
			return "", false
		}
		s, err := strconv.Unquote(e.Value)
		return s, err == nil
	case *ast.BinaryExpr:
		left, a := joined(e.X)
		right, b := joined(e.Y)
		return left + right, a && b && e.Op == token.ADD
	}
	return "", false
}
