package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestLogPageHasEveryWarning compares log.md with the program's warning and error messages, in both directions.
func TestLogPageHasEveryWarning(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("log.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := make(map[string]bool)
	for line := range strings.Lines(string(page)) {
		if row, is := strings.CutPrefix(line, "| `"); is {
			message, _, _ := strings.Cut(row, "`")
			rows[message] = false
		}
	}
	for _, dir := range []string{"../cli", "../engine", "../holds", "../store", "../web"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
				strings.HasSuffix(filepath.Dir(path), "test") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				message, is := warning(n)
				if !is {
					return true
				}
				if _, described := rows[message]; !described {
					t.Errorf("%s logs %q, which docs/log.md does not describe", path, message)
				}
				rows[message] = true
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for message, used := range rows {
		if !used {
			t.Errorf("docs/log.md describes %q, which no code logs", message)
		}
	}
}

// warning returns the message of a call such as log.Warn("…", …) and s.log.Error("…" + …, …).
func warning(n ast.Node) (message string, is bool) {
	call, is := n.(*ast.CallExpr)
	if !is {
		return "", false
	}
	f, is := call.Fun.(*ast.SelectorExpr)
	name := ""
	switch {
	case !is:
		return "", false
	case f.Sel.Name == "queueFailed": // of engine/outbound
		return literal(call.Args[1])
	case !strings.HasPrefix(f.Sel.Name, "Warn") && !strings.HasPrefix(f.Sel.Name, "Error"):
		return "", false
	}
	switch x := f.X.(type) {
	case *ast.Ident:
		name = x.Name
	case *ast.SelectorExpr:
		name = x.Sel.Name
	}
	if name = strings.ToLower(name); !strings.HasSuffix(name, "log") && !strings.HasSuffix(name, "logger") {
		return "", false
	}
	if message, is = literal(call.Args[0]); !is && strings.HasSuffix(f.Sel.Name, "Context") {
		return literal(call.Args[1])
	}
	return message, is
}

// literal returns the text of a string literal, or of the first literal in a concatenation.
func literal(e ast.Expr) (string, bool) {
	for {
		sum, joined := e.(*ast.BinaryExpr)
		if !joined {
			break
		}
		e = sum.X
	}
	text, is := e.(*ast.BasicLit)
	if !is || text.Kind != token.STRING {
		return "", false
	}
	message, err := strconv.Unquote(text.Value)
	return strings.TrimSpace(message), err == nil
}
