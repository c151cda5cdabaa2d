package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"holdfast/store/postgres"
	"holdfast/store/sqlite"
)

func migrateCommand(p process) *cobra.Command {
	var to string
	var dry bool
	c := &cobra.Command{
		Use:   "migrate",
		Short: "Move the clinic to PostgreSQL or back, or bring the schema of its database up to date",
		Long: "With --to the whole clinic moves into an empty PostgreSQL (postgres://user@host/name), or out of it into a data directory\n" +
			"(sqlite:DIRECTORY): schedule, appointments, people, keys, audit and what is still to be delivered. It moves in one step, after every\n" +
			"row was compared; when it is interrupted nothing has happened and it is run again. Where it came from, it is kept and served no more.\n" +
			"Without --to the schema of the database is brought up to date, which serve does too when it starts. Before each migration of a\n" +
			"SQLite file a snapshot is written to backups. No server may run on either.",
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := p.resolve(c)
			if err != nil {
				return err
			}
			if dry && to == "" {
				return errors.New("--dry-run says what would move, so it needs --to")
			}
			if err := needDatabase(c.Context(), cfg.data); err != nil {
				return err
			}
			if to != "" {
				return p.move(c.Context(), cfg, to, dry)
			}
			h, err := openHouse(c.Context(), cfg, houseOptions{version: p.version, log: newLog(cfg, p.stderr), exclusive: true})
			if err != nil {
				return err
			}
			where, version := h.dir.path, sqlite.SchemaVersion()
			if cfg.database != "" {
				where, version = "PostgreSQL", postgres.SchemaVersion()
			}
			_, err = fmt.Fprintf(p.stdout, "the schema in %s is at version %d\n", where, version)
			return errors.Join(err, h.close())
		},
	}
	c.Flags().StringVar(&to, "to", "", "where to move the clinic: postgres://user@host/name, or sqlite:DIRECTORY")
	c.Flags().BoolVar(&dry, "dry-run", false, "count what would move, and move nothing")
	defineSettings(c, forData)
	return c
}
