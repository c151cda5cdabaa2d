// Package postgrestest starts a real PostgreSQL for tests. It creates a new cluster with a socket in a temporary
// directory. The cluster stops when the test binary ends. If PostgreSQL is not installed, tests skip with a message.
package postgrestest

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// Server is one running cluster. Its data is not needed after the tests, so by default it does not sync to disk.
type Server struct {
	bin     string
	dir     string // contains the data and the socket
	args    []string
	command *exec.Cmd
	serial  atomic.Int64

	prepare  sync.Once
	prepared error
}

// ErrAbsent means that PostgreSQL is not installed, or cannot run.
var ErrAbsent = errors.New("no PostgreSQL to test with; apt-get install postgresql")

// Start creates a cluster and runs it. settings are lines of postgresql.conf, such as "fsync=on".
func Start(settings ...string) (_ *Server, err error) {
	if !flag.Parsed() {
		flag.Parse() // a TestMain may start the server before the flags are parsed
	}
	if testing.Short() {
		return nil, fmt.Errorf("short run: %w", ErrAbsent)
	}
	s := &Server{}
	if s.bin = binaries(); s.bin == "" {
		return nil, ErrAbsent
	}
	if s.dir, err = os.MkdirTemp("", "holdfast-pg-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(s.dir))
		}
	}()
	if err := s.give(); err != nil {
		return nil, err
	}
	data := filepath.Join(s.dir, "data")
	made := s.exec("initdb", "-D", data, "-U", "holdfast", "-A", "trust", "-E", "UTF8", "--no-sync",
		"--no-instructions")
	if out, err := made.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: initdb: %w\n%s", ErrAbsent, err, out)
	}
	return s, s.begin(settings)
}

// begin starts the server on a new data directory.
func (s *Server) begin(settings []string) error {
	s.args = []string{"-D", filepath.Join(s.dir, "data")}
	for _, setting := range append([]string{"listen_addresses=", "unix_socket_directories=" + s.dir, "fsync=off",
		"full_page_writes=off", "max_connections=600", "logging_collector=off",
		"autovacuum=off", // otherwise it would process hundreds of small databases all the time
		"jit=off",        // without statistics, PostgreSQL expects many rows and would compile the statements
		"log_min_messages=fatal", "max_wal_size=256MB"}, settings...) {
		s.args = append(s.args, "-c", setting)
	}
	return s.Run()
}

// give makes the server's user the owner of the directory.
func (s *Server) give() error {
	if os.Getuid() != 0 {
		return nil
	}
	who, err := unprivileged()
	if err != nil {
		return fmt.Errorf("%w: PostgreSQL refuses to run as root, and there is no user to run it as: %w", ErrAbsent,
			err)
	}
	return os.Chown(s.dir, int(who.Uid), int(who.Gid))
}

// Run starts the server of a stopped cluster and returns when it accepts connections.
func (s *Server) Run() error {
	s.command = s.exec("postgres", s.args...)
	var said bytes.Buffer
	s.command.Stderr = &said
	if err := s.command.Start(); err != nil {
		return err
	}
	for began := time.Now(); time.Since(began) < 5*time.Minute; time.Sleep(20 * time.Millisecond) {
		if err := s.Tool("pg_isready", "-q", "-h", s.dir).Run(); err == nil {
			return nil
		}
	}
	s.Crash()
	return fmt.Errorf("PostgreSQL does not answer\n%s", said.Bytes())
}

// Crash stops the server immediately, without notifying its clients. Uncommitted data is lost. Run starts the server
// again.
func (s *Server) Crash() {
	_ = s.command.Process.Signal(syscall.SIGQUIT)
	_ = s.command.Wait()
}

// Stop stops the cluster immediately and removes it.
func (s *Server) Stop() {
	s.Crash()
	_ = os.RemoveAll(s.dir)
}

// Socket returns the path of the server's socket.
func (s *Server) Socket() string { return filepath.Join(s.dir, ".s.PGSQL.5432") }

// Tool returns a command of the same PostgreSQL, such as psql.
func (s *Server) Tool(name string, args ...string) *exec.Cmd {
	return exec.Command(filepath.Join(s.bin, name), args...)
}

// URL returns the URL of a database of the cluster.
func (s *Server) URL(database string) string {
	u := url.URL{Scheme: "postgres", User: url.User("holdfast"), Path: "/" + database,
		RawQuery: url.Values{"host": {s.dir}, "sslmode": {"disable"}}.Encode()}
	return u.String()
}

// Create creates an empty database and returns its URL.
func (s *Server) Create(t testing.TB) string {
	t.Helper()
	return s.create(t)
}

// template is the database that CreatePrepared copies.
const template = "prepared"

// CreatePrepared creates a copy of the database that prepare has set up, and returns its URL. It calls prepare once for
// each server. prepare must close its connections. Migrating an empty database takes six times as long as copying a
// migrated one.
func (s *Server) CreatePrepared(t testing.TB, prepare func(url string) error) string {
	t.Helper()
	s.prepare.Do(func() {
		out, err := s.Tool("createdb", "-h", s.dir, "-U", "holdfast", template).CombinedOutput()
		if err == nil {
			err = prepare(s.URL(template))
		}
		var said string
		if err == nil { // a database can be copied only without open connections
			said, err = s.SQL("postgres", `ALTER DATABASE `+template+` ALLOW_CONNECTIONS false`)
		}
		if err == nil {
			said, err = s.SQL("postgres", `SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = '`+template+`'`)
		}
		if err != nil {
			s.prepared = fmt.Errorf("%w\n%s%s", err, out, said)
		}
	})
	if s.prepared != nil {
		t.Fatalf("no prepared database: %v", s.prepared)
	}
	if version(filepath.Join(s.bin, "postgres")) < 15 {
		return s.create(t, "-T", template)
	}
	return s.create(t, "-T", template, "--strategy=file_copy") // half the processor time of a copy through the log
}

func (s *Server) create(t testing.TB, how ...string) string {
	t.Helper()
	name := "test_" + strconv.FormatInt(s.serial.Add(1), 10)
	args := append([]string{"-h", s.dir, "-U", "holdfast", name}, how...)
	if out, err := s.Tool("createdb", args...).CombinedOutput(); err != nil {
		t.Fatalf("createdb: %v\n%s", err, out)
	}
	return s.URL(name)
}

// binaries returns the directory with the programs of the newest installed PostgreSQL server.
func binaries() string {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	slices.SortFunc(found, func(a, b string) int { return version(a) - version(b) })
	if len(found) > 0 {
		return filepath.Dir(found[len(found)-1])
	}
	if path, err := exec.LookPath("postgres"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			return filepath.Dir(path)
		}
	}
	return ""
}

func version(binary string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(binary))))
	return n
}

// unprivileged returns the user that starts the server if the test runs as root.
func unprivileged() (*syscall.Credential, error) {
	found, err := user.Lookup("postgres")
	if err != nil {
		if found, err = user.Lookup("nobody"); err != nil {
			return nil, err
		}
	}
	uid, uidErr := strconv.ParseUint(found.Uid, 10, 32)
	gid, gidErr := strconv.ParseUint(found.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, errors.Join(uidErr, gidErr)
}

// exec returns a command of the same PostgreSQL that runs as the server's user.
func (s *Server) exec(name string, args ...string) *exec.Cmd {
	c := s.Tool(name, args...)
	c.Dir = s.dir
	c.SysProcAttr = &syscall.SysProcAttr{}
	if os.Getuid() == 0 {
		c.SysProcAttr.Credential, _ = unprivileged() // the first call has succeeded
	}
	endWithParent(c)
	return c
}
