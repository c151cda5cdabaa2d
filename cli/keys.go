package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"holdfast/docs"
)

func keysCommand(p process) *cobra.Command {
	c := &cobra.Command{Use: "keys", Short: "The keys that sign links and tokens", Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() }}
	rotate := &cobra.Command{
		Use:   "rotate",
		Short: "Sign with a new key from now on",
		Long: "Signs manage links and agents' tokens with a new key from now on. What the old key has signed works until it has lapsed\n" +
			"by itself; nobody has to be told.",
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := p.resolve(c)
			if err != nil {
				return err
			}
			return p.withAdmin(c.Context(), cfg, func(ctx context.Context, admin *adminClient) error {
				if err := admin.call(ctx, http.MethodPost, "/local/keys/rotate", nil, nil); err != nil {
					return err
				}
				_, err := fmt.Fprintln(p.stdout, "A new key signs from now on. Back up secret.key with the next backup.")
				return err
			})
		},
	}
	defineSettings(rotate, forData)
	c.AddCommand(rotate)
	return c
}

// rotateKeys writes the new keys before they are used, so that nothing is ever signed by a key that is not on disk.
func (h *house) rotateKeys(w http.ResponseWriter, _ *http.Request) {
	h.rotating.Lock()
	defer h.rotating.Unlock()
	keys := h.dir.keys.Rotate(time.Now())
	if err := writeKeys(h.dir.file(secretFile), keys); err != nil {
		if errors.Is(err, os.ErrPermission) {
			err = fmt.Errorf("%w. Nothing was changed", err)
		}
		refuse(w, http.StatusInternalServerError, err)
		return
	}
	h.dir.keys = keys
	h.engine.UseKeys(keys)
	answer(w, struct{}{})
}

func openAPICommand(p process) *cobra.Command {
	return &cobra.Command{
		Use: "openapi", Short: "Print the description of the HTTP API (OpenAPI)", Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			_, err := p.stdout.Write(docs.OpenAPI)
			return err
		},
	}
}
