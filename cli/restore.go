package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"holdfast/engine/token"
	"holdfast/store/sqlite"
)

func restoreCommand(p process) *cobra.Command {
	c := &cobra.Command{
		Use:   "restore BACKUP",
		Short: "Put a backup in the place of the data directory's database and keys",
		Long: "Checks a copy of the backup first, then puts it in the place of the database and keys in the data directory. What was\n" +
			"there is kept in backups/replaced-…, never deleted. The server must not run. A snapshot (a .db file from backups) can\n" +
			"be restored too; the keys then stay as they are.",
		Args: oneArgument("the directory of a backup, or a snapshot file"),
		RunE: func(c *cobra.Command, args []string) error {
			cfg, err := p.resolve(c)
			if err != nil {
				return err
			}
			kept, err := restore(c.Context(), cfg, args[0], time.Now())
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(p.stdout, "restored %s into %s\n", args[0], cfg.data)
			if err == nil && kept != "" {
				_, err = fmt.Fprintf(p.stdout, "what was there is in %s\n", kept)
			}
			return err
		},
	}
	defineSettings(c, forData)
	return c
}

// restore returns the directory with what the backup replaced, empty if there was nothing. Until the backup's copy has
// proved sound, nothing is changed.
func restore(ctx context.Context, cfg config, backup string, now time.Time) (kept string, err error) {
	database := databaseOf(backup)
	if _, err := os.Stat(database); err != nil {
		return "", fmt.Errorf("%s is no backup: %w", backup, err)
	}
	keys, err := backupKeys(backup)
	if err != nil {
		return "", err
	}
	dir, err := openDataDir(cfg.data, now, lockPatience)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, dir.close()) }()

	fresh, err := os.MkdirTemp(dir.path, ".restore-*")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(fresh)
	if err := checkCopy(ctx, database, filepath.Join(fresh, databaseFile)); err != nil {
		return "", fmt.Errorf("%s was not restored, and nothing was changed: %w", backup, err)
	}
	if kept, err = dir.keepReplaced(ctx, now); err != nil {
		return "", fmt.Errorf("nothing was changed: %w", err)
	}
	// SQLite would take a log that stays behind for the new file's own.
	for _, name := range []string{databaseFile + "-wal", databaseFile + "-shm", queueFile} {
		if err := os.Remove(dir.file(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return kept, err
		}
	}
	if keys != nil {
		if err := writeKeys(dir.file(secretFile), keys); err != nil {
			return kept, err
		}
	}
	if err := os.Rename(filepath.Join(fresh, databaseFile), dir.file(databaseFile)); err != nil {
		return kept, err
	}
	return kept, syncDir(dir.path)
}

// backupKeys reads the keys of a backup; nil for a snapshot, which has none.
func backupKeys(backup string) (*token.Keyring, error) {
	info, err := os.Stat(backup)
	if err != nil || !info.IsDir() {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(backup, secretFile))
	if err != nil {
		return nil, fmt.Errorf("%s is no whole backup: %w", backup, err)
	}
	keys, err := token.ParseKeyring(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(backup, secretFile), err)
	}
	return keys, nil
}

// keepReplaced links the files that a restore replaces into a new directory, so that they outlive it. It returns an
// empty path if there is no database.
func (d *dataDir) keepReplaced(ctx context.Context, now time.Time) (string, error) {
	if _, err := os.Stat(d.file(databaseFile)); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	// Opening and closing brings what is still in the log into the file. One that does not open is kept as it is.
	if s, err := sqlite.Open(ctx, sqlite.Options{Path: d.file(databaseFile), SnapshotDir: d.file(backupsDir)}); err == nil {
		if err := s.Close(); err != nil {
			return "", err
		}
	}
	kept := filepath.Join(d.file(backupsDir), "replaced-"+now.UTC().Format(stampFormat))
	if err := os.Mkdir(kept, 0o700); err != nil {
		return "", err
	}
	for _, name := range []string{databaseFile, databaseFile + "-wal", databaseFile + "-shm", queueFile, secretFile} {
		if err := os.Link(d.file(name), filepath.Join(kept, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return kept, syncDir(kept)
}
