package cli

import (
	"errors"

	"github.com/spf13/cobra"
)

func migrateCommand(p process) *cobra.Command {
	var to string
	var dry bool
	c := &cobra.Command{
		Use:   "migrate",
		Short: "Move the clinic to another database, or migrate its schema",
		Long: "With --to the whole clinic moves into an empty PostgreSQL (postgres://user@host/name), or out of it into a data directory\n" +
			"(sqlite:DIRECTORY): schedule, appointments, people, keys, audit and what is still to be delivered. Every row is compared.\n" +
			"When it is interrupted, run it again: it goes on where it stopped, and until its end the clinic is where it was. Where it came from, it is kept and served no more.\n" +
			"Without --to it is the same as upgrade. No server may run on either.",
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
			return p.upgrade(c.Context(), cfg)
		},
	}
	c.Flags().StringVar(&to, "to", "", "where to move the clinic: postgres://user@host/name, or sqlite:DIRECTORY")
	c.Flags().BoolVar(&dry, "dry-run", false, "count what would move, and move nothing")
	defineSettings(c, forData)
	return c
}
