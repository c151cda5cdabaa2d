package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"holdfast/docs"
	"holdfast/engine/token"
	"holdfast/store/postgres"
)

func keysCommand(p process) *cobra.Command {
	c := groupCommand("keys", "Manage the keys that sign links and tokens")
	var revoke bool
	rotate := &cobra.Command{
		Use:   "rotate",
		Short: "Rotate the signing key",
		Long: "Creates a new key for signing manage links and agents' tokens. Links and tokens signed with the old\n" +
			"key stay valid until they expire, so you do not need to notify anyone.\n" +
			"With --revoke-old, the server refuses them at once. Use this if someone may have copied secret.key.\n" +
			"The next message about an appointment then has a new link. Stop the other nodes of a cluster before\n" +
			"you use --revoke-old.",
		Args: noArguments,
		RunE: p.throughAdmin(func(ctx context.Context, admin *adminClient, _ config, _ []string) error {
			var done rotated
			wanted := rotation{RevokeOld: revoke}
			if err := admin.call(ctx, http.MethodPost, "/local/keys/rotate", wanted, &done); err != nil {
				return err
			}
			text := "The server now signs with a new key. Include secret.key in your next backup."
			if done.CopyKey != "" {
				text += "\nCopy " + done.CopyKey + " to each of the other nodes, and restart them one after the other.\n" +
					"Until then, the other nodes refuse links and tokens that this node signs."
			}
			if revoke {
				text = "The server now signs with a new key and refuses links and tokens signed with earlier keys.\n" +
					"Make a backup now: earlier backups contain only earlier keys."
			}
			_, err := fmt.Fprintln(p.stdout, text)
			return err
		}),
	}
	rotate.Flags().BoolVar(&revoke, "revoke-old", false, "refuse links and tokens signed with earlier keys at once")
	defineSettings(rotate, forData)
	c.AddCommand(rotate)
	return c
}

// rotation is the body of POST /local/keys/rotate.
type rotation struct {
	RevokeOld bool `json:"revokeOld"`
}

// rotated is the response to it.
type rotated struct {
	CopyKey string `json:"copyKey,omitempty"` // the key file, if other nodes are running without the new key
}

// rotateKeys handles POST /local/keys/rotate. It writes each new key file to the disk before the server uses it. To
// revoke the earlier keys, it first seals every stored secret with the new key: if it fails in between, the key file
// still opens all of them.
func (h *house) rotateKeys(w http.ResponseWriter, r *http.Request) {
	var wanted rotation
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<10)).Decode(&wanted)
	if err != nil && !errors.Is(err, io.EOF) { // an empty body rotates
		refuse(w, http.StatusBadRequest, err)
		return
	}
	h.rotating.Lock()
	defer h.rotating.Unlock()
	if wanted.RevokeOld {
		if err := h.refuseOtherNodes(r.Context()); err != nil {
			refuse(w, http.StatusConflict, err)
			return
		}
	}
	if err := h.sealAll(r.Context()); err != nil {
		refuse(w, http.StatusInternalServerError, fmt.Errorf("%w. Nothing was changed", err))
		return
	}
	if err := h.useKeys(r.Context(), h.dir.keys.Rotate(time.Now())); err != nil {
		if errors.Is(err, os.ErrPermission) {
			err = fmt.Errorf("%w. Nothing was changed", err)
		}
		refuse(w, http.StatusInternalServerError, err)
		return
	}
	if wanted.RevokeOld {
		err := h.sealAll(r.Context())
		if err == nil {
			err = h.useKeys(r.Context(), h.dir.keys.Revoke())
		}
		if err != nil {
			refuse(w, http.StatusInternalServerError, fmt.Errorf(
				"the server signs with a new key but still accepts the earlier ones: %w. Run the command again", err))
			return
		}
	}
	answer(w, rotated{CopyKey: h.keyToCopy(r.Context())})
}

// keyToCopy returns the key file, if other nodes are running and need a copy of it.
func (h *house) keyToCopy(ctx context.Context) string {
	s, ok := h.store.(*postgres.Store)
	if !ok {
		return ""
	}
	others, _, err := s.Nodes(ctx)
	if err != nil {
		h.log.Warn("failed to find out whether other nodes need the new signing key", "error", err)
	}
	if !others {
		return ""
	}
	return h.dir.file(secretFile)
}

// refuseOtherNodes returns an error if other nodes are running. They could not open what this node seals with a key
// that they do not have, and would go on to accept the earlier keys.
func (h *house) refuseOtherNodes(ctx context.Context) error {
	s, ok := h.store.(*postgres.Store)
	if !ok {
		return nil
	}
	others, _, err := s.Nodes(ctx)
	if err == nil && others {
		err = errors.New("other nodes are running, and they would still accept the earlier keys. Stop them, run the " +
			"command again, copy secret.key to them, and start them. Nothing was changed")
	}
	return err
}

// sealAll encrypts every stored secret with the signing key.
func (h *house) sealAll(ctx context.Context) error {
	for _, each := range []struct {
		what string
		seal func(context.Context) error
	}{
		{"the password of the mail server", h.engine.Message.Server.Seal},
		{"the secret of the SMS gateway", h.engine.Message.Gateway.Seal},
		{"the addresses of specialists' calendars", h.engine.BusyTime.Seal},
		{"the secret of the identity provider", h.engine.Account.Identity.Seal},
	} {
		if err := each.seal(ctx); err != nil {
			return fmt.Errorf("%s could not be encrypted: %w", each.what, err)
		}
	}
	return nil
}

// useKeys writes the key file, then signs with keys.
func (h *house) useKeys(ctx context.Context, keys *token.Keyring) error {
	if err := writeKeys(h.dir.file(secretFile), keys); err != nil {
		return err
	}
	h.dir.keys = keys
	h.engine.Keys.Replace(keys)
	if s, ok := h.store.(*postgres.Store); ok {
		if err := h.agreeOnKeys(ctx, s); err != nil { // the next start repeats it
			h.log.Warn("failed to store the current signing key in the database", "error", err)
		}
	}
	return nil
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
