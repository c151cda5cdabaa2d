package simulation

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"holdfast/bench/planted"
)

var planting = flag.String("planted", "",
	"plant the bugs whose sentence matches this, each in a build of its own, and say which seed finds it")

// plantedBug is a bug from testdata/planted.txt, and its place in the code.
type plantedBug struct {
	what string
	in   string // the declaration that contains it, in the notation of package planted
	planted.Place
}

// readPlanted reads testdata/planted.txt and finds the place of each bug.
func readPlanted(t *testing.T) (list []plantedBug) {
	t.Helper()
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
			t.Fatalf("testdata/planted.txt: %q lacks a sentence, a declaration, a pattern or a wrong text", entry)
		}
		place, err := planted.Bug{In: lines[1], Old: lines[2][1:], Wrong: lines[3][1:]}.Find(root)
		if err != nil {
			t.Errorf("%s: %v", lines[0], err)
			continue
		}
		list = append(list, plantedBug{lines[0], lines[1], place})
	}
	return list
}

// root is the root of the module.
const root = "../.."

// TestPlantedBugsHaveTheirPlace fails if the code has changed so that a bug from the list can no longer be planted.
func TestPlantedBugsHaveTheirPlace(t *testing.T) {
	if len(readPlanted(t)) == 0 {
		t.Error("testdata/planted.txt has no bug")
	}
}

// TestPlantedBugsAreFound is `make planted`. It builds the bugs into a simulated clinic with go test -overlay, which
// does not change the source files, and runs seeds with each bug until one of them finds it. The bugs that can be
// switched on at run time share one build. It prints the rows of docs/proof.md.
func TestPlantedBugsAreFound(t *testing.T) {
	if *planting == "" {
		t.Skip("builds the program with bugs in it: make planted")
	}
	chosen := regexp.MustCompile(*planting)
	var all []plantedBug
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
				binary = buildWith(t, p.Place)
			}
			p.liveWith(t, binary, n)
		})
	}
}

var found = regexp.MustCompile(`seed (\d+): action (\d+), "([^"]*)", after ([0-9.]+) virtual days: (.*)`)

// liveWith runs one seed after another with a bug.
func (p *plantedBug) liveWith(t *testing.T, binary string, n int) {
	most := "20"
	if *seeds > 0 {
		most = fmt.Sprint(*seeds)
	}
	lived := exec.Command(binary, "-test.run", "^TestSimulatedClinic$", "-test.failfast", "-test.timeout", "1h",
		"-seeds", most, "-days", "3", "-shrink=false")
	lived.Env = append(os.Environ(), fmt.Sprintf("%s=%d", switchName, n))
	out, err := lived.CombinedOutput()
	m := found.FindStringSubmatch(string(out))
	if m == nil {
		t.Errorf("| %s | `%s` | not found in %s seeds | | |\n%v %s", p.what, p.in, most, err, last(string(out)))
		return
	}
	t.Logf("| %s | `%s` | %s | %s | %s |", p.what, p.in, m[1], m[4], m[3])
	t.Logf("  %s", m[5])
}

// last returns the last 2,000 bytes of a program's output.
func last(out string) string { return out[max(0, len(out)-2000):] }
