package cli

import (
	"os/exec"
	"strings"
	"testing"
)

// TestManPageIsComplete: the page names every command and every setting, and groff formats it without a warning.
func TestManPageIsComplete(t *testing.T) {
	t.Parallel()
	page := must(t, "man")
	for _, g := range commandGroups {
		for _, name := range g.commands {
			contains(t, "the page", page, ".B holdfast "+strings.ReplaceAll(name, "-", `\-`))
		}
	}
	for _, s := range settings() {
		contains(t, "the page", page, ".B "+strings.ReplaceAll("--"+s.name+" "+s.value, "-", `\-`))
	}
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("groff is not installed, so the format is not checked")
	}
	c := exec.Command(groff, "-man", "-ww", "-Tutf8")
	c.Stdin = strings.NewReader(page)
	var warnings strings.Builder
	c.Stderr = &warnings
	text, err := c.Output()
	if err != nil || warnings.Len() > 0 {
		t.Errorf("groff: %v %s", err, &warnings)
	}
	if len(text) < 10_000 {
		t.Errorf("the formatted page has %d bytes", len(text))
	}
}
