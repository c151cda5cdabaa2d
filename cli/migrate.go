package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

func migrateCommand(p process) *cobra.Command {
	var to, toFile string
	var dry bool
	c := &cobra.Command{
		Use:   "migrate",
		Short: "Move the clinic to another database, or upgrade its schema",
		Long: "With --to, the command moves the whole clinic to an empty PostgreSQL database\n" +
			"(postgres://user@host/name), or from PostgreSQL to a data directory (sqlite:DIRECTORY): schedule,\n" +
			"appointments, people, keys, audit log and queue. Then it compares every row.\n" +
			"If the move is interrupted, run the command again to continue. Until it has finished, the clinic\n" +
			"stays in the old database. After that, no server opens the old database, and you can delete it.\n" +
			"Without --to, the command does the same as upgrade. No server may be running on either database.",
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := p.resolve(c)
			if err != nil {
				return err
			}
			if to != "" && toFile != "" {
				return errors.New("--to and --to-file are both set; remove one of the two")
			}
			if toFile != "" {
				if to, err = readSecret(toFile); err != nil {
					return fmt.Errorf("--to-file: %w", err)
				}
			}
			if dry && to == "" {
				return errors.New("--dry-run needs --to")
			}
			if err := needDatabase(c.Context(), cfg.data); err != nil {
				return err
			}
			if to != "" {
				return p.watched(c.Context(), func(ctx context.Context) error {
					return p.move(ctx, cfg, to, toFile, dry)
				})
			}
			return p.upgrade(c.Context(), cfg)
		},
	}
	c.Flags().StringVar(&to, "to", "", "new database of the clinic: postgres://user@host/name, or sqlite:DIRECTORY")
	nameValue(c.Flags(), "to", "URL")
	c.Flags().StringVar(&toFile, "to-file", "",
		"file to read --to from, so that the password is not in the process list")
	nameValue(c.Flags(), "to-file", "FILE")
	completesFiles(c, "to-file")
	c.Flags().BoolVar(&dry, "dry-run", false, "count the rows to move, without moving them")
	defineSettings(c, forData)
	return c
}
