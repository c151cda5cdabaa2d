package simulation

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// switchName names, in the environment of a build with many bugs, the one that is switched on.
const switchName = "HOLDFAST_PLANTED"

// theSwitch is put into every package that has a bug in it.
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

// switched is the line with its bug as a switch; empty where that cannot be said in general: a constant, several fields in one line, a
// line of SQL. Such a bug needs a build of its own.
func (p *planted) switched(n int) string {
	right, wrong := strings.TrimSpace(p.old), strings.TrimSpace(p.wrong)
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
		return "case " + either(strings.ReplaceAll(r, ", ", " || "), strings.ReplaceAll(w, ", ", " || ")) + ":"
	}
	if r, w, ok := both("", ""); ok && plantedField.MatchString(r) && plantedField.MatchString(w) && !strings.Contains(r, ", ") {
		value := func(field string) string { return plantedField.FindStringSubmatch(field)[2] }
		return fmt.Sprintf("%s: plantedPick(%s, %s, %s),", plantedField.FindStringSubmatch(r)[1], on, value(w), value(r))
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
	case strings.HasSuffix(right, "{"), strings.HasSuffix(right, ","), strings.HasPrefix(right, "WHERE"), plantedConst.MatchString(right):
		return ""
	case strings.HasPrefix(right, "return "):
		return fmt.Sprintf("if %s {\n%s\n}\n%s", on, wrong, right)
	case strings.Contains(right, " := "):
		return fmt.Sprintf("%s\nif %s {\n%s\n}", right, on, strings.Replace(wrong, " := ", " = ", 1))
	}
	return fmt.Sprintf("if %s {\n%s\n} else {\n%s\n}", on, wrong, right)
}

// switchable builds one simulated clinic with all the bugs that can be switched on; none if there are too few for that.
func switchable(t *testing.T, all []planted) (binary string) {
	files, count := map[string]string{}, 0
	for n := range all {
		p := &all[n]
		line := p.switched(n)
		if line == "" {
			continue
		}
		if _, err := p.applied(); err != nil {
			t.Fatal(err)
		}
		text, known := files[p.file]
		if !known {
			b, err := os.ReadFile(filepath.Join("../..", p.file))
			if err != nil {
				t.Fatal(err)
			}
			text = string(b)
			dir := filepath.Dir(p.file)
			_, name, _ := strings.Cut(text, "\npackage ")
			name, _, _ = strings.Cut(name, "\n")
			if rest, first := strings.CutPrefix(text, "package "); first {
				name, _, _ = strings.Cut(rest, "\n")
			}
			files[filepath.Join(dir, "planted_switch.go")] = "package " + name + "\n" + theSwitch
		}
		lines := strings.Split(text, "\n")
		at := slices.Index(lines, p.old)
		lines[at] = line
		files[p.file] = strings.Join(lines, "\n")
		count++
	}
	if count == 0 {
		return ""
	}
	return buildWith(t, files)
}

// buildWith builds a simulated clinic in which these files are as given.
func buildWith(t *testing.T, files map[string]string) (binary string) {
	t.Helper()
	dir := t.TempDir()
	replace := map[string]string{}
	for name, content := range files {
		whole, err := filepath.Abs(filepath.Join("../..", name))
		if err != nil {
			t.Fatal(err)
		}
		replace[whole] = filepath.Join(dir, fmt.Sprintf("%d.go", len(replace)))
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
	if out, err := exec.Command("go", "test", "-c", "-ldflags", "-s -w", "-overlay", filepath.Join(dir, "overlay.json"), "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return binary
}
