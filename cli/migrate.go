package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"holdfast/store/postgres"
	"holdfast/store/sqlite"
)

func migrateCommand(p process) *cobra.Command {
	c := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the schema of the database up to date without serving",
		Long: "Brings the schema of the database up to date, which serve does too when it starts. Before each migration a snapshot is\n" +
			"written to backups. The server must not run.",
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := p.resolve(c)
			if err != nil {
				return err
			}
			if err := needDatabase(c.Context(), cfg.data); err != nil {
				return err
			}
			if err := needDatabase(c.Context(), cfg.data); err != nil {
				return err
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
	defineSettings(c, forData)
	return c
}
