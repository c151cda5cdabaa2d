package simulation

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"holdfast/bench/planted"
)

// switchName is the environment variable that switches one bug on in a build with many.
const switchName = "HOLDFAST_PLANTED"

// theSwitch is added to every package with a bug.
const theSwitch = `
import "os"

var plantedBug = os.Getenv("` + switchName + `")

func plantedPick[T any](on bool, wrong, right T) T {
	if on {
		return wrong
	}
	return right
}
`

var (
	plantedField = regexp.MustCompile(`^(\w+):\s+(.*),$`)
	plantedConst = regexp.MustCompile(`^[A-Z]\w* += `)
)

// switched returns code that contains the line and its bug, with a switch between them. It returns an empty string if
// no general way exists, for example for a constant, several fields in one line, or a line of SQL. Such a bug needs its
// own build.
func (p *plantedBug) switched(n int) string {
	right, wrong := strings.TrimSpace(p.Old), strings.TrimSpace(p.Wrong)
	on := fmt.Sprintf("plantedBug == \"%d\"", n)
	both := func(prefix, suffix string) (string, string, bool) {
		r, isRight := strings.CutPrefix(strings.TrimSuffix(right, suffix), prefix)
		w, isWrong := strings.CutPrefix(strings.TrimSuffix(wrong, suffix), prefix)
		return r, w, isRight && isWrong && strings.HasSuffix(right, suffix) && strings.HasSuffix(wrong, suffix)
	}
	either := func(r, w string) string {
		return fmt.Sprintf("%s && (%s) || plantedBug != \"%d\" && (%s)", on, w, n, r)
	}
	if r, w, ok := both("if ", " {"); ok {
		at := strings.LastIndex(r, "; ")
		switch before := r[:max(at, 0)]; {
		case at < 0:
			return "if " + either(r, w) + " {"
		case strings.HasPrefix(w, before+"; "):
			return "if " + before + "; " + either(r[at+2:], w[at+2:]) + " {"
		}
		return ""
	}
	if r, w, ok := both("case ", ":"); ok {
		return "case " + either(anyOf(r), anyOf(w)) + ":"
	}
	if r, w, ok := both("", ""); ok && plantedField.MatchString(r) && plantedField.MatchString(w) &&
		!strings.Contains(r, ", ") {
		value := func(field string) string { return plantedField.FindStringSubmatch(field)[2] }
		return fmt.Sprintf("%s: plantedPick(%s, %s, %s),", plantedField.FindStringSubmatch(r)[1], on, value(w),
			value(r))
	}
	if r, w, ok := both("for ", " {"); ok {
		head, over, isRange := strings.Cut(r, "range ")
		if rest, same := strings.CutPrefix(w, head+"range "); isRange && same {
			return fmt.Sprintf("for %srange plantedPick(%s, %s, %s) {", head, on, rest, over)
		}
	}
	if r, w, ok := both("", " {"); ok && strings.Contains(right, " && ") { // the end of a condition
		return "(" + either(r, w) + ") {"
	}
	switch {
	case strings.HasSuffix(right, "{"), strings.HasSuffix(right, ","), strings.HasPrefix(right, "WHERE"),
		plantedConst.MatchString(right):
		return ""
	case strings.HasPrefix(right, "return "):
		return fmt.Sprintf("if %s {\n%s\n}\n%s", on, wrong, right)
	case strings.Contains(right, " := "):
		return fmt.Sprintf("%s\nif %s {\n%s\n}", right, on, strings.Replace(wrong, " := ", " = ", 1))
	}
	return fmt.Sprintf("if %s {\n%s\n} else {\n%s\n}", on, wrong, right)
}

// anyOf converts the list of conditions of a case to one condition. Commas between parentheses stay.
func anyOf(list string) string {
	var b strings.Builder
	depth := 0
	for i, c := range list {
		switch c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		}
		if c == ',' && depth == 0 && strings.HasPrefix(list[i:], ", ") {
			b.WriteString(" ||")
			continue
		}
		b.WriteRune(c)
	}
	return b.String()
}

// switchable builds one simulated clinic with all the bugs that can be switched on. It builds nothing if there are
// none.
func switchable(t *testing.T, all []plantedBug) (binary string) {
	t.Helper()
	var places []planted.Place
	for n, p := range all {
		if line := p.switched(n); line != "" {
			p.Wrong = line
			places = append(places, p.Place)
		}
	}
	if len(places) == 0 {
		return ""
	}
	return buildWith(t, places...)
}

// buildWith builds a simulated clinic with these bugs, and a switch in each of their packages.
func buildWith(t *testing.T, places ...planted.Place) (binary string) {
	t.Helper()
	files, err := planted.Apply(root, places...)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Collect(maps.Keys(files)) {
		if path.Ext(name) == ".go" {
			files[path.Join(path.Dir(name), "planted_switch.go")] = "package " + packageOf(files[name]) + "\n" +
				theSwitch
		}
	}
	dir := t.TempDir()
	replace := map[string]string{}
	for name, content := range files {
		whole, err := filepath.Abs(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		replace[whole] = filepath.Join(dir, fmt.Sprintf("%d%s", len(replace), path.Ext(name)))
		if err := os.WriteFile(replace[whole], []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	binary = filepath.Join(dir, "planted.test")
	if out, err := exec.Command("go", "test", "-c", "-ldflags", "-s -w", "-overlay", filepath.Join(dir, "overlay.json"),
		"-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return binary
}

// packageOf returns the name of the package that a Go file belongs to.
func packageOf(text string) string {
	_, name, _ := strings.Cut("\n"+text, "\npackage ")
	name, _, _ = strings.Cut(name, "\n")
	return name
}
