package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"holdfast/store"
)

// apiKeyBody is an API key as GET /v1/api-keys lists it.
type apiKeyBody struct {
	ID           string      `json:"id"`
	Name         string      `json:"name"`
	Scope        store.Scope `json:"scope"`
	Prefix       string      `json:"prefix"`
	CreatedAt    time.Time   `json:"createdAt"`
	LastUsedAt   *time.Time  `json:"lastUsedAt,omitempty"`
	RevokedAt    *time.Time  `json:"revokedAt,omitempty"`
	SpecialistID string      `json:"specialistId,omitempty"` // set if a presence key is limited to one specialist
}

func apikeyCommand(p process) *cobra.Command {
	return groupCommand("apikey", "Create, list and revoke API keys",
		apikeyCreateCommand(p), apikeyListCommand(p), apikeyRevokeCommand(p))
}

func apikeyCreateCommand(p process) *cobra.Command {
	var name, scope, specialist string
	c := &cobra.Command{
		Use:   "create --name NAME --scope admin|agent|presence|metrics",
		Short: "Create an API key (printed once)",
		Long: "Creates an API key and prints it on standard output. The server stores only its hash, so the key\n" +
			"cannot be shown again.",
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := p.resolve(c)
			if err != nil {
				return err
			}
			if name == "" {
				return usageError{
					errors.New("state the purpose of the key with --name, such as --name \"phone agent\""),
				}
			}
			if err := oneOf(scope, "admin", "agent", "presence", "metrics"); err != nil {
				return usageError{fmt.Errorf("--scope: %w", err)}
			}
			return p.withAdmin(c.Context(), cfg, func(ctx context.Context, admin *adminClient) error {
				var made struct {
					APIKey apiKeyBody `json:"apiKey"`
					Key    string     `json:"key"`
				}
				if err := admin.call(ctx, http.MethodPost, "/v1/api-keys",
					map[string]string{"name": name, "scope": scope, "specialistId": specialist}, &made); err != nil {
					return err
				}
				key := made.APIKey
				_, _ = fmt.Fprintf(p.stderr,
					"API key %s (%s, scope %s). The key is shown only once; protect it like a "+
						"password.\n", key.ID, key.Name,
					key.Scope)
				_, err := fmt.Fprintln(p.stdout, made.Key)
				return err
			})
		},
	}
	c.Flags().StringVar(&name, "name", "", "what the key is for, such as \"phone agent\"")
	c.Flags().StringVar(&scope, "scope", "", "scope of the key: admin, agent, presence or metrics")
	c.Flags().StringVar(&specialist, "specialist", "", "id of the specialist that a presence key is for; default: all")
	completes(c, "scope", "admin", "agent", "presence", "metrics")
	completes(c, "specialist")
	defineSettings(c, forData)
	return c
}

func apikeyListCommand(p process) *cobra.Command {
	return listCommand(p, "List the API keys, without their secrets", "/v1/api-keys", "apiKeys",
		"ID\tNAME\tSCOPE\tBEGINS\tCREATED\tLAST USED\tREVOKED", func(k apiKeyBody) string {
			return fmt.Sprintf("%s\t%s\t%s\t%s…\t%s\t%s\t%s", k.ID, k.Name, k.Scope, k.Prefix,
				k.CreatedAt.Format(time.RFC3339), instantOr(k.LastUsedAt, "never"), instantOr(k.RevokedAt, "-"))
		})
}

func apikeyRevokeCommand(p process) *cobra.Command {
	c := &cobra.Command{
		Use:   "revoke ID",
		Short: "Revoke an API key",
		Args:  oneArgument("the id of the key, as apikey list shows it"),
		RunE: p.throughAdmin(func(ctx context.Context, admin *adminClient, _ config, args []string) error {
			if err := admin.call(ctx, http.MethodDelete, "/v1/api-keys/"+url.PathEscape(args[0]), nil,
				nil); err != nil {
				var refused *problem
				if errors.As(err, &refused) && refused.Status == http.StatusNotFound {
					return fmt.Errorf("there is no API key %s. See: holdfast apikey list", args[0])
				}
				return fmt.Errorf("API key %s: %w", args[0], err)
			}
			_, err := fmt.Fprintf(p.stdout, "API key %s revoked\n", args[0])
			return err
		}),
	}
	defineSettings(c, forData)
	return c
}

func instantOr(t *time.Time, none string) string {
	if t == nil {
		return none
	}
	return t.Format(time.RFC3339)
}
