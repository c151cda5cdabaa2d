package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"holdfast/cli/demo"
	"holdfast/engine/clinic"
	"holdfast/engine/upstream/upstreamtest"
	"holdfast/web"
)

func demoCommand(p process) *cobra.Command {
	var cluster bool
	c := &cobra.Command{
		Use:   "demo",
		Short: "Serve a demo clinic with simulated visitors",
		Long: "Serves a fictional clinic on a loopback address. The clinic is always in the middle of its working\n" +
			"day. Simulated visitors hold, book and cancel, and a simulated practice-management system\n" +
			"accepts five appointments a minute, so that you can watch the queue. The data is in a temporary\n" +
			"directory, which is deleted when the demo ends; --data is not touched. To stop the demo, send SIGINT\n" +
			"or SIGTERM.\n" +
			"On Linux, the server is a separate process. A button on the /demo page kills the server, which then\n" +
			"restarts with its data.\n" +
			"With --cluster, the demo runs two nodes with the PostgreSQL and Redis installed on this machine, and\n" +
			"has buttons that kill them.",
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := p.resolve(c)
			if err != nil {
				return err
			}
			if from := cfg.given["data"].from; from == "flag --data" {
				return usageError{
					errors.New(
						"flag --data: the demo stores its data in a temporary directory; to keep your data, use " +
							"serve and import",
					),
				}
			}
			if cluster && cfg.redis != "" {
				return errors.New("the demo starts its own Redis, so that you can kill it: remove --redis")
			}
			if len(cfg.https.domains) > 0 {
				return errors.New("the demo has no public domain name: remove --domain")
			}
			if cfg.database != "" {
				return errors.New("the demo is temporary, so it never uses your PostgreSQL: remove --database")
			}
			if cfg.smtpURL != "" {
				return errors.New("the demo sends no email, because its patients are invented: remove --smtp-url")
			}
			if cfg.data, err = os.MkdirTemp("", "holdfast-demo-*"); err != nil {
				return fmt.Errorf("failed to create a temporary directory for the demo: %w", err)
			}
			return errors.Join(p.demo(c.Context(), cfg, cluster), os.RemoveAll(cfg.data))
		},
	}
	c.Flags().BoolVar(&cluster, "cluster", false,
		"run two nodes with PostgreSQL and Redis, and show buttons that kill them")
	defineSettings(c, forServing)
	c.AddCommand(demoNodeCommand(p))
	return c
}

// demo serves the seeded clinic until ctx ends.
func (p process) demo(ctx context.Context, cfg config, cluster bool) error {
	if cfg.adminKey == "" {
		cfg.adminKey = "demo-" + rand.Text()
	}
	if cfg.given["rate-limit"].from == "default" {
		cfg.rateLimit = false // the visitors and the users of the demo share one address
	}
	now := time.Now()
	clinic, err := demo.ClinicAt(now)
	if err != nil {
		return err
	}
	// At the info level, the visitors' requests would fill the log.
	log := slog.New(slog.NewTextHandler(p.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if cluster {
		return p.demoCluster(ctx, cfg, clinic, now, log)
	}
	listener, err := listenNearby(cfg)
	if err != nil {
		return err
	}
	if killable(cfg) {
		return p.demoAlone(ctx, cfg, listener, clinic, now, log)
	}
	o := houseOptions{version: p.version, log: log, demo: true}
	if cfg.upstream.url == "" {
		o.line = demoPractice(&cfg, clinic)
	}
	h, err := openHouse(ctx, cfg, o)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	if err := h.seedDemo(ctx, now, clinic); err != nil {
		return errors.Join(err, listener.Close(), h.close())
	}
	h.listens(listener.Addr())
	printTree(p.stdout, h)
	printDemo(p.stdout, cfg, h.base(), clinic.Clinic.Timezone)
	base := "http://" + reachable(listener.Addr().String())
	visitors, agent := demo.NewVisitors(base, cfg.adminKey, clinic, log), demo.NewAgent(base, cfg.adminKey, clinic, log)
	return errors.Join(h.serve(ctx, listener, visitors.Run, agent.Run), h.close())
}

// seedDemo creates the demo's clinic, its appointments and its user.
func (h *house) seedDemo(ctx context.Context, now time.Time, f clinic.File) error {
	return demo.Data{Engine: h.engine, Actor: localActor, Logger: h.log}.Seed(ctx, now, f)
}

// demoPractice returns the demo's practice-management system, and sets its address and credentials in cfg.
func demoPractice(cfg *config, f clinic.File) *upstreamtest.Server {
	cfg.practice.OpeningsEvery = 0 // its openings are for the demo's agent; the visitors book the clinic's own calendar
	cfg.upstream.url, cfg.upstream.clientID = "https://practice.example/GetData.ashx", demo.PracticeUser
	cfg.upstream.user, cfg.upstream.password = demo.PracticeUser, demo.PracticeUser
	return demo.NewPractice(f)
}

// listenNearby listens on --listen. If the default address is in use, it takes a free port. It refuses any address
// except loopback: the password of the demo's owner is public, and the demo's page can kill its processes.
func listenNearby(cfg config) (net.Listener, error) {
	l, err := net.Listen("tcp", cfg.listen)
	if errors.Is(err, syscall.EADDRINUSE) && cfg.given["listen"].from == "default" {
		return listen("127.0.0.1:0", "listen")
	}
	if err != nil {
		return listen(cfg.listen, "listen") // fails again, with an explanation
	}
	if at, err := netip.ParseAddrPort(l.Addr().String()); err != nil || !at.Addr().IsLoopback() {
		return nil, errors.Join(fmt.Errorf(
			"the demo listens on loopback only, and %s is not a loopback address: remove --listen, or use "+
				"127.0.0.1:8788",
			cfg.listen,
		), l.Close())
	}
	return l, nil
}

func printDemo(w io.Writer, cfg config, base, zone string) {
	_, _ = fmt.Fprintf(w, `
This is a demo: the data is temporary, and the visitors are simulated. Press Ctrl-C to stop it.
The clinic is in a place where it is currently late morning: %s
Two phones and the desk in one window: %s/demo
Sign-in for %s/staff: %s, password: %s
Admin key: %s
The practice system accepts %d appointments a minute; the others wait in the queue: %s/staff

  curl -s %s/v1/appointment-types
  curl -s -H 'Authorization: Bearer %s' %s/v1/appointments
`, zone, base, base, web.DemoEmail, web.DemoPassword, cfg.adminKey, demo.WritesPerMinute, base, base, cfg.adminKey, base)
}
