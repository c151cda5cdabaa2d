package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"holdfast/engine/account"
	"holdfast/store"
)

// Two routes of the admin socket are about users. One creates the token of the setup link, which is used to create the
// first owner. The other resets a password, for an owner who has lost it. The console can do neither.

// userBody is a user as GET /v1/users lists them.
type userBody struct {
	ID     string     `json:"id"`
	Email  string     `json:"email"`
	Name   string     `json:"name"`
	Role   store.Role `json:"role"`
	Active bool       `json:"active"`
	Seen   *time.Time `json:"lastSignInAt,omitempty"`
}

// newUserBody is the body of a request that creates a user or resets a user's password.
type newUserBody struct {
	Email    string     `json:"email"`
	Name     string     `json:"name,omitempty"`
	Role     store.Role `json:"role,omitempty"`
	Password string     `json:"password"`
}

// resetPassword sets a user's new password, turns the one-time codes off and activates the account.
func (h *house) resetPassword(w http.ResponseWriter, r *http.Request) {
	var ask newUserBody
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<10)).Decode(&ask); err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	u, err := h.engine.Account.UserByEmail(r.Context(), ask.Email)
	if errors.Is(err, store.ErrNotFound) {
		err = fmt.Errorf("%w: no user has this email address. See: holdfast admin list", store.ErrNotFound)
	}
	if err == nil {
		u, err = h.engine.Account.UpdateUser(r.Context(), localActor, u.ID, func(u *store.User) {
			u.Active, u.TOTPSecret, u.TOTPLastStep = true, nil, 0
		}, &ask.Password)
	}
	if err != nil {
		refuse(w, statusOf(err), err)
		return
	}
	answer(w, map[string]userBody{"user": {ID: u.ID, Email: u.Email, Name: u.Name, Role: u.Role, Active: u.Active}})
}

func adminCommand(p process) *cobra.Command {
	return groupCommand("admin", "Create owners, list users, reset passwords",
		adminCreateCommand(p), adminListCommand(p), adminResetCommand(p))
}

func adminCreateCommand(p process) *cobra.Command {
	ask := newUserBody{Role: store.RoleOwner}
	c := &cobra.Command{
		Use:   "create --email ADDRESS --name NAME",
		Short: "Create an owner",
		Args:  noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if ask.Email == "" || ask.Name == "" {
				return usageError{
					errors.New("specify the owner's email address and name, such as --email jo@example.org " +
						"--name Jo"),
				}
			}
			return p.sendUser(c, "/v1/users", ask, "%s can sign in as owner at /staff.\n")
		},
	}
	c.Flags().StringVar(&ask.Email, "email", "", "email address to sign in with")
	c.Flags().StringVar(&ask.Name, "name", "", "name shown to colleagues next to changes")
	defineSettings(c, forData)
	return c
}

func adminResetCommand(p process) *cobra.Command {
	var ask newUserBody
	c := &cobra.Command{
		Use:   "reset-password --email ADDRESS",
		Short: "Reset a user's password",
		Long: "Sets a new password for a user, and signs the user out everywhere. At a terminal, the command\n" +
			"prompts for the password twice without showing it; otherwise it reads the first line of standard\n" +
			"input. The command also turns off two-factor authentication and reactivates a deactivated account.",
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if ask.Email == "" {
				return usageError{
					errors.New("specify the user's email address, such as --email jo@example.org. See: holdfast " +
						"admin list"),
				}
			}
			return p.sendUser(c, "/local/password", ask, "%s has a new password and is signed out everywhere.\n")
		},
	}
	c.Flags().StringVar(&ask.Email, "email", "", "email address of the user")
	defineSettings(c, forData)
	return c
}

// sendUser reads a password, and posts ask with it to the admin socket. done is the format of the success message.
func (p process) sendUser(c *cobra.Command, path string, ask newUserBody, done string) error {
	cfg, err := p.resolve(c)
	if err != nil {
		return err
	}
	if err := needDatabase(c.Context(), cfg.data); err != nil {
		return err
	}
	if ask.Password, err = p.readPassword(c.Context()); err != nil {
		return err
	}
	return p.withAdmin(c.Context(), cfg, func(ctx context.Context, admin *adminClient) error {
		var made struct {
			User userBody `json:"user"`
		}
		if err := admin.call(ctx, http.MethodPost, path, ask, &made); err != nil {
			return err
		}
		_, err := fmt.Fprintf(p.stdout, done, made.User.Email)
		return err
	})
}

func adminListCommand(p process) *cobra.Command {
	return listCommand(p, "List the users", "/v1/users", "users", "EMAIL\tNAME\tROLE\tACTIVE\tLAST SIGN-IN",
		func(u userBody) string {
			return fmt.Sprintf("%s\t%s\t%s\t%t\t%s", u.Email, u.Name, u.Role, u.Active, instantOr(u.Seen, "never"))
		})
}

// setupBody is the response of POST /local/setup-token: the one-time token of a setup link, and the address of the
// server.
type setupBody struct {
	Token string `json:"token"`
	Base  string `json:"baseUrl,omitempty"` // empty if the server has no address
}

func (h *house) makeSetupToken(w http.ResponseWriter, r *http.Request) {
	token, err := h.engine.Account.NewSetupToken(r.Context())
	if err != nil {
		status := statusOf(err)
		if errors.Is(err, account.ErrSetupDone) {
			status, err = http.StatusGone,
				errors.New(
					"the clinic is already set up. For a lost password: holdfast admin reset-password --email ADDRESS",
				)
		}
		refuse(w, status, err)
		return
	}
	answer(w, setupBody{token, h.base()})
}

func setupURLCommand(p process) *cobra.Command {
	c := &cobra.Command{
		Use:   "setup-url",
		Short: "Print a new one-time setup link",
		Long: "Prints a one-time link to set up the clinic and create its first owner. The link is valid for 30\n" +
			"minutes and replaces earlier links. It uses the address of the running server or, if no server is\n" +
			"running, the address in these settings.",
		Args: noArguments,
		RunE: p.throughAdmin(func(ctx context.Context, admin *adminClient, cfg config, _ []string) error {
			var made setupBody
			if err := admin.call(ctx, http.MethodPost, "/local/setup-token", nil, &made); err != nil {
				return err
			}
			_, err := fmt.Fprintln(p.stdout, setupURL(cmp.Or(made.Base, "http://"+reachable(cfg.listen)),
				made.Token))
			return err
		}),
	}
	defineSettings(c, forData|forCalling)
	return c
}

// setupURL returns the setup link. The token is in the fragment, which browsers do not send to the server.
func setupURL(base, token string) string { return base + "/setup#" + token }

// firstRun does nothing if a user can already sign in. Otherwise it creates the owner named in the settings, or prints
// the setup link.
func firstRun(ctx context.Context, w io.Writer, h *house, cfg config) error {
	needed, err := h.engine.Account.NeedsSetup(ctx)
	if err != nil || !needed {
		return err
	}
	if cfg.ownerEmail != "" {
		_, err := h.engine.Account.CreateUser(ctx, localActor,
			account.NewUser{Email: cfg.ownerEmail, Name: "Owner", Role: store.RoleOwner, Password: cfg.ownerPassword})
		if err != nil {
			if needed, again := h.engine.Account.NeedsSetup(ctx); again == nil && !needed {
				return nil // another node of the cluster has created the owner in the meantime
			}
			return fmt.Errorf("create the first owner from --owner-email and --owner-password: %w", err)
		}
		_, err = fmt.Fprintf(w, "%s can sign in as owner at %s/staff\n\n", cfg.ownerEmail, h.base())
		return err
	}
	if cfg.logFormat == "json" { // such output is collected and stored, and the link gives access to the clinic
		_, err = fmt.Fprint(w,
			"The clinic has no users yet. To print the setup link, run on this machine: holdfast setup-url\n\n")
		return err
	}
	token, err := h.engine.Account.NewSetupToken(ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "\n  %s\n\n"+
		"Open this link to set up the clinic. It works once, within 30 minutes. For a new one: holdfast setup-url\n\n",
		setupURL(h.base(), token))
	return err
}
