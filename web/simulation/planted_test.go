package simulation

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var planting = flag.String("planted", "", "plant the bugs whose sentence matches this, each in a build of its own, and say which seed finds it")

// planted is a bug: one line of the product as it would be wrong.
type planted struct{ what, file, old, wrong string }

// readPlanted reads testdata/planted.txt. The line of each must be in its file exactly once.
func readPlanted(t *testing.T) (list []planted) {
	b, err := os.ReadFile("testdata/planted.txt")
	if err != nil {
		t.Fatal(err)
	}
	for entry := range strings.SplitSeq(string(b), "\n\n") {
		lines := strings.Split(strings.Trim(entry, "\n"), "\n")
		if strings.HasPrefix(lines[0], "#") {
			continue
		}
		if len(lines) != 4 || lines[2][:1] != "-" || lines[3][:1] != "+" {
			t.Fatalf("testdata/planted.txt: %q is no sentence, file, line and wrong line", entry)
		}
		list = append(list, planted{lines[0], lines[1], lines[2][1:], lines[3][1:]})
	}
	return list
}

// applied is the file with the bug in it.
func (p *planted) applied() (string, error) {
	b, err := os.ReadFile(filepath.Join("../..", p.file))
	if err != nil {
		return "", err
	}
	lines := strings.Split(string(b), "\n")
	at := slices.Index(lines, p.old)
	if at < 0 || slices.Contains(lines[at+1:], p.old) {
		return "", fmt.Errorf("%s: the line %q is not there exactly once", p.file, p.old)
	}
	lines[at] = p.wrong
	return strings.Join(lines, "\n"), nil
}

// TestPlantedBugsCanBePlanted keeps the list true while the code changes.
func TestPlantedBugsCanBePlanted(t *testing.T) {
	for _, p := range readPlanted(t) {
		if _, err := p.applied(); err != nil {
			t.Errorf("%s: %v", p.what, err)
		}
	}
}

// TestPlantedBugsAreFound is `make planted`: the bugs are built into a simulated clinic by way of go build -overlay, which leaves the
// tree as it is, and each is lived with until a seed finds it. Those that can be switched on share one build. It prints the rows of
// docs/proof.md.
func TestPlantedBugsAreFound(t *testing.T) {
	if *planting == "" {
		t.Skip("builds the program with bugs in it: make planted")
	}
	chosen := regexp.MustCompile(*planting)
	var all []planted
	for _, p := range readPlanted(t) {
		if chosen.MatchString(p.what) {
			all = append(all, p)
		}
	}
	shared := switchable(t, all)
	for n, p := range all {
		t.Run(p.what, func(t *testing.T) {
			binary := shared
			if p.switched(n) == "" {
				wrong, err := p.applied()
				if err != nil {
					t.Fatal(err)
				}
				binary = buildWith(t, map[string]string{p.file: wrong})
			}
			p.liveWith(t, binary, n)
		})
	}
}

var found = regexp.MustCompile(`seed (\d+): action (\d+), "([^"]*)", after ([0-9.]+) virtual days: (.*)`)

// liveWith lives with a bug, seed after seed.
func (p *planted) liveWith(t *testing.T, binary string, n int) {
	most := "20"
	if *seeds > 0 {
		most = fmt.Sprint(*seeds)
	}
	lived := exec.Command(binary, "-test.run", "^TestSimulatedClinic$", "-test.failfast", "-test.timeout", "1h", "-seeds", most, "-days", "3", "-shrink=false")
	lived.Env = append(os.Environ(), fmt.Sprintf("%s=%d", switchName, n))
	out, err := lived.CombinedOutput()
	m := found.FindStringSubmatch(string(out))
	if m == nil {
		t.Errorf("| %s | `%s` | not found in %s seeds | | |\n%v %s", p.what, p.file, most, err, last(string(out)))
		return
	}
	t.Logf("| %s | `%s` | %s | %s | %s |", p.what, p.file, m[1], m[4], m[3])
	t.Logf("  %s", m[5])
}

// last is the end of what a program said.
func last(out string) string { return out[max(0, len(out)-2000):] }
