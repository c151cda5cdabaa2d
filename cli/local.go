package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"
)

// startPatience is how long a command waits for the socket of a server that is just starting or stopping.
const startPatience = 5 * time.Second

// withAdmin calls do with a client of the server that uses the data directory. If no server runs there, it opens the
// directory itself until do returns. It refuses a directory without a database, because the command needs existing
// data.
func (p process) withAdmin(ctx context.Context, cfg config, do func(context.Context, *adminClient) error) error {
	return p.withLocal(ctx, cfg, houseOptions{}, do)
}

// throughAdmin returns the RunE of a command that reads its settings and then calls withAdmin with do.
func (p process) throughAdmin(
	do func(ctx context.Context, admin *adminClient, cfg config, args []string) error,
) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		cfg, err := p.resolve(c)
		if err != nil {
			return err
		}
		return p.withAdmin(c.Context(), cfg, func(ctx context.Context, admin *adminClient) error {
			return do(ctx, admin, cfg, args)
		})
	}
}

// groupCommand returns a command that only groups other commands. Without one of them, it prints its help.
func groupCommand(use, short string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Args: noArguments, RunE: showHelp}
	c.AddCommand(commands...)
	return c
}

func showHelp(c *cobra.Command, _ []string) error { return c.Help() }

// withServer works like withAdmin, for commands that need a running server.
func (p process) withServer(ctx context.Context, cfg config, do func(context.Context, *adminClient) error) error {
	if err := needDatabase(ctx, cfg.data); err != nil {
		return err
	}
	client, err := dialAdmin(ctx, cfg.data)
	if err != nil {
		return fmt.Errorf("no server is running on %s: start the server, or set --data to its data directory "+
			"(%w)", cfg.data, err)
	}
	return do(ctx, client)
}

// withLocal works like withAdmin, with options for the parts that are opened if no server is running.
func (p process) withLocal(ctx context.Context, cfg config, o houseOptions,
	do func(context.Context, *adminClient) error) error {
	if !o.create {
		if err := needDatabase(ctx, cfg.data); err != nil {
			return err
		}
	}
	patience, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	for {
		if client, err := dialAdmin(ctx, cfg.data); err == nil {
			return do(ctx, client)
		}
		// Log only problems: the command prints its own result.
		log := slog.New(slog.NewTextHandler(p.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
		o.version, o.log, o.local = p.version, log, true
		h, err := openHouse(ctx, cfg, o)
		var inUse *inUseError
		if errors.As(err, &inUse) {
			select {
			case <-patience.Done():
				return fmt.Errorf("%w. There is no response on %s either", err, socketFile)
			case <-time.After(50 * time.Millisecond):
				continue
			}
		}
		if err != nil {
			return err
		}
		return errors.Join(h.forOne(ctx, do), h.close())
	}
}

// forOne serves the admin socket while do runs.
func (h *house) forOne(ctx context.Context, do func(context.Context, *adminClient) error) (done error) {
	ctx, stop := context.WithCancel(ctx)
	err := h.serve(ctx, nil, func(ctx context.Context) {
		defer stop()
		client, err := dialAdmin(ctx, h.dir.path)
		if err == nil {
			err = do(ctx, client)
		}
		done = err
	})
	return errors.Join(done, err)
}
