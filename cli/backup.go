package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"holdfast/engine"
	"holdfast/store/sqlite"
)

// A backup is a directory (0700) with the two files that nothing else can bring back: the database and the keys. The
// retry queue is rebuilt from the database.

// stampFormat names backups so that their names sort by time.
const stampFormat = "20060102T150405.000Z"

// backupBody asks for a backup, and says where it is.
type backupBody struct {
	To string `json:"to"` // absolute path of a directory that does not exist yet; empty: one in backups
}

func backupCommand(p process) *cobra.Command {
	var to string
	c := &cobra.Command{
		Use:   "backup",
		Short: "Back up the database and the keys",
		Long: "Writes an intact copy of the database, and the keys, into a new directory and prints its path. The server may run.\n" +
			"The copy holds personal data and the keys that sign links: keep it as you keep the original.",
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := p.resolve(c)
			if err != nil {
				return err
			}
			if to != "" {
				// The server may have been started elsewhere.
				if to, err = filepath.Abs(to); err != nil {
					return err
				}
			}
			return p.withAdmin(c.Context(), cfg, func(ctx context.Context, admin *adminClient) error {
				var made backupBody
				if err := admin.call(ctx, http.MethodPost, "/local/backups", backupBody{To: to}, &made); err != nil {
					return fmt.Errorf("no backup was made: %w", err)
				}
				_, err := fmt.Fprintln(p.stdout, made.To)
				return err
			})
		},
	}
	c.Flags().StringVar(&to, "to", "", "directory to make; by default a new one in backups of the data directory")
	completesDirectories(c, "to")
	defineSettings(c, forData)
	return c
}

// makeBackup answers POST /backups.
func (h *house) makeBackup(w http.ResponseWriter, r *http.Request) {
	var ask backupBody
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<10)).Decode(&ask); err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	if ask.To == "" {
		ask.To = filepath.Join(h.dir.file(backupsDir), time.Now().UTC().Format(stampFormat))
	}
	if err := h.backup(r.Context(), ask.To); err != nil {
		refuse(w, statusOf(err), err)
		return
	}
	h.log.Info("backup written", "directory", ask.To)
	answer(w, ask)
}

// backup makes the directory at path, whole or not at all.
func (h *house) backup(ctx context.Context, path string) (err error) {
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s exists already; a backup is a directory of its own, so name a new one", path)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	partial, err := os.MkdirTemp(filepath.Dir(path), ".backup-*") // made with 0700
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(partial))
		}
	}()
	copied := filepath.Join(partial, h.copyName())
	if err := h.store.Backup(ctx, copied); err != nil {
		return err
	}
	if h.copyName() == databaseFile {
		if _, err := sqlite.Verify(ctx, copied); err != nil {
			return fmt.Errorf("the copy is not sound: %w. Run holdfast verify to see whether the database is", err)
		}
	}
	if err := copyFile(h.dir.file(secretFile), filepath.Join(partial, secretFile)); err != nil {
		return err
	}
	if err := syncDir(partial); err != nil {
		return err
	}
	if err := os.Rename(partial, path); err != nil {
		return err
	}
	// Only for who asks how old the last backup is, so a failure is not one of the backup.
	if err := os.WriteFile(h.dir.file(backupMark), nil, 0o600); err == nil {
		_ = os.Chtimes(h.dir.file(backupMark), time.Time{}, time.Now())
	}
	return syncDir(filepath.Dir(path))
}

// lastBackup is when the last backup of this directory was made, wherever it was put: the mark says so, or, where there is
// none, the name of the newest in backups. engine.ErrNoBackup.
func (d *dataDir) lastBackup() (last time.Time, err error) {
	if mark, err := os.Stat(d.file(backupMark)); err == nil {
		last = mark.ModTime()
	}
	entries, err := os.ReadDir(d.file(backupsDir))
	for _, e := range entries {
		if at, _, ok := madeAt(e.Name()); ok && at.After(last) {
			last = at
		}
	}
	switch {
	case !last.IsZero():
		return last, nil
	case err == nil:
		err = engine.ErrNoBackup
	}
	return last, err
}

// copyFile writes a durable copy that only its owner can read. The target must not exist.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = out.ReadFrom(in)
	return errors.Join(err, out.Sync(), out.Close())
}
