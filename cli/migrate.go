package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
)

func migrateCommand(p process) *cobra.Command {
	var to string
	var dry bool
	c := &cobra.Command{
		Use:   "migrate",
		Short: "Move the clinic to another database, or migrate its schema",
		Long: "With --to, the command moves the whole clinic into an empty PostgreSQL database " +
			"(postgres://user@host/name), or from PostgreSQL\n" +
			"into a data directory (sqlite:DIRECTORY): schedule, appointments, people, keys, audit log and queue. " +
			"It compares every row.\n" +
			"If it is interrupted, run it again: it continues. Until it has finished, the clinic stays at the old " +
			"database. Afterwards the\n" +
			"old database is stored but no server serves it.\n" +
			"Without --to, the command is the same as upgrade. No server may be running on either database.",
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := p.resolve(c)
			if err != nil {
				return err
			}
			if dry && to == "" {
				return errors.New("--dry-run needs --to")
			}
			if err := needDatabase(c.Context(), cfg.data); err != nil {
				return err
			}
			if to != "" {
				return p.watched(c.Context(), func(ctx context.Context) error { return p.move(ctx, cfg, to, dry) })
			}
			return p.upgrade(c.Context(), cfg)
		},
	}
	c.Flags().StringVar(&to, "to", "", "new database of the clinic: postgres://user@host/name, or sqlite:DIRECTORY")
	c.Flags().BoolVar(&dry, "dry-run", false, "count the rows to move, without moving them")
	defineSettings(c, forData)
	return c
}
