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
	"holdfast/store/postgres"
)

func keysCommand(p process) *cobra.Command {
	c := groupCommand("keys", "Manage the keys that sign links and tokens")
	rotate := &cobra.Command{
		Use:   "rotate",
		Short: "Rotate the signing key",
		Long: "Creates a new key for signing manage links and agents' tokens. Links and tokens signed with the old\n" +
			"key stay valid until they expire, so you do not need to notify anyone.",
		Args: noArguments,
		RunE: p.throughAdmin(func(ctx context.Context, admin *adminClient, _ config, _ []string) error {
			if err := admin.call(ctx, http.MethodPost, "/local/keys/rotate", nil, nil); err != nil {
				return err
			}
			_, err := fmt.Fprintln(p.stdout,
				"The server now signs with a new key. Include secret.key in your next backup.")
			return err
		}),
	}
	defineSettings(rotate, forData)
	c.AddCommand(rotate)
	return c
}

// rotateKeys handles POST /local/keys/rotate. It writes the new key to the disk before the server signs with it.
func (h *house) rotateKeys(w http.ResponseWriter, r *http.Request) {
	h.rotating.Lock()
	defer h.rotating.Unlock()
	if err := h.engine.Message.Server.Seal(r.Context()); err != nil {
		refuse(w, http.StatusInternalServerError,
			fmt.Errorf("the password of the mail server could not be encrypted: %w. Nothing was changed", err))
		return
	}
	if err := h.engine.Message.Gateway.Seal(r.Context()); err != nil {
		refuse(w, http.StatusInternalServerError,
			fmt.Errorf("the secret of the SMS gateway could not be encrypted: %w. Nothing was changed", err))
		return
	}
	if err := h.engine.BusyTime.Seal(r.Context()); err != nil {
		refuse(w, http.StatusInternalServerError,
			fmt.Errorf("the addresses of specialists' calendars could not be encrypted: %w. Nothing was changed", err))
		return
	}
	if err := h.engine.Account.Identity.Seal(r.Context()); err != nil {
		refuse(w, http.StatusInternalServerError,
			fmt.Errorf("the secret of the identity provider could not be encrypted: %w. Nothing was changed", err))
		return
	}
	keys := h.dir.keys.Rotate(time.Now())
	if err := writeKeys(h.dir.file(secretFile), keys); err != nil {
		if errors.Is(err, os.ErrPermission) {
			err = fmt.Errorf("%w. Nothing was changed", err)
		}
		refuse(w, http.StatusInternalServerError, err)
		return
	}
	h.dir.keys = keys
	h.engine.Keys.Replace(keys)
	if s, ok := h.store.(*postgres.Store); ok {
		if err := h.agreeOnKeys(r.Context(), s); err != nil { // the next start repeats it; both keys are in the file
			h.log.Warn("failed to store the current signing key in the database", "error", err)
		}
	}
	answer(w, struct{}{})
}

func openAPICommand(p process) *cobra.Command {
	return &cobra.Command{
		Use: "openapi", Short: "Print the OpenAPI description of the HTTP API", Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			_, err := p.stdout.Write(docs.OpenAPI())
			return err
		},
	}
}
