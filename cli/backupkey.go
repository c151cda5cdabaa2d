package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"filippo.io/age"
	"github.com/spf13/cobra"
)

func backupKeyCommand(p process) *cobra.Command {
	var replace bool
	c := &cobra.Command{
		Use:   "backup-key",
		Short: "Create the key that seals backup copies (printed once)",
		Long: "Makes a key and prints the half that opens. From then on the copies at the backup destination (--backup-to) are sealed: the server\n" +
			"keeps the half that seals, and nobody who has the copies, or this machine, can read them without the paper. The server may run.\n" +
			"Backups in the data directory stay as they are.",
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := p.resolve(c)
			if err != nil {
				return err
			}
			if size(filepath.Join(cfg.data, databaseFile)) < 0 && size(filepath.Join(cfg.data, secretFile)) < 0 {
				return fmt.Errorf("there is no clinic in %s: name its data directory with --data", cfg.data)
			}
			return newBackupKey(cfg.data, replace, func(key *age.X25519Identity) error {
				_, err := io.WriteString(p.stdout, keyWords(key))
				return err
			})
		},
	}
	c.Flags().BoolVar(&replace, "replace", false, "make a new key although there is one; older copies open with the older key only")
	defineSettings(c, forData)
	return c
}

// keyWords are what the clinic prints.
func keyWords(key *age.X25519Identity) string {
	var blocks strings.Builder
	for i, r := range strings.TrimPrefix(key.String(), keyBegin) {
		if i > 0 && i%6 == 0 {
			blocks.WriteByte(' ')
		}
		blocks.WriteRune(r)
	}
	return "# The key of this clinic's backups. Print it, and keep it where the server is not. It is shown this once, and\n" +
		"# without it nobody opens the copies at the backup destination. To restore one on any machine:\n" +
		"#   holdfast restore --key FILE auto-…           FILE has these lines, or - to type the key in\n" +
		"# The program age opens them as well. The key in groups, for whoever types it:\n#   " + keyBegin + " " + blocks.String() + "\n" +
		key.String() + "\n"
}

const keyBegin = "AGE-SECRET-KEY-1"

// readBackupKey reads the key in a file, or of what is typed or piped in for "-".
func (p process) readBackupKey(file string) (*age.X25519Identity, error) {
	var from io.Reader = p.stdin
	if file == "-" {
		fmt.Fprintln(p.stderr, "The key of the backups, and an empty line:")
	} else {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		from = f
	}
	text, err := untilEmptyLine(io.LimitReader(from, maxKeyText), file == "-")
	if err != nil {
		return nil, err
	}
	return parseBackupKey(text)
}

// untilEmptyLine reads all, or if somebody may be typing, as far as the first empty line after something.
func untilEmptyLine(from io.Reader, typed bool) (string, error) {
	var text []byte
	one := make([]byte, 1)
	for {
		n, err := from.Read(one)
		text = append(text, one[:n]...)
		if errors.Is(err, io.EOF) || typed && len(strings.TrimSpace(string(text))) > 0 && strings.HasSuffix(string(text), "\n\n") {
			return string(text), nil
		}
		if err != nil {
			return "", err
		}
	}
}
