package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holdfast/engine/token"
	"holdfast/store/backup"
)

func restoreCommand(p process) *cobra.Command {
	var list bool
	var keyFile, until string
	c := &cobra.Command{
		Use:   "restore BACKUP | restore --list [DESTINATION…]",
		Short: "Restore a backup",
		Long: "Verifies a copy of the backup, then replaces the database and the keys in the data directory. The\n" +
			"server must not be running. The replaced files are moved to backups/replaced-…, which the server\n" +
			"deletes after the period in --backup-keep (28 days by default). All users are signed out, and the\n" +
			"command lists the API keys that are valid again.\n" +
			"\n" +
			"BACKUP is one of these:\n" +
			"  a directory    written by backup, or by the server every day (auto-…)\n" +
			"  a .db file     a snapshot from backups; the keys are not replaced\n" +
			"  trail-…        an incremental backup, restored up to its last intact increment, or up to --until\n" +
			"  s3://…         any of these in a bucket, as printed by --list; set the --backup-s3-… settings\n" +
			"\n" +
			"To restore an encrypted copy (its files end in .age), you need the key that backup-key printed. Pass\n" +
			"the file that contains it with --key, or type it with --key -.\n" +
			"With --list, the command restores nothing. It lists the backups in the data directory and at each\n" +
			"DESTINATION, a directory or a bucket.",
		Args: func(c *cobra.Command, args []string) error {
			if list {
				return nil
			}
			return oneArgument("the directory of a backup, or a snapshot file")(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			cfg, err := p.resolve(c)
			if err != nil {
				return err
			}
			if list {
				return listBackups(c.Context(), p.stdout, cfg, args)
			}
			moment, err := parseUntil(until, args[0])
			if err == nil {
				err = cfg.backups.Access.Check(backup.DestinationOf(args[0]))
			}
			if err != nil {
				return usageError{err}
			}
			return p.watched(c.Context(), func(ctx context.Context) error {
				return p.restore(ctx, cfg, args[0], keyFile, moment)
			})
		},
	}
	c.Flags().StringVar(&until, "until", "",
		"leave out increments made after this time, such as 2026-11-23T09:30:00Z")
	nameValue(c.Flags(), "until", "INSTANT")
	c.Flags().StringVar(&keyFile, "key", "", "file with the key of an encrypted copy, or - to type the key")
	nameValue(c.Flags(), "key", "FILE")
	c.Flags().BoolVar(&list, "list", false, "print the backups, newest first, without restoring any")
	defineSettings(c, forData|forCopies)
	return c
}

// restore opens the backup, replaces the data directory's files with it, and prints what the operator must do next.
func (p process) restore(ctx context.Context, cfg config, path, keyFile string, until time.Time) (err error) {
	b, err := p.openBackup(ctx, cfg, path, keyFile, until)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	now := time.Now()
	dir, err := openDataDir(cfg.data, now, lockPatience)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.close()) }()
	if dir.refusePostgres() != nil {
		return fmt.Errorf("the data directory %s belongs to a PostgreSQL clinic, but %s is a backup of SQLite. "+
			"Restore it into another directory with --data", dir.path, path)
	}
	done, err := b.Restore(ctx, dir.path, now)
	if err != nil {
		return err
	}
	newer, unlisted := b.Newer(ctx, done.Mark)
	_, err = io.WriteString(p.stdout, restoredText(path, cfg.data, b.Replayed, done, newer, unlisted))
	return err
}

// openBackup prepares a backup for a restore. keyFile names the file with the key of a sealed backup; empty means that
// no key is given.
func (p process) openBackup(ctx context.Context, cfg config, path, keyFile string,
	until time.Time) (*backup.Opened, error) {
	o := backup.OpenOptions{
		Path: path, Data: cfg.data, Access: cfg.backups.Access, Until: until,
		ParseKeys: func(text []byte) ([]byte, error) {
			keys, err := token.ParseKeyring(text)
			if err != nil {
				return nil, err
			}
			return keys.Marshal(), nil
		},
	}
	if keyFile != "" {
		o.ReadKey = func() (backup.Key, error) { return p.readBackupKey(keyFile) }
	}
	return backup.Open(ctx, o)
}

// parseUntil parses the instant up to which an incremental backup is restored. The zero value means the end of the
// backup.
func parseUntil(text, path string) (until time.Time, err error) {
	if text == "" {
		return until, nil
	}
	if until, err = time.Parse(time.RFC3339, text); err != nil {
		return until, fmt.Errorf("--until: %q must be a time such as 2026-11-23T09:30:00Z", text)
	}
	if !backup.IsIncremental(path) {
		return until, fmt.Errorf("--until applies to incremental backups only, and %s is not an incremental "+
			"backup", path)
	}
	return until, nil
}

// restoredText returns the output of restore.
func restoredText(path, data string, replayed *backup.Replayed, done backup.Restored, newer []backup.Incremental,
	unlisted error) string {
	var b strings.Builder
	fmt.Fprintf(&b, "restored %s into %s\n", path, data)
	if replayed != nil {
		fmt.Fprintf(&b, "the restored data ends at %s: %s since %s\n", replayed.Last.Format(time.RFC3339),
			backup.Increments(replayed.Steps), replayed.Begun.Format(time.RFC3339))
		if replayed.Broken != nil {
			fmt.Fprintf(&b, "later changes were NOT restored: %v\n", replayed.Broken)
		}
	}
	if len(newer) > 0 {
		b.WriteString("these newer incremental backups of the same database were NOT restored. If you want " +
			"the latest data, restore the last one:\n")
	}
	for _, i := range newer {
		fmt.Fprintf(&b, "  %s  up to %s\n", i.Path, i.Last.UTC().Format(time.RFC3339))
	}
	if unlisted != nil {
		fmt.Fprintf(&b, "there may be newer incremental backups of the same database next to this backup, but they "+
			"could not be listed: %v\n", unlisted)
	}
	if done.Replaced != "" {
		fmt.Fprintf(&b, "the replaced files are in %s\n", done.Replaced)
	}
	if done.SignIns > 0 {
		fmt.Fprintf(&b, "all users have been signed out: %d sign-ins in the backup were revoked\n", done.SignIns)
	}
	if len(done.Revived) > 0 {
		b.WriteString("these API keys are valid again. To revoke one, run: holdfast apikey " +
			"revoke --data " + data + " ID\n")
	}
	for _, k := range done.Revived {
		fmt.Fprintf(&b, "  %s  %s, scope %s, begins with %s…\n", k.ID, k.Name, k.Scope, k.Prefix)
	}
	// Neither the backup nor the server has a list of the erasures that the backup does not contain.
	b.WriteString("people who were erased after the backup was made are stored again: erase them again\n")
	// A desk's browser deletes its stored downtime plan when its sign-in is no longer valid.
	b.WriteString("BEFORE you start the server again: open the last downtime plan at /staff/plan at each desk and " +
		"print it. Bookings made after\n" +
		"the backup may exist nowhere else, and a browser deletes the plan once it is signed out\n")
	return b.String()
}

// listBackups prints the backups in the data directory and at the given backup destinations, newest first.
func listBackups(ctx context.Context, to io.Writer, cfg config, places []string) error {
	for _, place := range places {
		if err := cfg.backups.Access.Check(place); err != nil {
			return usageError{err}
		}
	}
	all, err := backup.List(ctx, cfg.data, cfg.backups.Access, places)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		searched := append([]string{filepath.Join(cfg.data, backupsDir)}, places...)
		_, err := fmt.Fprintf(to, "no backups in %s\n", strings.Join(searched, ", "))
		return err
	}
	for _, b := range all {
		line := fmt.Sprintf("%s  %7.1f MB  %s  %s", b.Made.Format(time.RFC3339), float64(b.Bytes)/1e6, b.Path, b.Note)
		if _, err := fmt.Fprintln(to, strings.TrimRight(line, " ")); err != nil {
			return err
		}
	}
	return nil
}
