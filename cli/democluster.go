package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holdfast/engine/clinic"
	"holdfast/store/postgres"
)

// `holdfast demo --cluster` runs the demo on two nodes: processes of this program, with a PostgreSQL and a Redis of
// this machine, behind a small load balancer (demofront.go). A part that the page kills restarts automatically. All
// files are in the demo's own directory. All parts listen on loopback or on sockets in that directory, and end with
// the demo.

// demoNodes is the number of nodes.
const demoNodes = 2

// demoCluster serves the demo's clinic on several nodes until ctx ends. cfg has the settings of the demo.
func (p process) demoCluster(ctx context.Context, cfg config, file clinic.File, now time.Time, log *slog.Logger) (err error) {
	programs, err := findPrograms()
	if err != nil {
		return err
	}
	front, err := listenNearby(cfg)
	if err != nil {
		return err
	}
	defer front.Close()
	base := "http://" + front.Addr().String()

	practice := newPractice(&cfg, file)
	line, err := listen("127.0.0.1:0", "listen")
	if err != nil {
		return err
	}
	answering := &http.Server{Handler: practice, ReadHeaderTimeout: 5 * time.Second}
	defer answering.Close()
	go func() { _ = answering.Serve(line) }()

	c := &cluster{out: p.stdout}
	defer c.stop()
	database, err := c.startPostgres(ctx, programs, filepath.Join(cfg.data, "pg"))
	if err != nil {
		return err
	}
	socket := filepath.Join(cfg.data, "redis.sock")
	if err := c.begin(ctx, &part{id: "redis", socket: socket, command: func() *exec.Cmd {
		return exec.Command(programs.redis, "--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no", "--dir", cfg.data,
			"--logfile", filepath.Join(cfg.data, "redis.log"))
	}}); err != nil {
		return err
	}
	if err := p.seedCluster(ctx, cfg, database, practice, file, now, log); err != nil {
		return err
	}
	for n := range demoNodes {
		node, err := demoNode(cfg, n, database, "unix://"+socket, base, "http://"+line.Addr().String(), p.version)
		if err != nil {
			return err
		}
		if err := c.begin(ctx, node); err != nil {
			return err
		}
	}
	printDemoCluster(p.stdout, c, base)
	printDemo(p.stdout, cfg, base, file.Clinic.Timezone)
	return p.behindFront(ctx, cfg, c, front, file, log)
}

// nodeDir returns the data directory of a node.
func nodeDir(data string, n int) string { return filepath.Join(data, fmt.Sprint("node", n+1)) }

// seedCluster writes the demo's clinic to the database, and copies the first node's keys to the directories of the
// others.
func (p process) seedCluster(ctx context.Context, cfg config, database string, line http.RoundTripper, file clinic.File, now time.Time, log *slog.Logger) error {
	cfg.data, cfg.database = nodeDir(cfg.data, 0), database
	var h *house
	var err error
	// startPostgres has opened the database exclusively to see whether it is up. On a busy machine, PostgreSQL
	// notices late that this connection is closed.
	if waited := untilUp(ctx, "the database", func(context.Context) bool {
		h, err = openHouse(ctx, cfg, houseOptions{version: p.version, log: log, demo: true, exclusive: true, line: line})
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

// demoNode returns one node as a part: this program with a hidden command.
func demoNode(cfg config, n int, database, redis, base, practice, version string) (*part, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("demo --cluster starts this program again and cannot find it: %w", err)
	}
	address, err := partAddress()
	if err != nil {
		return nil, err
	}
	log, err := os.OpenFile(filepath.Join(cfg.data, fmt.Sprint("node", n+1, ".log")), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	ours := func(setting string) bool { return strings.HasPrefix(setting, "HOLDFAST_") }
	env := append(slices.DeleteFunc(os.Environ(), ours), "HOLDFAST_"+"ADMIN_KEY="+cfg.adminKey, "HOLDFAST_"+"UPSTREAM_PASSWORD="+cfg.upstream.password)
	at, err := url.Parse("http://" + address)
	if err != nil {
		return nil, err
	}
	return &part{id: fmt.Sprint("node", n+1), url: at, command: func() *exec.Cmd {
		c := exec.Command(self, "demo", "node", "--data", nodeDir(cfg.data, n), "--listen", address, "--database", database, "--redis", redis,
			"--base-url", base, "--trusted-proxies", "127.0.0.1/32", "--rate-limit", "off", "--upstream-url", practice+"/GetData.ashx",
			"--upstream-client-id", cfg.upstream.clientID, "--upstream-user", cfg.upstream.user)
		c.Env, c.Stderr = env, log
		return c
	}}, nil
}

// demoNodeCommand is serve with the demo's page, as a hidden command.
func demoNodeCommand(p process) *cobra.Command {
	c := &cobra.Command{
		Use: "node", Hidden: true, Short: "One server of the demo", Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := p.resolve(c)
			if err != nil {
				return err
			}
			cfg.practice.OpeningsEvery = 0 // see newPractice
			log := slog.New(slog.NewTextHandler(p.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
			h, err := openHouse(c.Context(), cfg, houseOptions{version: p.version, log: log, demo: true, demoCluster: true})
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

func printDemoCluster(w io.Writer, c *cluster, base string) {
	_, _ = fmt.Fprintf(w, "Holdfast · %d nodes, PostgreSQL, Redis\n├─ book    %s/\n", demoNodes, base)
	for _, x := range c.parts {
		if x.url != nil {
			_, _ = fmt.Fprintf(w, "├─ %s   %s/readyz\n", x.id, x.url)
		}
	}
	_, _ = fmt.Fprintf(w, "└─ kill    %s/demo\n", base)
}

// dials reports whether a process listens on an address.
func dials(ctx context.Context, network, address string) bool {
	d := net.Dialer{Timeout: time.Second}
	c, err := d.DialContext(ctx, network, address)
	if err == nil {
		_ = c.Close()
	}
	return err == nil
}
