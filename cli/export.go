package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"

	"github.com/spf13/cobra"
)

func exportCommand(p process) *cobra.Command {
	c := &cobra.Command{
		Use:   "export",
		Short: "Export the clinic to a file",
		Long: "Prints the clinic as a clinic file: settings, specialists, hours, overrides, blocks and appointment\n" +
			"types. The file contains no appointments and no credentials; to save those, use backup. The command\n" +
			"works whether or not the server is running.",
		Args: noArguments,
		RunE: p.throughAdmin(func(ctx context.Context, admin *adminClient, _ config, _ []string) error {
			b, err := admin.do(ctx, http.MethodGet, "/v1/export", nil)
			if err != nil {
				return err
			}
			var out bytes.Buffer
			if err := json.Indent(&out, bytes.TrimSpace(b), "", "  "); err != nil {
				return err
			}
			out.WriteByte('\n')
			_, err = out.WriteTo(p.stdout)
			return err
		}),
	}
	defineSettings(c, forData)
	return c
}
