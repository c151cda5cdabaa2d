package cli

import (
	"strings"
	"testing"
)

// TestCompletionKnowsTheValues lists the completions that a shell offers after each of these lines. A colon and a
// number after them show whether the shell also offers files (0), only directories (16) or neither (4).
func TestCompletionKnowsTheValues(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"serve --log-format ":            "text json :4",
		"serve --rate-limit ":            "default off :4",
		"serve --webhook-allow-private ": ":4", // needs no value: the next word is not its value
		"serve --webhook-allow-private=": "true false :4",
		"serve --base-url ":              ":4",
		"serve --data ":                  ":16",
		"serve --config ":                ":0",
		"serve --admin-key-file ":        ":0",
		"serve ":                         ":4",
		"queue list --status ":           "pending processing completed failed :4",
		"queue retry ":                   ":4",
		"apikey create --scope ":         "admin agent presence metrics :4",
		"import ":                        ":0",
		"restore ":                       ":0",
		"backup --to ":                   ":16",
	} {
		words := strings.Split(line, " ")
		got := command(t, nil, "", append([]string{"__complete"}, words...)...)
		if said := strings.Join(strings.Fields(got.stdout), " "); got.code != 0 || said != want {
			t.Errorf("%q: the suggestions are %q (exit code %d), want %q", line, said, got.code, want)
		}
	}
}
