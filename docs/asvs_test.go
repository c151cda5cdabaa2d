package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var (
	requirement = regexp.MustCompile(`(?m)^\| (\d+\.\d+\.\d+) \| [^|]+ \| (met|partly|\*\*not met\*\*|–) \| ([^|]+) \|$`)
	counted     = regexp.MustCompile(`(?m)^\| (met|partly|\*\*not met\*\*|–)(?:, does not apply)? \| (\d+)`)
	namedTest   = regexp.MustCompile("`(Test[A-Z][A-Za-z0-9]*)`")
	namedFile   = regexp.MustCompile("`([.A-Za-z][A-Za-z0-9_./-]*)`")
	testOfOurs  = regexp.MustCompile(`(?m)^func (Test[A-Z][A-Za-z0-9]*)\(`)
)

// TestASVSMapIsComplete: every level 2 requirement has its row, in the order of the standard, the sums are correct, and
// the code that a row names exists.
func TestASVSMapIsComplete(t *testing.T) {
	b, err := os.ReadFile("asvs.md")
	if err != nil {
		t.Fatal(err)
	}
	ids, err := os.ReadFile("../testdata/asvs/4.0.3-level-2.txt")
	if err != nil {
		t.Fatal(err)
	}
	page, sums, there := string(b), make(map[string]int), testsOfOurs(t)
	var rows []string
	for _, row := range requirement.FindAllStringSubmatch(page, -1) {
		id, verdict, by := row[1], row[2], row[3]
		rows = append(rows, id)
		sums[verdict]++
		for _, m := range namedTest.FindAllStringSubmatch(by, -1) {
			if !there[m[1]] {
				t.Errorf("%s names %s, which is not a test", id, m[1])
			}
		}
		for _, m := range namedFile.FindAllStringSubmatch(by, -1) {
			top, _, nested := strings.Cut(m[1], "/")
			if _, err := os.Stat("../" + top); !slices.Contains([]string{".go", ".md", ".mod", ".js", ".yml"},
				filepath.Ext(m[1])) && (!nested || err != nil) {
				continue // a word, or an address
			}
			if _, err := os.Stat("../" + m[1]); err != nil {
				t.Errorf("%s names %s, which does not exist", id, m[1])
			}
		}
	}
	if want := strings.Fields(string(ids)); !slices.Equal(rows, want) {
		for i := range max(len(rows), len(want)) {
			if i >= len(rows) || i >= len(want) || rows[i] != want[i] {
				t.Fatalf("the rows differ from the standard at number %d: %v, want %v", i+1,
					rows[min(i, len(rows)):min(i+2, len(rows))], want[min(i, len(want)):min(i+2, len(want))])
			}
		}
	}
	for _, m := range counted.FindAllStringSubmatch(page, -1) {
		if n, _ := strconv.Atoi(m[2]); n != sums[m[1]] {
			t.Errorf("%s: the page counts %d, but has %d rows", m[1], n, sums[m[1]])
		}
	}
}

// testsOfOurs returns the names of all tests in the tree.
func testsOfOurs(t *testing.T) map[string]bool {
	t.Helper()
	all := make(map[string]bool)
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		b, err := os.ReadFile(path)
		for _, m := range testOfOurs.FindAllSubmatch(b, -1) {
			all[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
