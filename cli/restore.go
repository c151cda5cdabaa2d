package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"filippo.io/age"
	"github.com/spf13/cobra"

	"holdfast/engine/token"
	"holdfast/store"
	"holdfast/store/sqlite"
)

func restoreCommand(p process) *cobra.Command {
	var list bool
	var keyFile, until string
	c := &cobra.Command{
		Use:   "restore BACKUP | restore --list [PLACE…]",
		Short: "Restore a backup",
		Long: "Checks a copy of the backup first, then puts it in the place of the database and keys in the data directory. What was\n" +
			"there is moved to backups/replaced-…, which the server deletes after some weeks. The server must not run. Everybody is signed out, and the API keys\n" +
			"that come back to life are listed. A snapshot (a .db file from backups) can be restored too; the keys then stay as\n" +
			"they are. A sealed copy (its files end in .age) needs the key that backup-key printed, in a file or typed in with --key -.\n" +
			"A trail (trail-… of the backup destination) is restored up to its last whole step, or up to an instant with --until.\n" +
			"What is in a bucket is named as --list names it, s3://bucket/prefix/…, and brought here first; see --backup-s3-endpoint and what follows it.\n" +
			"With --list nothing is restored: it prints the backups in the data directory and in the directories and buckets named.",
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
				return cfg.listBackups(c.Context(), p.stdout, args)
			}
			moment, err := parseUntil(until, args[0])
			if err != nil {
				return usageError{err}
			}
			backup, key, clear, err := p.opened(c.Context(), cfg, args[0], keyFile, moment)
			if err != nil {
				return err
			}
			done, err := restore(c.Context(), cfg, backup.dir, time.Now())
			done.copied = backup.copied
			if err == nil {
				done.newer, done.unlisted = cfg.newerTrails(c.Context(), args[0], backup.last, done.mark)
			}
			if err == nil && key != nil {
				// The next copies are sealed for the paper that opened this one.
				err = replaceFile(filepath.Join(cfg.data, recipientFile), []byte(key.Recipient().String()+"\n"))
			}
			if err := errors.Join(err, clear()); err != nil {
				return err
			}
			_, err = fmt.Fprint(p.stdout, done.words(args[0], cfg.data))
			return err
		},
	}
	c.Flags().StringVar(&until, "until", "", "of a trail, leave out the steps made after this instant, such as 2026-11-23T09:30:00Z")
	c.Flags().StringVar(&keyFile, "key", "", "the file with the key of a sealed copy, or - to type it in")
	c.Flags().BoolVar(&list, "list", false, "print the backups there are, the newest first, and restore none")
	defineSettings(c, forData|forCopies)
	return c
}

// openedBackup is the directory of a backup as it can be restored.
type openedBackup struct {
	dir    string
	copied string    // what is said of a trail
	last   time.Time // of a trail, when the last step that was followed was made
}

// opened makes a backup ready: a sealed copy is opened first, with the key that is read (nil if it is not sealed), and a trail is put
// together, into a directory that clear removes.
func (p process) opened(ctx context.Context, cfg config, backup, keyFile string, until time.Time) (o openedBackup, key *age.X25519Identity, clear func() error, err error) {
	clear = func() error { return nil }
	defer func() {
		if err != nil {
			err = errors.Join(err, clear())
		}
	}()
	called := backup
	if strings.HasPrefix(backup, bucketScheme) {
		if backup, clear, err = cfg.fetched(ctx, backup); err != nil {
			return o, nil, clear, err
		}
	}
	sealed, trail := isSealed(backup), isTrail(backup)
	switch {
	case !sealed && keyFile != "":
		return o, nil, clear, fmt.Errorf("%s is not sealed: leave out --key", called)
	case !sealed && !trail:
		return openedBackup{dir: backup}, nil, clear, nil
	case sealed && keyFile == "":
		return o, nil, clear, fmt.Errorf("%s is sealed: give the file with its key as --key FILE, or type the key in with --key -", called)
	case sealed:
		if key, err = p.readBackupKey(keyFile); err != nil {
			return o, nil, clear, err
		}
	}
	if err := os.MkdirAll(cfg.data, 0o700); err != nil {
		return o, nil, clear, err
	}
	if o.dir, err = os.MkdirTemp(cfg.data, unsealedDir); err != nil {
		return o, nil, clear, err
	}
	fetched := clear
	clear = func() error { return errors.Join(os.RemoveAll(o.dir), fetched()) }
	if trail {
		var f followed
		f, err = followTrail(ctx, backup, called, o.dir, key, until)
		o.copied, o.last = f.words(), f.last
	} else if err = unseal(backup, called, o.dir, key); err == nil && refuseScript(o.dir) != nil {
		file, first := called+"/"+scriptFile+sealedSuffix, ""
		if strings.HasPrefix(called, bucketScheme) {
			file, first = scriptFile+sealedSuffix, "download both of its files, with any client of S3, and "
		}
		err = fmt.Errorf("%s is a backup of PostgreSQL, which psql puts back: %sopen both of its files with\n"+
			"  age --decrypt --identity FILE-WITH-THE-KEY %s >%s\nand go on as docs/cluster.md says", called, first, file, scriptFile)
	}
	if err != nil {
		return o, nil, clear, err
	}
	return o, key, clear, nil
}

// parseUntil reads the instant up to which a trail is followed; zero: its end.
func parseUntil(text, backup string) (until time.Time, err error) {
	if text == "" {
		return until, nil
	}
	if until, err = time.Parse(time.RFC3339, text); err != nil {
		return until, fmt.Errorf("--until: %q should be an instant such as 2026-11-23T09:30:00Z", text)
	}
	if _, _, named := parseTrailName(path.Base(backup)); !named && !isTrail(backup) {
		return until, fmt.Errorf("--until is about a trail, and %s is none", backup)
	}
	return until, nil
}

// restored is what a restore did.
type restored struct {
	copied   string         // what is said of a trail; empty: it was none
	mark     string         // of the database in the names of its trails
	newer    []trailAt      // that lie beside the backup and tell of what came after it
	unlisted error          // why there may be more of those
	kept     string         // the directory with what the backup replaced, empty if there was nothing
	signIns  int            // that the backup had, and that were ended
	revived  []store.APIKey // that work again, and did not before
}

func (r restored) words(backup, data string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "restored %s into %s\n%s", backup, data, r.copied)
	if len(r.newer) > 0 {
		b.WriteString("NOT restored is what these trails of the same database have, which are newer; restore the last of them if that was not meant:\n")
	}
	for _, t := range r.newer {
		fmt.Fprintf(&b, "  %s  up to %s\n", t.path, t.last.UTC().Format(time.RFC3339))
	}
	if r.unlisted != nil {
		fmt.Fprintf(&b, "whether there are newer copies of the same database beside this one could not be found out: %v\n", r.unlisted)
	}
	if r.kept != "" {
		fmt.Fprintf(&b, "what was there is in %s\n", r.kept)
	}
	if r.signIns > 0 {
		fmt.Fprintf(&b, "everybody is signed out: %d sign-ins of the backup were ended\n", r.signIns)
	}
	if len(r.revived) > 0 {
		b.WriteString("these API keys work again; revoke those that should not, with: holdfast apikey revoke --data " + data + " ID\n")
	}
	for _, k := range r.revived {
		fmt.Fprintf(&b, "  %s  %s, scope %s, begins with %s…\n", k.ID, k.Name, k.Scope, k.Prefix)
	}
	// A desk's browser takes a sign-in that is gone for one that was ended elsewhere, and deletes the plan that it keeps.
	b.WriteString("BEFORE the server is started again: open the last plan at /staff/plan on each desk and print it; what was booked after the\n" +
		"backup may be nowhere else, and a desk that finds itself signed out deletes it\n")
	return b.String()
}

// restore puts a backup in the place of what is there. Until the backup's copy has proved sound, nothing is changed.
func restore(ctx context.Context, cfg config, backup string, now time.Time) (done restored, err error) {
	if err := refuseScript(backup); err != nil {
		return done, err
	}
	database := databaseOf(backup)
	if err := regular(database); err != nil {
		return done, fmt.Errorf("%s is no backup: %w", backup, err)
	}
	keys, err := backupKeys(backup)
	if err != nil {
		return done, err
	}
	dir, err := openDataDir(cfg.data, now, lockPatience)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, dir.close()) }()
	if err := dir.refusePostgres(); err != nil {
		return done, err
	}

	fresh, err := os.MkdirTemp(dir.path, ".restore-*")
	if err != nil {
		return done, err
	}
	defer os.RemoveAll(fresh)
	if _, err := checkCopy(ctx, database, filepath.Join(fresh, databaseFile), ""); err != nil {
		return done, fmt.Errorf("%s was not restored, and nothing was changed: %w", backup, err)
	}
	if err := done.closeDoors(ctx, filepath.Join(fresh, databaseFile), dir.workingKeys(ctx), now); err != nil {
		return done, fmt.Errorf("nothing was changed: %w", err)
	}
	if done.kept, err = dir.keepReplaced(ctx, now); err != nil {
		return done, fmt.Errorf("nothing was changed: %w", err)
	}
	// SQLite would take a log that stays behind for the new file's own.
	for _, name := range []string{databaseFile + "-wal", databaseFile + "-shm", queueFile} {
		if err := os.Remove(dir.file(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return done, err
		}
	}
	if keys != nil {
		if err := writeKeys(dir.file(secretFile), keys); err != nil {
			return done, err
		}
	}
	if err := os.Rename(filepath.Join(fresh, databaseFile), dir.file(databaseFile)); err != nil {
		return done, err
	}
	return done, syncDir(dir.path)
}

// closeDoors ends the sign-ins in a database that is about to be restored: somebody whose account was closed since would be
// signed in again. It notes the API keys that will work again, which are not among those that work now.
func (r *restored) closeDoors(ctx context.Context, database string, working map[string]bool, now time.Time) error {
	s, err := sqlite.Open(ctx, sqlite.Options{Path: database})
	if err != nil {
		return err
	}
	r.mark = trailMark(s.ID())
	const atOnce = 1000
	for ended := atOnce; ended == atOnce && err == nil; r.signIns += ended {
		err = s.Write(ctx, func(tx store.Tx) (err error) {
			ended, err = tx.ForgetSignIns(ctx, now.AddDate(1000, 0, 0), atOnce)
			return err
		})
	}
	keys, unread := s.APIKeys(ctx)
	for _, k := range keys {
		if k.RevokedAt.IsZero() && !working[k.ID] {
			r.revived = append(r.revived, k)
		}
	}
	return errors.Join(err, unread, s.Close())
}

// workingKeys are the ids of the API keys that work now; none if there is no database that could be asked.
func (d *dataDir) workingKeys(ctx context.Context) map[string]bool {
	if size(d.file(databaseFile)) <= 0 {
		return nil
	}
	s, err := sqlite.Open(ctx, sqlite.Options{Path: d.file(databaseFile), SnapshotDir: d.file(backupsDir)})
	if err != nil {
		return nil
	}
	defer s.Close()
	keys, _ := s.APIKeys(ctx)
	working := map[string]bool{}
	for _, k := range keys {
		working[k.ID] = k.RevokedAt.IsZero()
	}
	return working
}

// backupKeys reads the keys of a backup; nil for a snapshot, which has none.
func backupKeys(backup string) (*token.Keyring, error) {
	info, err := os.Stat(backup)
	if err != nil || !info.IsDir() {
		return nil, err
	}
	if err := regular(filepath.Join(backup, secretFile)); err != nil {
		return nil, fmt.Errorf("%s is no whole backup: %w", backup, err)
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
	kept := filepath.Join(d.file(backupsDir), replacedPrefix+now.UTC().Format(stampFormat))
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
