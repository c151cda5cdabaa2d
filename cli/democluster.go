package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"holdfast/cli/demo"
	"holdfast/engine/clinic"
	"holdfast/store/postgres"
)

// `holdfast demo --cluster` runs the demo on two nodes: processes of this program, with a PostgreSQL and a Redis of
// this machine, behind a small load balancer (demo/front.go). A part that the page kills restarts automatically. All
// files are in the demo's own directory. All parts listen on loopback or on sockets in that directory, and end with
// the demo.

// demoNodes is the number of nodes.
const demoNodes = 2

// demoCluster serves the demo's clinic on several nodes until ctx ends. cfg holds the settings of the demo.
func (p process) demoCluster(ctx context.Context, cfg config, file clinic.File, now time.Time,
	log *slog.Logger) (err error) {
	programs, err := demo.FindPrograms()
	if err != nil {
		return err
	}
	front, err := listenNearby(cfg)
	if err != nil {
		return err
	}
	defer front.Close()
	base := "http://" + front.Addr().String()

	practice := demoPractice(&cfg, file)
	line, err := listen("127.0.0.1:0", "listen")
	if err != nil {
		return err
	}
	answering := &http.Server{Handler: practice, ReadHeaderTimeout: 5 * time.Second}
	defer answering.Close()
	go func() { _ = answering.Serve(line) }()

	c := &demo.Cluster{}
	defer c.Stop()
	database, err := c.StartPostgres(ctx, programs, filepath.Join(cfg.data, "pg"))
	if err != nil {
		return err
	}
	redis, err := c.StartRedis(ctx, programs, cfg.data)
	if err != nil {
		return err
	}
	if err := p.seedCluster(ctx, cfg, database, practice, file, now, log); err != nil {
		return err
	}
	for n := range demoNodes {
		if err := c.StartServer(ctx, demoNode(cfg, n, database, redis, base, "http://"+
			line.Addr().String())); err != nil {
			return err
		}
	}
	printDemoCluster(p.stdout, c, base)
	printDemo(p.stdout, cfg, base, file.Clinic.Timezone)
	return c.Serve(ctx, front, cfg.adminKey, file, log)
}

// nodeDir returns the data directory of a node.
func nodeDir(data string, n int) string { return filepath.Join(data, fmt.Sprint("node", n+1)) }

// seedCluster writes the demo's clinic to the database, and copies the first node's keys to the directories of the
// others.
func (p process) seedCluster(ctx context.Context, cfg config, database string, line http.RoundTripper, file clinic.File,
	now time.Time, log *slog.Logger) error {
	cfg.data, cfg.database = nodeDir(cfg.data, 0), database
	var h *house
	var err error
	// StartPostgres has opened the database exclusively to check whether it is up. On a busy machine, PostgreSQL may
	// need some time to detect that this connection is closed.
	if waited := demo.UntilUp(ctx, "the database", func(context.Context) bool {
		h, err = openHouse(ctx, cfg, houseOptions{version: p.version, log: log, demo: true, exclusive: true,
			line: line})
		return !errors.Is(err, postgres.ErrInUse)
	}); err == nil {
		err = waited
	}
	if err != nil {
		return err
	}
	if err := errors.Join(h.seedDemo(ctx, now, file), h.close()); err != nil {
		return err
	}
	for n := 1; n < demoNodes; n++ {
		if err := bringKeys(h.dir, filepath.Join(filepath.Dir(cfg.data), fmt.Sprint("node", n+1))); err != nil {
			return err
		}
	}
	return nil
}

// demoNode describes one node: this program with a hidden command.
func demoNode(cfg config, n int, database, redis, base, practice string) demo.Server {
	env := append(slices.DeleteFunc(os.Environ(), isSetting), "HOLDFAST_"+"ADMIN_KEY="+cfg.adminKey, "HOLDFAST_"+
		"UPSTREAM_PASSWORD="+cfg.upstream.password)
	args := append(practiceArgs(cfg, practice), "--database", database, "--redis", redis, "--base-url", base,
		"--rate-limit", "off")
	id := fmt.Sprint("node", n+1)
	return demo.Server{ID: id, Dir: nodeDir(cfg.data, n), Log: filepath.Join(cfg.data, id+".log"), Args: args, Env: env}
}

// demoNodeCommand returns the hidden command for one server of the demo. It is like serve, but with the demo's page.
func demoNodeCommand(p process) *cobra.Command {
	c := &cobra.Command{
		Use: "node", Hidden: true, Short: "Run one server of the demo", Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := p.resolve(c)
			if err != nil {
				return err
			}
			cfg.practice.OpeningsEvery = 0 // see demoPractice
			log := slog.New(slog.NewTextHandler(p.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
			h, err := openHouse(c.Context(), cfg, houseOptions{version: p.version,
				log: log, demo: true, demoCluster: true})
			if err != nil {
				return err
			}
			listener, err := listen(cfg.listen, "listen")
			if err != nil {
				return errors.Join(err, h.close())
			}
			h.listens(listener.Addr())
			return errors.Join(h.serve(c.Context(), listener), h.close())
		},
	}
	defineSettings(c, forServing)
	return c
}

func printDemoCluster(w io.Writer, c *demo.Cluster, base string) {
	_, _ = fmt.Fprintf(w, "Holdfast · %d nodes, PostgreSQL, Redis\n├─ book    %s/\n", demoNodes, base)
	for _, s := range c.Servers() {
		_, _ = fmt.Fprintf(w, "├─ %s   %s/readyz\n", s[0], s[1])
	}
	_, _ = fmt.Fprintf(w, "└─ kill    %s/demo\n", base)
}
