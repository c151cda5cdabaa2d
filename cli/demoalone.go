package cli

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"holdfast/cli/demo"
	"holdfast/engine/clinic"
)

// On Linux, the demo's server is a separate process, which the kernel ends together with this one. So the demo's page
// can have a button that really kills the server (kill -9). The server is behind the same small load balancer as the
// nodes of --cluster, and restarts with the data that it left behind.

// killable reports whether the demo's page has the button that kills the server. It has no such button if the server
// writes to a real practice-management system.
func killable(cfg config) bool { return runtime.GOOS == "linux" && cfg.upstream.url == "" }

// demoAlone serves the demo's clinic with one process that can be killed, until ctx ends.
func (p process) demoAlone(ctx context.Context, cfg config, front net.Listener, file clinic.File, now time.Time,
	log *slog.Logger) error {
	set := givenEnv(cfg) // the operator's settings, before the demo adds its own
	base := "http://" + front.Addr().String()
	practice := demoPractice(&cfg, file)
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
	c := &demo.Cluster{}
	defer c.Stop()
	if err := c.StartServer(ctx, demoServer(cfg, set, outer, base, "http://"+line.Addr().String())); err != nil {
		return errors.Join(err, front.Close())
	}
	printTree(p.stdout, h)
	printDemo(p.stdout, cfg, base, file.Clinic.Timezone)
	return c.Serve(ctx, front, cfg.adminKey, file, log)
}

// givenEnv returns the settings that the operator has set, as environment variables for another process.
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

// demoServer describes the demo's server: this program with the command of a node.
func demoServer(cfg config, set []string, dir, base, practice string) demo.Server {
	env := slices.Concat(slices.DeleteFunc(os.Environ(), isSetting), set,
		[]string{"HOLDFAST_" + "ADMIN_KEY=" + cfg.adminKey, "HOLDFAST_" + "UPSTREAM_PASSWORD=" + cfg.upstream.password})
	env = slices.DeleteFunc(env, func(s string) bool { return strings.HasPrefix(s, "HOLDFAST_ADMIN_KEY_FILE=") })
	args := practiceArgs(cfg, practice)
	if cfg.baseURL == "" {
		args = append(args, "--base-url", base)
	}
	if !cfg.rateLimit {
		args = append(args, "--rate-limit", "off")
	}
	return demo.Server{ID: "server", Dir: cfg.data, Log: filepath.Join(dir, "server.log"), Args: args, Env: env}
}

// isSetting reports whether an environment variable is a setting of this program.
func isSetting(variable string) bool { return strings.HasPrefix(variable, "HOLDFAST_") }

// practiceArgs returns the flags that connect a server to the demo's practice-management system.
func practiceArgs(cfg config, practice string) []string {
	return []string{"--upstream-url", practice + "/GetData.ashx", "--upstream-client-id", cfg.upstream.clientID,
		"--upstream-user", cfg.upstream.user}
}
