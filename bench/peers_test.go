// Package bench compares Holdfast with servers that people could use instead. Holdfast and the other server are
// measured in one run on the same machine. Shared machines are noisy, so only the ratio of two measurements in the same
// run is meaningful. RESULTS.md contains the measured figures and the commands.
//
// The benchmarks start these servers on loopback with temporary data, and stop them afterwards. If a server is not
// installed, its benchmark reports that and is skipped; `make bench` installs the servers from Debian's packages if it
// has permission.
package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"

	"holdfast/cli/clitest"
)

// start runs a server until the benchmark ends. If the benchmark runs as root, the server runs as the named user,
// because PostgreSQL refuses to run as root.
func start(b *testing.B, user, name string, args ...string) {
	b.Helper()
	if user != "" && os.Getuid() == 0 {
		args = append([]string{"-u", user, "--", name}, args...)
		name = "runuser"
	}
	cmd := exec.Command(name, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		b.Skipf("SKIPPED: %s does not start: %v", name, err)
	}
	b.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
		_ = cmd.Wait()
	})
}

// until calls try until it succeeds, because a starting server refuses the first requests.
func until(b *testing.B, what string, try func(context.Context) error) {
	b.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for {
		err := try(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			b.Fatalf("%s does not answer: %v", what, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// redisServer starts an empty redis-server without persistence.
func redisServer(b *testing.B) *redis.Client {
	b.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		b.Skip("SKIPPED: redis-server is not installed; apt-get install redis-server")
	}
	p := clitest.Port(b)
	start(b, "", path, "--bind", "127.0.0.1", "--port", strconv.Itoa(p), "--save", "", "--appendonly", "no", "--dir",
		b.TempDir())
	c := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + strconv.Itoa(p), PoolSize: 32})
	b.Cleanup(func() { c.Close() })
	until(b, "redis-server", func(ctx context.Context) error { return c.Ping(ctx).Err() })
	return c
}

// postgresServer starts PostgreSQL on an empty directory. It keeps the default settings, which are durable.
func postgresServer(b *testing.B) (connect func(conns int) *pgxpool.Pool) {
	b.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		b.Skip("SKIPPED: postgresql is not installed; apt-get install postgresql")
	}
	bin := filepath.Dir(found[len(found)-1])
	dir, err := os.MkdirTemp("", "holdfast-bench-pg")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { os.RemoveAll(dir) })
	initdb := []string{filepath.Join(bin, "initdb"), "-D", dir, "-U", "postgres", "-A", "trust", "--no-instructions"}
	if os.Getuid() == 0 {
		if out, err := exec.Command("chown", "postgres", dir).CombinedOutput(); err != nil {
			b.Skipf("SKIPPED: no user postgres to run the server as: %s", out)
		}
		initdb = append([]string{"runuser", "-u", "postgres", "--"}, initdb...)
	}
	if out, err := exec.Command(initdb[0], initdb[1:]...).CombinedOutput(); err != nil {
		b.Fatalf("initdb: %v\n%s", err, out)
	}
	p := clitest.Port(b)
	start(b, "postgres", filepath.Join(bin, "postgres"), "-D", dir, "-p", strconv.Itoa(p), "-c",
		"listen_addresses=127.0.0.1",
		"-c", "unix_socket_directories="+dir, "-c", "max_connections=200", "-c", "logging_collector=off", "-c",
		"log_min_messages=fatal")
	return func(conns int) *pgxpool.Pool {
		config, err := pgxpool.ParseConfig(fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable&pool_max_conns=%d", p, conns))
		if err != nil {
			b.Fatal(err)
		}
		var pool *pgxpool.Pool
		until(b, "postgres", func(ctx context.Context) error {
			if pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
				return err
			}
			return pool.Ping(ctx)
		})
		b.Cleanup(pool.Close)
		return pool
	}
}

// together runs do from the given number of callers until n calls have been made, and returns how long it took.
func together(callers, n int, do func(i int)) time.Duration {
	next := make(chan int, n)
	for i := range n {
		next <- i
	}
	close(next)
	began := time.Now()
	done := make(chan struct{})
	for range callers {
		go func() {
			for i := range next {
				do(i)
			}
			done <- struct{}{}
		}()
	}
	for range callers {
		<-done
	}
	return time.Since(began)
}
