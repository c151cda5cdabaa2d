package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// manCommand prints the manual page holdfast(1), which the packages install. It is a hidden command.
func manCommand(p process) *cobra.Command {
	return &cobra.Command{
		Use: "man", Hidden: true, Short: "Print the manual page holdfast(1)", Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := io.WriteString(p.stdout, manPage(c.Root()))
			return err
		},
	}
}

// manPage returns holdfast(1) in the format man(7), from the help of the commands and the table of settings.
func manPage(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString(".TH HOLDFAST 1 \"\" \"\" \"Holdfast\"\n.SH NAME\nholdfast \\- " + roff(root.Short) + "\n" +
		".SH SYNOPSIS\n.B holdfast\n.RI [ COMMAND ]\n.RI [ FLAGS ]\n.SH DESCRIPTION\n" + roffLines(root.Long) +
		".SH COMMANDS\n")
	for _, g := range commandGroups {
		fmt.Fprintf(&b, ".SS %s\n", g.title)
		for _, name := range g.commands {
			if c, _, err := root.Find([]string{name}); err == nil && c != root {
				writeManCommand(&b, c)
			}
		}
	}
	b.WriteString(".SH SETTINGS\n" +
		roffLines("Each setting is a flag, such as --base-url, a variable, such as HOLDFAST_BASE_URL, or a "+
			"line of the file named by --config. A flag takes precedence over the environment, and the environment over "+
			"the file."))
	for _, group := range settingGroups {
		fmt.Fprintf(&b, ".SS %s\n", group)
		for _, s := range settings() {
			if s.group == group {
				writeManFlag(&b, flagLine{"--" + s.name + " " + s.value, s.help, s.fallback})
			}
		}
	}
	b.WriteString(".SH FILES\n.TP\n.I /etc/default/holdfast\n" +
		"Settings of the service, one HOLDFAST_X_Y=value per line.\n" +
		".TP\n.I /var/lib/holdfast\nThe data directory of the service.\n" + ".SH EXIT STATUS\n" +
		roffLines("0: the command succeeded. 1: it failed, and the message states the reason. "+
			"2: the command line or a setting is wrong, and the command did not start.") +
		".SH SEE ALSO\nA running server shows the whole manual at /docs.\n")
	return b.String()
}

// writeManCommand writes a command, its flags that are not settings, and its subcommands.
func writeManCommand(b *strings.Builder, c *cobra.Command) {
	if c.Hidden || c.Name() == "help" {
		return
	}
	fmt.Fprintf(b, ".TP\n.B %s\n%s.\n", roff(strings.TrimSuffix(c.UseLine(), " [flags]")), roff(c.Short))
	if c.Long != "" {
		b.WriteString(".RS\n" + roffLines(c.Long) + ".RE\n")
	}
	b.WriteString(".RS\n")
	c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		isSetting := false
		for _, s := range settings() {
			isSetting = isSetting || f.Name == s.name && strings.HasPrefix(f.Usage, s.help) || s.secret &&
				f.Name == s.name+"-file"
		}
		if !f.Hidden && !isSetting && f.Name != "help" {
			writeManFlag(b, lineOf(f))
		}
	})
	b.WriteString(".RE\n")
	for _, sub := range c.Commands() {
		writeManCommand(b, sub)
	}
}

func writeManFlag(b *strings.Builder, l flagLine) {
	text := strings.ToUpper(l.text[:1]) + l.text[1:]
	if l.fallback != "" {
		text += " (default: " + l.fallback + ")"
	}
	fmt.Fprintf(b, ".TP\n.B %s\n%s.\n", roff(l.name), roff(text))
}

// roff escapes one line of text.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "…", "...").Replace(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return s
}

// roffLines escapes paragraphs. Their indented lines, such as examples, keep their line breaks.
func roffLines(s string) string {
	var b strings.Builder
	isExample := false
	for line := range strings.SplitSeq(strings.TrimSpace(s), "\n") {
		indented := strings.HasPrefix(line, "  ")
		switch {
		case indented && !isExample:
			b.WriteString(".PP\n.nf\n")
		case !indented && isExample:
			b.WriteString(".fi\n")
		}
		isExample = indented
		switch {
		case strings.TrimSpace(line) == "":
			b.WriteString(".PP\n")
		default:
			b.WriteString(roff(line) + "\n")
		}
	}
	if isExample {
		b.WriteString(".fi\n")
	}
	return b.String()
}
