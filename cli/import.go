package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"

	"holdfast/engine/clinic"

	"github.com/spf13/cobra"
)

// maxImport is the largest clinic file, in bytes. POST /v1/import has the same limit.
const maxImport = 16 << 20

func importCommand(p process) *cobra.Command {
	c := &cobra.Command{
		Use:   "import FILE",
		Short: "Import a clinic from a file",
		Long: "Imports a clinic file (JSON; - reads standard input). If a server is running on the data directory,\n" +
			"the server does the import; otherwise the command writes to the directory itself. Entries with the\n" +
			"same id are replaced, so importing the same file twice changes nothing. Appointments do not change.",
		Args: oneArgument("the clinic file, or - for standard input"),
		RunE: func(c *cobra.Command, args []string) error {
			cfg, err := p.resolve(c)
			if err != nil {
				return err
			}
			file, err := readClinic(args[0], p.stdin)
			if err != nil {
				return err
			}
			if err := decodeStrictly(file, new(clinic.File)); err != nil { // here, because the error can name the line
				return fmt.Errorf("nothing was imported: %w", err)
			}
			return p.withLocal(c.Context(), cfg, houseOptions{create: true},
				func(ctx context.Context, admin *adminClient) error {
					b, err := admin.do(ctx, http.MethodPost, "/v1/import", bytes.NewReader(file))
					if err != nil {
						return fmt.Errorf("nothing was imported: %w", err)
					}
					var done struct {
						Imported clinic.Imported `json:"imported"`
					}
					if err := json.Unmarshal(b, &done); err != nil {
						return err
					}
					_, err = fmt.Fprintf(p.stdout, "imported %d specialists and %d appointment types\n",
						done.Imported.Specialists, done.Imported.AppointmentTypes)
					return err
				})
		},
	}
	defineSettings(c, forData)
	return c
}

func readClinic(path string, stdin io.Reader) ([]byte, error) {
	in := stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("failed to open the clinic file: %w", err)
		}
		defer f.Close()
		in = f
	}
	b, err := io.ReadAll(io.LimitReader(in, maxImport+1))
	if err != nil {
		return nil, fmt.Errorf("failed to read the clinic file %s: %w", path, err)
	}
	if len(b) > maxImport {
		return nil, fmt.Errorf("the clinic file %s is larger than %d MiB; import it in parts", path, maxImport>>20)
	}
	return b, nil
}
