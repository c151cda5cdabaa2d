package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

// jsonFlag adds --json to a command that prints data.
func jsonFlag(c *cobra.Command) *bool {
	return c.Flags().Bool("json", false, "print JSON, for programs")
}

// printJSON writes v as indented JSON with a trailing newline.
func printJSON(w io.Writer, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err == nil {
		_, err = fmt.Fprintf(w, "%s\n", text)
	}
	return err
}

// listCommand returns the command `list`: it reads an array from a route of the admin socket and prints it as a table
// with one row per element, or as JSON. name is the array's field in the response.
func listCommand[T any](p process, short, path, name, header string, row func(T) string) *cobra.Command {
	var asJSON *bool
	c := &cobra.Command{
		Use:   "list",
		Short: short,
		Args:  noArguments,
		RunE: p.throughAdmin(func(ctx context.Context, admin *adminClient, _ config, _ []string) error {
			var answer map[string][]T
			if err := admin.call(ctx, http.MethodGet, path, nil, &answer); err != nil {
				return err
			}
			if *asJSON {
				return printJSON(p.stdout, answer[name])
			}
			table := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
			_, _ = fmt.Fprintln(table, header)
			for _, x := range answer[name] {
				_, _ = fmt.Fprintln(table, row(x))
			}
			return table.Flush()
		}),
	}
	asJSON = jsonFlag(c)
	defineSettings(c, forData)
	return c
}
