package postgrestest

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Standby creates a standby: a copy of the running server that follows it. If sync is true, commits on the primary wait
// for the standby from then on.
func (s *Server) Standby(sync bool) (_ *Server, err error) {
	standby := &Server{bin: s.bin}
	if standby.dir, err = os.MkdirTemp("", "holdfast-pg-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(standby.dir)
		}
	}()
	if err := standby.give(); err != nil {
		return nil, err
	}
	copied := standby.exec("pg_basebackup", "-h", s.dir, "-U", "holdfast", "-D", filepath.Join(standby.dir, "data"),
		"-R", "-X", "stream", "-c", "fast", "--no-sync")
	if out, err := copied.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("pg_basebackup: %w\n%s", err, out)
	}
	if err := standby.begin(nil); err != nil {
		return nil, err
	}
	if sync {
		if _, err := s.SQL("postgres", "ALTER SYSTEM SET synchronous_standby_names = '*'"); err != nil {
			standby.Stop()
			return nil, err
		}
		if _, err := s.SQL("postgres", "SELECT pg_reload_conf()"); err != nil {
			standby.Stop()
			return nil, err
		}
	}
	want := map[bool]string{true: "sync", false: "async"}[sync]
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		state, err := s.SQL("postgres", "SELECT sync_state FROM pg_stat_replication WHERE state = 'streaming'")
		if err == nil && state == want {
			return standby, nil
		}
		if time.Since(began) > 10*time.Minute {
			standby.Stop()
			return nil, fmt.Errorf("the standby does not follow: %q, %w", state, err)
		}
	}
}

// Promote makes a standby replace its primary, and returns when it accepts writes.
func (s *Server) Promote() error {
	if out, err := s.exec("pg_ctl", "promote", "-w", "-D", filepath.Join(s.dir, "data")).CombinedOutput(); err != nil {
		return fmt.Errorf("pg_ctl promote: %w\n%s", err, out)
	}
	return nil
}

// SQL runs one statement with psql and returns its output.
func (s *Server) SQL(database, statement string) (string, error) {
	out, err := s.Tool("psql", "-X", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", s.dir, "-U", "holdfast", "-d", database,
		"-c", statement).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("psql: %w\n%s", err, out)
	}
	return strings.TrimSpace(string(out)), nil
}

// Either returns the URL of a database on two servers. A connection uses the server that accepts writes.
func (s *Server) Either(other *Server, database string) string {
	u := url.URL{Scheme: "postgres", User: url.User("holdfast"), Path: "/" + database,
		RawQuery: url.Values{"host": {s.dir + "," + other.dir}, "sslmode": {"disable"},
			"target_session_attrs": {"read-write"}}.Encode()}
	return u.String()
}
