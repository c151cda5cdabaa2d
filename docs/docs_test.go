package docs

import (
	"bytes"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

func TestCompressedOpenAPIIsCurrent(t *testing.T) {
	want, err := os.ReadFile("api/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(OpenAPI(), want) {
		t.Error("api/openapi.yaml.gz does not match api/openapi.yaml: run make pages, and commit it")
	}
}

var (
	tableRule = regexp.MustCompile(`^\s*\|(\s*:?-+:?\s*\|)+$`)
	inCode    = regexp.MustCompile("`[^`]*`")
)

// cells returns the number of cells in a row of a table. It returns 0 if the line is not such a row.
func cells(line string) int {
	line = strings.ReplaceAll(inCode.ReplaceAllString(strings.TrimSpace(line), ""), `\|`, "")
	if !strings.HasPrefix(line, "|") || !strings.HasSuffix(line, "|") {
		return 0
	}
	return strings.Count(line, "|") - 1
}

// TestTablesAreWhole: a row that has lost a cell, or is wrapped onto a second line, breaks the table for every reader.
func TestTablesAreWhole(t *testing.T) {
	t.Parallel()
	rows := 0
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(name, ".md") {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		want, isCode := 0, false
		for i, line := range strings.Split(string(text), "\n") {
			switch {
			case strings.HasPrefix(strings.TrimSpace(line), "```"):
				isCode, want = !isCode, 0
			case isCode:
			case tableRule.MatchString(line):
				want = cells(line)
			case strings.TrimSpace(line) == "":
				want = 0
			case want > 0:
				rows++
				if got := cells(line); got != want {
					t.Errorf("%s:%d: the row has %d cells, want %d: %s", name, i+1, got, want, line)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if rows < 500 {
		t.Errorf("the test found %d rows of tables, want at least 500", rows)
	}
}

// TestEveryAlertIsExplained compares the alert rules with the operators' list of alerts.
func TestEveryAlertIsExplained(t *testing.T) {
	t.Parallel()
	rules, err := os.ReadFile("../deploy/prometheus/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("monitor.md")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`alert: (\w+)`).FindAllSubmatch(rules, -1)
	if len(names) == 0 {
		t.Fatal("alerts.yml has no alerts")
	}
	for _, name := range names {
		if !bytes.Contains(page, append(append([]byte("`"), name[1]...), '`')) {
			t.Errorf("monitor.md does not explain %s", name[1])
		}
	}
}
