package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holdfast/engine/timed"
	"holdfast/store"
	"holdfast/store/backup"
	"holdfast/store/disk"
)

// backupSettings returns the rows of the settings table about backups.
func backupSettings() []setting {
	return []setting{
		{
			name: "backup-at", fallback: "03:00", audience: forServing,
			group: "Backups", value: "HH:MM|off", help: "time of the daily backup, in the clinic's time zone",
			more: "A missed backup is made one minute after the next start.",
			set:  func(c *config, v string) error { return c.backups.ParseAt(v) },
		}, {
			name: "backup-keep", fallback: "7,4,12", audience: forServing,
			group: "Backups", value: "D,W,M", help: "number of daily, weekly and monthly backups to keep",
			more: "Older ones are deleted. Backups made with `holdfast backup` are never deleted.",
			set:  func(c *config, v string) (err error) { c.backups.Keep, err = backup.ParseKeep(v); return err },
		}, {
			name: "backup-to", audience: forServing,
			common: true, group: "Backups", value: "DIR|URL",
			help: "backup destination: a directory on another disk, or s3://bucket/prefix",
			more: "The directory must already exist: if the server created it, copies could end up on the wrong " +
				"disk while the intended disk is not mounted. The server encrypts the copies once you have created a " +
				"key (`holdfast backup-key`). See [A bucket as the backup " +
				"destination](backup.md#a-bucket-as-the-backup-destination).",
			set: func(c *config, v string) (err error) {
				c.backups.Destination, err = backup.ParseDestination(v)
				return err
			},
		}, {
			name: "backup-every", fallback: "1m", audience: forServing,
			group: "Backups", value: "DURATION|off",
			help: "interval between incremental backups to --backup-to; SQLite only",
			more: "See [incremental backups](backup.md#incremental-backups).",
			set:  func(c *config, v string) (err error) { c.backups.Every, err = backup.ParseEvery(v); return err },
		}, {
			name: "after-rollback", fallback: "false", yes: true, audience: forServing,
			group: "Backups", value: "true|false", help: "use once, after restoring a snapshot of the data directory",
			more: "Set this flag for one start only. The server looks up every earlier booking in the " +
				"practice-management " +
				"system before writing it. Copies at `--backup-to` may be newer than the data directory. " +
				"See [after a rollback](backup.md#after-a-rollback-of-the-machine).",
			set: func(c *config, v string) error { c.afterRollback = v == "true"; return oneOf(v, "true", "false") },
		}, {
			name: "backup-s3-endpoint", audience: forServing | forCopies,
			group: "Backups", value: "URL", help: "S3 endpoint, such as https://s3.example.net; " +
				"default: AWS",
			set: func(c *config, v string) (err error) {
				c.backups.Access.Endpoint, err = backup.ParseEndpoint(v)
				return err
			},
		}, {
			name: "backup-s3-region", fallback: "us-east-1", audience: forServing | forCopies,
			group: "Backups", value: "REGION", help: "region of the bucket",
			set: func(c *config, v string) (err error) {
				c.backups.Access.Region, err = backup.ParseRegion(v)
				return err
			},
		}, {
			name: "backup-s3-access-key", with: []string{"backup-s3-secret-key"}, audience: forServing | forCopies,
			group: "Backups", value: "KEY", help: "access key for the bucket",
			more: "Needs `--backup-s3-secret-key`.",
			set: func(c *config, v string) (err error) {
				c.backups.Access.AccessKey, err = backup.ParseAccessKey(v)
				return err
			},
		}, {
			name: "backup-s3-secret-key", secret: true, with: []string{"backup-s3-access-key"},
			audience: forServing | forCopies, group: "Backups", value: "KEY", help: "secret key for the bucket",
			set: func(c *config, v string) (err error) {
				c.backups.Access.SecretKey, err = backup.ParseAccessKey(v)
				return err
			},
		},
	}
}

// backupBody is the body of POST /local/backups, and of its response.
type backupBody struct {
	To string `json:"to"` // absolute path of a directory that does not exist yet; empty means a new one in backups
}

func backupCommand(p process) *cobra.Command {
	var to string
	c := &cobra.Command{
		Use:   "backup",
		Short: "Back up the database and the keys",
		Long: "Writes a verified copy of the database and the keys to a new directory, and prints its path. The\n" +
			"server may be running. The copy contains personal data and the keys that sign links, so protect it\n" +
			"like the original.",
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := p.resolve(c)
			if err != nil {
				return err
			}
			if to != "" {
				// The server may have a different working directory.
				if to, err = filepath.Abs(to); err != nil {
					return err
				}
			}
			return p.withAdmin(c.Context(), cfg, func(ctx context.Context, admin *adminClient) error {
				var made backupBody
				err := p.watchedAt(ctx, admin, func(ctx context.Context) error {
					return admin.call(ctx, http.MethodPost, "/local/backups", backupBody{To: to}, &made)
				})
				if err != nil {
					return fmt.Errorf("no backup was made: %w", err)
				}
				_, err = fmt.Fprintln(p.stdout, made.To)
				return err
			})
		},
	}
	c.Flags().StringVar(&to, "to", "", "directory to create; default: a new one in the data directory's backups")
	completesDirectories(c, "to")
	defineSettings(c, forData)
	return c
}

// makeBackup handles POST /local/backups.
func (h *house) makeBackup(w http.ResponseWriter, r *http.Request) {
	var ask backupBody
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<10)).Decode(&ask); err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	ask.To = cmp.Or(ask.To, h.backups.NewPath(time.Now()))
	if err := h.backups.Create(store.WithProgress(r.Context(), h.progress.begin), ask.To); err != nil {
		refuse(w, statusOf(err), err)
		return
	}
	h.log.Info("backup written", "directory", ask.To)
	answer(w, ask)
}

// newBackups returns the backups of this server. It is called before h.engine is set. Only its callbacks use the
// engine, and only while a backup is being made.
func (h *house) newBackups(plan backup.Plan) *backup.Backups {
	return backup.New(backup.Options{
		Data: h.dir.path, Store: h.store, Plan: plan, Logger: h.log,
		Zone: func() *time.Location { return h.engine.Clinic.Zone() },
		DatabaseBytes: func() (uint64, bool) {
			m, known := h.engine.Record.Measurements()
			return uint64(m.Bytes), known
		},
		Notify: func(ctx context.Context, last time.Time, reason string) error {
			return h.engine.Message.NotifyOfBackups(ctx, last, reason)
		},
	})
}

// lastBackup returns the time of the last good backup. It returns the zero time if there is none, and false if there is
// none and this server makes no daily backups: another node makes them.
func (h *house) lastBackup() (time.Time, bool) {
	last, err := h.backups.Last()
	if err != nil {
		return time.Time{}, h.backups.Plan.Daily || !errors.Is(err, backup.ErrNone)
	}
	return last, true
}

// keepDaily makes the daily backups until ctx ends. It checks once a minute whether a backup is due, so the first
// backup starts at the earliest one minute after the server.
func (h *house) keepDaily(ctx context.Context) {
	if !h.backups.Plan.Daily {
		return
	}
	d := h.backups.Daily()
	d.CheckDestination(ctx)
	timed.Every(ctx, time.Minute, func(now time.Time) { d.Run(ctx, now) })
}

// keepFollowing writes incremental backups until ctx ends, and then one more with the last changes.
func (h *house) keepFollowing(ctx context.Context) {
	f := h.backups.Follower()
	if f == nil {
		return
	}
	timed.Every(ctx, h.backups.Plan.Every, func(now time.Time) { f.Run(ctx, now) })
	f.Finish(ctx)
	if err := f.Close(); err != nil {
		h.log.Warn("failed to close the connection for incremental backups", "error", err)
	}
}

func backupKeyCommand(p process) *cobra.Command {
	var replace bool
	c := &cobra.Command{
		Use:   "backup-key",
		Short: "Create the encryption key for backup copies (printed once)",
		Long: "Creates a key pair and prints the private key. From then on, copies at the backup destination\n" +
			"(--backup-to) are encrypted. The server stores only the public key, so the copies can be read only\n" +
			"with the printed key. The server may be running. Backups in the data directory are not encrypted.",
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := p.resolve(c)
			if err != nil {
				return err
			}
			if disk.Size(filepath.Join(cfg.data, databaseFile)) < 0 &&
				disk.Size(filepath.Join(cfg.data, secretFile)) < 0 {
				return fmt.Errorf("there is no clinic in %s. Set --data to the data directory of the clinic", cfg.data)
			}
			err = backup.CreateKey(cfg.data, replace, func(key backup.Key) error {
				_, err := io.WriteString(p.stdout, keyText(key))
				return err
			})
			return errors.Join(err, handBack(cfg.data))
		},
	}
	c.Flags().BoolVar(&replace, "replace", false, "replace an existing key; older copies still "+
		"need the old key")
	defineSettings(c, forData)
	return c
}

// keyText returns the text with the backup key, which the clinic prints on paper.
func keyText(key backup.Key) string {
	return "# The key for this clinic's backups. Print it, and do not store it on the server. It is shown only once. " +
		"Without\n# it, the copies at the backup destination cannot be opened. To restore a copy on any machine:\n" +
		"#   holdfast restore --key FILE auto-…           FILE has these lines, or - to type the key\n" +
		"# You can also decrypt the copies with the age program. The key in groups, for typing:\n" +
		"#   " + key.Groups() + "\n" + key.String() + "\n"
}

// maxKeyText is the maximum size of a key file, in bytes.
const maxKeyText = 64 << 10

// readBackupKey reads the key from a file, or from standard input for "-".
func (p process) readBackupKey(file string) (backup.Key, error) {
	var from io.Reader = p.stdin
	if file == "-" {
		fmt.Fprintln(p.stderr, "Type the backup key, then an empty line:")
	} else {
		f, err := os.Open(file)
		if err != nil {
			return backup.Key{}, err
		}
		defer f.Close()
		from = f
	}
	text, err := readToEmptyLine(io.LimitReader(from, maxKeyText), file == "-")
	if err != nil {
		return backup.Key{}, err
	}
	return backup.ParseKey(text)
}

// readToEmptyLine reads to the end of the input. If typed is set, it stops at the first empty line after some text.
func readToEmptyLine(from io.Reader, typed bool) (string, error) {
	var text []byte
	one := make([]byte, 1)
	for {
		n, err := from.Read(one)
		text = append(text, one[:n]...)
		if errors.Is(err, io.EOF) || typed && len(strings.TrimSpace(string(text))) > 0 &&
			strings.HasSuffix(string(text), "\n\n") {
			return string(text), nil
		}
		if err != nil {
			return "", err
		}
	}
}
