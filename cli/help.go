package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// commandGroups lists the headings of `holdfast --help`, with their commands in the order of the page.
var commandGroups = []struct {
	title    string
	commands []string
}{
	{"Run", []string{"demo", "serve", "service", "setup-url"}},
	{"Clinic", []string{"admin", "apikey", "export", "import", "why"}},
	{"Data", []string{"backup", "backup-key", "keys", "migrate", "restore", "upgrade", "verify"}},
	{"Operate", []string{"config", "healthcheck", "queue"}},
	{"Develop", []string{"completion", "mcp", "openapi", "torture", "version"}},
}

// settingGroups lists the headings of `holdfast help settings` and of docs/settings.md.
var settingGroups = []string{
	"Basics", "Network", "HTTPS", "Limits", "Mail", "Practice system", "Backups", "Presence", "Cluster", "Retention",
}

// onlyInSettings is the annotation of flags that --help omits. `holdfast help settings` lists them.
const onlyInSettings = "holdfast_only_in_settings"

// valueName is the annotation with the name of a flag's value in the help.
const valueName = "holdfast_value"

// usage prints the commands and flags of a command. It is cobra's usage function for all commands.
func usage(c *cobra.Command) error {
	var b strings.Builder
	b.WriteString("Usage:\n")
	if c.Runnable() {
		fmt.Fprintf(&b, "  %s\n", c.UseLine())
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "  %s COMMAND\n", c.CommandPath())
	}
	writeCommands(&b, c)
	var shown []flagLine
	left := 0
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		switch {
		case f.Annotations[onlyInSettings] != nil:
			left++
		case !f.Hidden && (f.Name != "help" || c.HasParent()):
			shown = append(shown, lineOf(f))
		}
	})
	if len(shown) > 0 {
		b.WriteString("\nFlags:\n")
		writeFlags(&b, shown)
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\nHelp for a command: %s COMMAND --help\n", c.CommandPath())
	}
	if left > len(settings())/2 {
		fmt.Fprintf(&b, "All %d settings:     holdfast help settings\n", len(settings()))
	}
	_, err := io.WriteString(c.OutOrStderr(), b.String())
	return err
}

// nameValue sets the name of a flag's value in the help.
func nameValue(flags *pflag.FlagSet, flag, name string) {
	_ = flags.SetAnnotation(flag, valueName, []string{name})
}

// flagLine is a flag in the help.
type flagLine struct{ name, text, fallback string }

// valueNames maps the type of a flag to the name of its value in the help.
var valueNames = map[string]string{"string": "TEXT", "int": "N", "duration": "DURATION", "bool": ""}

func lineOf(f *pflag.Flag) flagLine {
	l := flagLine{name: "--" + f.Name, text: f.Usage}
	if f.Shorthand != "" {
		l.name = "-" + f.Shorthand + ", " + l.name
	}
	value, known := valueNames[f.Value.Type()]
	if !known {
		value = strings.ToUpper(f.Value.Type())
	}
	if given := f.Annotations[valueName]; given != nil {
		value = given[0]
	}
	if l.name += " " + value; value == "" {
		l.name = strings.TrimSpace(l.name)
	} else if f.DefValue != "0" && f.DefValue != "0s" && f.DefValue != "[]" {
		l.fallback = f.DefValue
	}
	return l
}

// writeFlags prints flags in two columns: the names, and the descriptions wrapped at 110 columns.
func writeFlags(b *strings.Builder, flags []flagLine) {
	const right = 110
	left := 0
	for _, f := range flags {
		left = max(left, len(f.name))
	}
	for _, f := range flags {
		text := f.text
		if f.fallback != "" {
			text += " (default: " + f.fallback + ")"
		}
		at, _ := fmt.Fprintf(b, "  %-*s ", left, f.name)
		for word := range strings.FieldsSeq(text) {
			if at+1+len(word) > right {
				at, _ = fmt.Fprintf(b, "\n  %-*s ", left, "")
			}
			n, _ := fmt.Fprintf(b, " %s", word)
			at += n
		}
		b.WriteString("\n")
	}
}

func writeCommands(b *strings.Builder, c *cobra.Command) {
	if !c.HasAvailableSubCommands() {
		return
	}
	b.WriteString("\nCommands:\n")
	if c.HasParent() {
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				fmt.Fprintf(b, "  %-14s  %s\n", sub.Name(), sub.Short)
			}
		}
		return
	}
	for _, g := range commandGroups {
		title := g.title
		for _, name := range g.commands {
			if sub, _, err := c.Find([]string{name}); err == nil && sub != c {
				fmt.Fprintf(b, "  %-7s  %-11s  %s\n", title, sub.Name(), sub.Short)
				title = ""
			}
		}
	}
}

// settingsTopic returns `holdfast help settings`, which prints every setting by group.
func settingsTopic() *cobra.Command {
	var b strings.Builder
	b.WriteString(`Settings of the server, used by serve, demo and "config print".

Each setting can be set in three ways, for example as the flag --base-url, as the environment
variable HOLDFAST_BASE_URL, or as a line HOLDFAST_BASE_URL=… in the file named by --config. A flag
takes precedence over the environment, and the environment over the file. A DURATION is a number
with a unit: 90s, 5m, 12h. DAYS are written as 30d. A setting marked * is a secret: it can be read
from a file, with --NAME-file.
`)
	for _, group := range settingGroups {
		fmt.Fprintf(&b, "\n%s:\n", group)
		var flags []flagLine
		for _, s := range settings() {
			if s.group != group {
				continue
			}
			mark := ""
			if s.secret {
				mark = " *"
			}
			flags = append(flags, flagLine{"--" + s.name + " " + s.value, s.help + mark, s.fallback})
		}
		writeFlags(&b, flags)
	}
	return &cobra.Command{Use: "settings", Short: "All settings of the server, by group", Long: b.String()}
}
