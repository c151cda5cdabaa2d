package cli

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// healthcheckPatience is how long the server may take to respond.
const healthcheckPatience = 2 * time.Second

func healthcheckCommand(p process) *cobra.Command {
	c := &cobra.Command{
		Use:   "healthcheck",
		Short: "Check whether the local server is ready",
		Long: "Asks the server at --listen whether it is ready (GET /readyz), and waits at most 2 seconds. Exits\n" +
			"with 0 if it is ready and with 1 otherwise. Intended for containers and supervisors.",
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := p.resolve(c)
			if err != nil {
				return err
			}
			return healthcheck(c.Context(), "http://"+reachable(cfg.listen))
		},
	}
	defineSettings(c, forCalling)
	return c
}

// healthcheck returns nil if the server at base reports that it is ready.
func healthcheck(ctx context.Context, base string) error {
	ctx, cancel := context.WithTimeout(ctx, healthcheckPatience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/readyz", nil)
	if err != nil {
		return err
	}
	// The check is about this machine, so it ignores a proxy in the environment.
	transport := &http.Transport{DisableKeepAlives: true}
	answer, err := (&http.Client{Transport: transport}).Do(r)
	if err != nil {
		return fmt.Errorf("no response from %s: %w. Is the server running with the same --listen?", base, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		why, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<10))
		return fmt.Errorf("the server at %s is not ready (status %d): %s", base, answer.StatusCode,
			strings.TrimSpace(string(why)))
	}
	return nil
}

// reachable converts the address that a server listens on to an address that its own machine can use to reach it.
func reachable(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return listen
	}
	switch host {
	case "", "0.0.0.0":
		host = "127.0.0.1"
	case "::":
		host = "::1"
	}
	return net.JoinHostPort(host, port)
}
