package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"holdfast/engine/clinic"
)

// On Linux, the demo's server is a separate process, which the kernel ends together with this one. So the demo's page
// can have a button that really kills the server (kill -9). The server is behind the same small load balancer as the
// nodes of --cluster, and restarts with the data that it left.

// killable reports whether the demo has that button. It has none if the server writes to a real practice-management
// system.
func killable(cfg config) bool { return runtime.GOOS == "linux" && cfg.upstream.url == "" }

// demoAlone serves the demo's clinic with one process that can be killed, until ctx ends.
func (p process) demoAlone(ctx context.Context, cfg config, front net.Listener, file clinic.File, now time.Time, log *slog.Logger) error {
	set := givenEnv(cfg) // the operator's settings, before the demo adds its own
	base := "http://" + front.Addr().String()
	practice := newPractice(&cfg, file)
	line, err := listen("127.0.0.1:0", "listen")
	if err != nil {
		return errors.Join(err, front.Close())
	}
	answering := &http.Server{Handler: practice, ReadHeaderTimeout: 5 * time.Second}
	defer answering.Close()
	go func() { _ = answering.Serve(line) }()

	outer := cfg.data
	cfg.data = filepath.Join(outer, "data")
	h, err := openHouse(ctx, cfg, houseOptions{version: p.version, log: log, demo: true, line: practice})
	if err != nil {
		return errors.Join(err, front.Close())
	}
	h.listens(front.Addr())
	if err := errors.Join(h.seedDemo(ctx, now, file), h.close()); err != nil {
		return errors.Join(err, front.Close())
	}
	server, err := demoServer(cfg, set, outer, base, "http://"+line.Addr().String())
	if err != nil {
		return errors.Join(err, front.Close())
	}
	c := &cluster{out: p.stdout}
	defer c.stop()
	if err := c.begin(ctx, server); err != nil {
		return errors.Join(err, front.Close())
	}
	printTree(p.stdout, h)
	printDemo(p.stdout, cfg, base, file.Clinic.Timezone)
	return p.behindFront(ctx, cfg, c, front, file, log)
}

// behindFront serves the parts of c, with the demo's visitors, until ctx ends.
func (p process) behindFront(ctx context.Context, cfg config, c *cluster, front net.Listener, file clinic.File, log *slog.Logger) (err error) {
	base := "http://" + front.Addr().String()
	server := &http.Server{Handler: newDemoFront(c, log), ReadHeaderTimeout: 5 * time.Second}
	defer server.Close()
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(front) }()
	visitors, agent := newVisitors(base, cfg.adminKey, file, log), newAgent(base, cfg.adminKey, file, log)
	var crowd sync.WaitGroup
	visiting, leave := context.WithCancel(ctx)
	crowd.Go(func() { visitors.run(visiting) })
	crowd.Go(func() { agent.run(visiting) })
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	leave()
	crowd.Wait()
	return err
}

// givenEnv returns every setting that was set, as environment variables for another process.
func givenEnv(cfg config) (env []string) {
	for _, s := range settings() {
		g := cfg.given[s.name]
		switch {
		case g.from == "default" || g.from == "":
		case g.file:
			env = append(env, s.env()+"_FILE="+g.value)
		default:
			env = append(env, s.env()+"="+g.value)
		}
	}
	return env
}

// demoServer returns the demo's server as a part: this program with the command of a node.
func demoServer(cfg config, set []string, dir, base, practice string) (*part, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("the demo starts this program again and cannot find it: %w", err)
	}
	address, err := partAddress()
	if err != nil {
		return nil, err
	}
	log, err := os.OpenFile(filepath.Join(dir, "server.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	at, err := url.Parse("http://" + address)
	if err != nil {
		return nil, err
	}
	ours := func(setting string) bool { return strings.HasPrefix(setting, "HOLDFAST_") }
	env := slices.Concat(slices.DeleteFunc(os.Environ(), ours), set,
		[]string{"HOLDFAST_" + "ADMIN_KEY=" + cfg.adminKey, "HOLDFAST_" + "UPSTREAM_PASSWORD=" + cfg.upstream.password})
	env = slices.DeleteFunc(env, func(s string) bool { return strings.HasPrefix(s, "HOLDFAST_ADMIN_KEY_FILE=") })
	return &part{id: "server", url: at, command: func() *exec.Cmd {
		args := []string{"demo", "node", "--data", cfg.data, "--listen", address, "--trusted-proxies", "127.0.0.1/32",
			"--upstream-url", practice + "/GetData.ashx", "--upstream-client-id", cfg.upstream.clientID, "--upstream-user", cfg.upstream.user}
		if cfg.baseURL == "" {
			args = append(args, "--base-url", base)
		}
		if !cfg.rateLimit {
			args = append(args, "--rate-limit", "off")
		}
		c := exec.Command(self, args...)
		c.Env, c.Stderr = env, log
		return c
	}}, nil
}

// partAddress returns a free loopback address. A part listens on the same address after each restart.
func partAddress() (string, error) {
	free, err := listen("127.0.0.1:0", "listen")
	if err != nil {
		return "", err
	}
	return free.Addr().String(), free.Close()
}
