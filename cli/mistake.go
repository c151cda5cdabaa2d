package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// mistakes collects all mistakes in the command line and the settings, so that they are reported together.
type mistakes []error

func (m *mistakes) add(format string, args ...any) { *m = append(*m, fmt.Errorf(format, args...)) }

// err returns nil if there are no mistakes, and otherwise a usageError with all of them.
func (m mistakes) err() error {
	if len(m) == 0 {
		return nil
	}
	return usageError{m}
}

func (m mistakes) Error() string {
	if len(m) == 1 {
		return m[0].Error()
	}
	lines := make([]string, len(m))
	for i, e := range m {
		lines[i] = "  - " + e.Error()
	}
	return fmt.Sprintf("%d settings are invalid:\n%s", len(m), strings.Join(lines, "\n"))
}

// flagError returns all mistakes in the flags of c, of which err is the first. cobra stops parsing at an unknown
// flag, so flagError parses the rest: it may contain more unknown flags, and settings with mistakes.
func (p process) flagError(root, c *cobra.Command, err error) error {
	wrong := mistakes{err}
	_, args, findErr := root.Find(joinYes(p.args))
	for findErr == nil && err != nil {
		name, unknown := strings.CutPrefix(err.Error(), "unknown flag: --")
		at := slices.IndexFunc(args, func(a string) bool {
			return a == "--"+name || strings.HasPrefix(a, "--"+name+"=")
		})
		if !unknown || at < 0 {
			break // the position of the mistake is unknown, so the rest is not parsed
		}
		args = args[at+1:]
		if err = c.ParseFlags(args); err != nil {
			wrong = append(wrong, err)
		}
	}
	for i, e := range wrong {
		wrong[i] = withSuggestion(c, e)
	}
	if err == nil && c.Flags().Lookup(configFlag) != nil {
		var settings mistakes
		if _, err := p.resolve(c); errors.As(err, &settings) {
			wrong = append(wrong, settings...)
		}
	}
	return usageError{fmt.Errorf("%w\nSee: %s --help", wrong, c.CommandPath())}
}

// withSuggestion adds the flag of c that an unknown flag probably means: one that differs in at most two characters.
func withSuggestion(c *cobra.Command, err error) error {
	name, unknown := strings.CutPrefix(err.Error(), "unknown flag: --")
	if !unknown {
		return err
	}
	best, near := 3, ""
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if d := distance(name, f.Name); d < best && d < len(f.Name)/2 {
			best, near = d, f.Name
		}
	})
	if near == "" {
		return err
	}
	return fmt.Errorf("%w. Did you mean --%s?", err, near)
}
