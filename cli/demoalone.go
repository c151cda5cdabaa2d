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

// The demo's server is a process of its own where this process can take it along when it dies (Linux), so that its page can have a button
// that really kills it (kill -9). It is behind the same small load balancer as the nodes of --cluster, and started again on the data that
// it left.

// killable reports whether the demo can have that button: not if the server writes to a practice-management system that is not the demo's.
func killable(cfg config) bool { return runtime.GOOS == "linux" && cfg.upstream.url == "" }

// demoAlone serves the demo's clinic by one process that can be killed, until ctx ends.
func (p process) demoAlone(ctx context.Context, cfg config, front net.Listener, file clinic.File, now time.Time, log *slog.Logger) error {
	set := givenEnv(cfg) // what whoever started the demo has said, before anything is added to it
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

// behindFront serves what runs in c, with the demo's visitors, until ctx ends.
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

// givenEnv is every setting that somebody has given, as the environment of another process says it.
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

// demoServer is the demo's server: this program again, with the command of a node.
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

// partAddress is one that a part listens on after each restart.
func partAddress() (string, error) {
	free, err := listen("127.0.0.1:0", "listen")
	if err != nil {
		return "", err
	}
	return free.Addr().String(), free.Close()
}
