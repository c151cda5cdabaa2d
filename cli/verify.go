package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"holdfast/store/sqlite"
)

func verifyCommand(p process) *cobra.Command {
	var asJSON *bool
	c := &cobra.Command{
		Use:   "verify [BACKUP]",
		Short: "Read the whole database, or a backup, and check every promise it has to keep",
		Long: "Reads the whole database in the data directory, while the server runs or not, and checks that nobody is double-booked,\n" +
			"that everything referred to is there, and that index and file are intact. With an argument it checks that backup instead.",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) <= 1 {
				return nil
			}
			return oneArgument("the directory of a backup")(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			cfg, err := p.resolve(c)
			if err != nil {
				return err
			}
			subject, found := "the database in "+cfg.data, checkBody{}
			if len(args) == 1 {
				subject = "the backup " + args[0]
				if err = p.verifyBackup(c.Context(), args[0]); err != nil {
					err = fmt.Errorf("%s: %w", subject, err)
				}
			} else {
				// With the queue, because it knows how far the database had come.
				err = p.withQueue(c.Context(), cfg, func(ctx context.Context, admin *adminClient) error {
					if err := admin.call(ctx, http.MethodPost, "/local/check", nil, &found); err != nil {
						return fmt.Errorf("%s: %w", subject, err)
					}
					return nil
				})
			}
			if *asJSON {
				verdict := verdictBody{Subject: subject, Sound: err == nil, Damaged: found.Damaged}
				if err != nil {
					verdict.Problem = err.Error()
				}
				return errors.Join(err, printJSON(p.stdout, verdict))
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(p.stdout, "%s is sound\n", subject)
			for _, file := range found.Damaged {
				_, _ = fmt.Fprintln(p.stdout, damagedWords(file))
			}
			return err
		},
	}
	asJSON = jsonFlag(c)
	defineSettings(c, forData)
	return c
}

// verdictBody is what verify --json prints, whatever it found.
type verdictBody struct {
	Subject string   `json:"subject"`
	Sound   bool     `json:"sound"`
	Problem string   `json:"problem,omitempty"`
	Damaged []string `json:"damaged,omitempty"` // queue files that were moved aside
}

// checkBody is what a check found that is no reason to distrust the database.
type checkBody struct {
	Damaged []string `json:"damaged,omitempty"` // queue files that were moved aside
}

// check answers POST /check.
func (h *house) check(w http.ResponseWriter, r *http.Request) {
	if err := h.store.Check(r.Context()); err != nil {
		refuse(w, http.StatusConflict, h.withRemedy(err))
		return
	}
	answer(w, checkBody{h.dir.damagedQueues()})
}

// verifyBackup checks a copy of the backup, so that the backup itself stays as it is.
func (p process) verifyBackup(ctx context.Context, backup string) error {
	if err := refuseScript(backup); err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "holdfast-verify-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	return checkCopy(ctx, databaseOf(backup), filepath.Join(scratch, databaseFile))
}

// databaseOf is the database file of a backup, which is a directory, or of a snapshot, which is the file itself.
func databaseOf(backup string) string {
	if info, err := os.Stat(backup); err == nil && !info.IsDir() {
		return backup
	}
	return filepath.Join(backup, databaseFile)
}

// regular refuses what is not a file: reading a pipe would wait for ever.
func regular(path string) error {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file", path)
	}
	return err
}

// checkCopy copies a database file that nobody has open, brings the copy's schema up to date, and checks every promise.
func checkCopy(ctx context.Context, from, to string) error {
	if err := regular(from); err != nil {
		return err
	}
	if err := copyFile(from, to); err != nil {
		return err
	}
	s, err := sqlite.Open(ctx, sqlite.Options{Path: to})
	if err != nil {
		return err
	}
	return errors.Join(s.Check(ctx), s.Close())
}
