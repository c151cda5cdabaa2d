package cli

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// configFlag is the flag that names the settings file. It is not a setting itself, so a settings file cannot name
// another one.
const configFlag = "config"

// defineSettings adds flags to a command: one for every setting of the audience who, and --config.
func defineSettings(c *cobra.Command, who audience) {
	flags := c.Flags()
	flags.String(configFlag, "", "settings file with one HOLDFAST_X_Y=VALUE per line")
	nameValue(flags, configFlag, "FILE")
	completesFiles(c, configFlag)
	for _, s := range settings() {
		if s.audience&who == 0 {
			continue
		}
		flags.String(s.name, s.fallback, s.help)
		nameValue(flags, s.name, s.value)
		hide := func(name string) {
			if who&forServing != 0 && !s.common || name != s.name {
				_ = flags.SetAnnotation(name, onlyInSettings, []string{})
			}
		}
		hide(s.name)
		switch {
		case s.yes:
			flags.Lookup(s.name).NoOptDefVal = "true"
			completes(c, s.name, "true", "false")
		case s.name == "data":
			completesDirectories(c, s.name)
		default:
			completes(c, s.name, s.values...)
		}
		if s.secret {
			flags.String(s.name+"-file", "", "file to read --"+s.name+" from")
			nameValue(flags, s.name+"-file", "FILE")
			hide(s.name + "-file")
			completesFiles(c, s.name+"-file")
		}
	}
}

// joinYes joins a true-or-false flag and a separate value (--flag false) into --flag=false, so that both forms work.
func joinYes(args []string) []string {
	var joined []string
	for i := 0; i < len(args); i++ {
		name := strings.TrimPrefix(args[i], "--")
		yes := name != args[i] && slices.ContainsFunc(settings(), func(s setting) bool {
			return s.yes && s.name == name
		})
		if yes && i+1 < len(args) && (args[i+1] == "true" || args[i+1] == "false") {
			joined = append(joined, args[i]+"="+args[i+1])
			i++
			continue
		}
		joined = append(joined, args[i])
	}
	return joined
}

// given is one value that an operator set, or a default.
type given struct {
	value string
	from  string // such as "flag --listen", for messages
	file  bool   // the value names a file that contains the secret
}

// source holds the values from one source of settings, by the setting's name. A source is the flags, the environment or
// the settings file.
type source map[string][]given

// resolve reads every setting from the flags of c, the environment and the file of --config, in this order of
// precedence. The warnings list names that are not settings. The error is a usageError with every mistake.
func resolve(c *cobra.Command, environ []string) (cfg config, warnings []string, err error) {
	var wrong mistakes
	table := settings()
	flags, fromEnv := flagSource(c, table), source{}
	path, pathFrom := "", ""
	for _, pair := range environ {
		key, value, _ := strings.Cut(pair, "=")
		switch {
		case !strings.HasPrefix(key, "HOLDFAST_") || value == "":
		case key == "HOLDFAST_CONFIG":
			path, pathFrom = value, "environment HOLDFAST_CONFIG"
		case fromEnv.take(table, key, value, "environment "+key):
		case key == "HOLDFAST_PORT" || strings.HasPrefix(key, "HOLDFAST_PORT_") ||
			strings.HasPrefix(key, "HOLDFAST_SERVICE_"):
			// Kubernetes sets these in every pod of a namespace with a service named holdfast. They are not settings.
		default:
			warnings = append(warnings, ignored("environment "+key, table, key))
		}
	}
	if f := c.Flags().Lookup(configFlag); f != nil && f.Changed {
		path, pathFrom = f.Value.String(), "flag --config"
	}
	fromFile := source{}
	if path != "" {
		var unknown []string
		fromFile, unknown = fileSource(path, pathFrom, table, &wrong)
		warnings = append(warnings, unknown...)
	}

	cfg.given = make(map[string]given, len(table))
	there := make(map[string]bool, len(table))
	for _, s := range table {
		g, err := s.choose(flags[s.name], fromEnv[s.name], fromFile[s.name])
		cfg.given[s.name] = g
		value := g.value
		if err == nil && g.file {
			value, err = readSecret(g.value)
		}
		if err == nil {
			err = s.set(&cfg, value)
		}
		if err != nil {
			wrong.add("%s: %w", g.from, err)
		}
		there[s.name] = value != "" || err != nil
	}
	for _, s := range table {
		if there[s.name] && c.Flags().Lookup(s.name) != nil { // a command without the flag does not use the setting
			s.miss(table, there, &wrong)
		}
	}
	if err := cfg.backups.Access.Missing(cfg.backups.Destination); err != nil && c.Flags().Lookup("backup-to") != nil {
		wrong.add("%s: %w", cfg.given["backup-to"].from, err)
	}
	return cfg, warnings, wrong.err()
}

// ignored returns the warning about a name that is not a setting.
func ignored(where string, table []setting, key string) string {
	return where + " is not a setting and was ignored" + didYouMean(table, key)
}

// miss adds a mistake for every missing setting that s requires.
func (s setting) miss(table []setting, there map[string]bool, wrong *mistakes) {
	for _, other := range table {
		if slices.Contains(s.with, other.name) && !there[other.name] {
			there[other.name] = true // report it once, and then its own requirements
			wrong.add("flag --%s (%s): is missing, but --%s needs it. Set both, or remove --%s", other.name,
				other.env(), s.name, s.name)
			other.miss(table, there, wrong)
		}
	}
}

// choose takes the value from the first source that has one, or the default. It returns an error if a source has both
// a value and a file.
func (s setting) choose(sources ...[]given) (given, error) {
	for _, list := range sources {
		if len(list) == 0 {
			continue
		}
		g := list[len(list)-1]
		if i := slices.IndexFunc(list, func(o given) bool { return o.file != g.file }); i >= 0 {
			return g, fmt.Errorf("is set twice (also by %s); remove one of the two", list[i].from)
		}
		return g, nil
	}
	return given{value: s.fallback, from: "default"}, nil
}

// byteOrderMark is what some Windows programs write at the beginning of a text file.
const byteOrderMark = "\ufeff"

// readSecret reads a secret from its file, without the line break that editors add at the end. An empty file is an
// error: without its value, a setting would have its default, so a server whose database URL is in the file would serve
// a new, empty clinic.
func readSecret(path string) (string, error) {
	b, err := os.ReadFile(path)
	value := strings.TrimRight(strings.TrimPrefix(string(b), byteOrderMark), "\r\n")
	if err == nil && value == "" {
		err = fmt.Errorf("the file %s is empty", path)
	}
	return value, err
}

// take adds value to the setting that key names, and reports whether there is such a setting.
func (src source) take(table []setting, key, value, from string) bool {
	for _, s := range table {
		file := s.secret && key == s.env()+"_FILE"
		if file || key == s.env() {
			src[s.name] = append(src[s.name], given{value: value, from: from, file: file})
			return true
		}
	}
	return false
}

func flagSource(c *cobra.Command, table []setting) source {
	src := source{}
	for _, s := range table {
		for _, name := range []string{s.name, s.name + "-file"} {
			if f := c.Flags().Lookup(name); f != nil && f.Changed {
				src[s.name] = append(src[s.name], given{value: f.Value.String(),
					from: "flag --" + name, file: name != s.name})
			}
		}
	}
	return src
}

// fileSource reads KEY=VALUE lines. It skips empty lines and lines that begin with #. It removes a comment after a
// value and one pair of quotes around it, so that a shell, systemd and a container runtime can read the same file. As
// in the environment, a key that begins with HOLDFAST_ and is not a setting causes only a warning, because the file may
// be for another version.
func fileSource(path, from string, table []setting, wrong *mistakes) (src source, warnings []string) {
	src = source{}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		wrong.add("%s: the file %s does not exist. Name an existing file, or omit --config", from, path)
		return src, nil
	}
	if err != nil {
		wrong.add("%s: %w", from, err)
		return src, nil
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		text := lines.Text()
		if n == 1 {
			text = strings.TrimPrefix(text, byteOrderMark)
		}
		line := strings.TrimSpace(text)
		if line == "" || line[0] == '#' {
			continue
		}
		where := fmt.Sprintf("%s line %d", path, n)
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			wrong.add("%s: must be KEY=VALUE", where)
			continue
		}
		if strings.HasPrefix(key, "export ") { // valid in a shell only
			wrong.add("%s: remove the word export", where)
			continue
		}
		ours := strings.HasPrefix(key, "HOLDFAST_")
		key, value = envName(key), unquote(withoutComment(value))
		switch {
		case value == "" && known(table, key):
		case key == "HOLDFAST_CONFIG":
			wrong.add("%s: a settings file cannot name another settings file", where)
		case src.take(table, key, value, where):
		case ours:
			warnings = append(warnings, ignored(where+": "+key, table, key))
		default:
			wrong.add("%s: %s is not a setting%s", where, key, didYouMean(table, key))
		}
	}
	if err := lines.Err(); err != nil {
		wrong.add("%s: %w", from, err)
	}
	return src, warnings
}

// envName converts a key of the settings file to the form HOLDFAST_X_Y. In the file, the forms x-y and X_Y are allowed
// too.
func envName(key string) string {
	key = strings.ToUpper(strings.ReplaceAll(strings.TrimSpace(key), "-", "_"))
	return "HOLDFAST_" + strings.TrimPrefix(key, "HOLDFAST_")
}

func known(table []setting, key string) bool { return source{}.take(table, key, "", "") }

// withoutComment removes a comment and the blanks around the value. A comment begins with a # after a blank, or with
// a # after the quotes.
func withoutComment(v string) string {
	text := strings.TrimSpace(v)
	if text != "" && (text[0] == '"' || text[0] == '\'') {
		if end := strings.IndexByte(text[1:], text[0]) + 2; end >= 2 {
			if rest := strings.TrimSpace(text[end:]); strings.HasPrefix(rest, "#") {
				return text[:end]
			}
		}
		return text
	}
	for i := 1; i < len(v); i++ {
		if v[i] == '#' && (v[i-1] == ' ' || v[i-1] == '\t') {
			return strings.TrimSpace(v[:i])
		}
	}
	return text
}

// quoted returns a value in a form that fileSource reads back unchanged.
func quoted(v string) string {
	if withoutComment(v) == v && unquote(v) == v {
		return v
	}
	if strings.Contains(v, `"`) {
		return "'" + v + "'"
	}
	return `"` + v + `"`
}

func unquote(v string) string {
	if n := len(v); n >= 2 && (v[0] == '"' || v[0] == '\'') && v[n-1] == v[0] {
		return v[1 : n-1]
	}
	return v
}

// didYouMean suggests the setting whose name is most similar to key, if they differ by at most 3
// edits.
func didYouMean(table []setting, key string) string {
	near := slices.MinFunc(table, func(a, b setting) int {
		return cmp.Compare(distance(a.env(), key), distance(b.env(), key))
	})
	if distance(near.env(), key) > 3 {
		return ""
	}
	return "; did you mean " + near.env() + "?"
}

// distance returns the number of single-character edits between a and b (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			edit := diagonal
			if a[i] != b[j] {
				edit++
			}
			diagonal = row[j+1]
			row[j+1] = min(edit, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}

// resolve reads the settings of c and prints the warnings.
func (p process) resolve(c *cobra.Command) (config, error) {
	cfg, warnings, err := resolve(c, p.environ)
	for _, w := range warnings {
		_, _ = fmt.Fprintln(p.stderr, "holdfast: warning: "+w)
	}
	return cfg, err
}

func configCommand(p process) *cobra.Command {
	c := groupCommand("config", "Inspect the settings")
	show := &cobra.Command{
		Use:   "print",
		Short: "Print every setting, its value and its source",
		Long: "Prints every setting with its value and where the value comes from. Secrets are not printed. You can\n" +
			"pass the output to --config.",
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := p.resolve(c)
			if err != nil {
				return err
			}
			return printConfig(p.stdout, cfg)
		},
	}
	defineSettings(show, forServing)
	c.AddCommand(show)
	return c
}

// printConfig writes the settings as a file for --config.
func printConfig(w io.Writer, cfg config) error {
	var b strings.Builder
	for _, s := range settings() {
		g := cfg.given[s.name]
		fmt.Fprintf(&b, "# %s (%s)\n", s.help, g.from)
		switch {
		case g.file:
			fmt.Fprintf(&b, "%s_FILE=%s\n\n", s.env(), g.value)
		case s.secret && g.value != "":
			fmt.Fprintf(&b, "# %s is set; its value is not printed\n\n", s.env())
		case g.value == "":
			fmt.Fprintf(&b, "# %s=\n\n", s.env())
		default:
			fmt.Fprintf(&b, "%s=%s\n\n", s.env(), quoted(g.value))
		}
	}
	_, err := io.WriteString(w, strings.TrimSuffix(b.String(), "\n"))
	return err
}
