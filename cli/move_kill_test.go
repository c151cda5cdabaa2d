package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/store"
	"holdfast/store/disk"
	"holdfast/store/postgres"
	"holdfast/store/postgres/postgrestest"
	"holdfast/store/sqlite"
)

// inTheWay runs statement in another transaction, which holds the locks of the statement until free is called.
func inTheWay(t *testing.T, server *postgrestest.Server, url, statement string) (free func()) {
	t.Helper()
	c := server.Tool("psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", url)
	asks, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	said, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	dieWithParent(c)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	free = sync.OnceFunc(func() { // rolls the transaction back
		asks.Close()
		_ = c.Wait()
	})
	t.Cleanup(free)
	if _, err := io.WriteString(asks, "BEGIN; "+statement+"; SELECT 'taken';\n"); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(said); lines.Scan(); {
		if lines.Text() == "taken" {
			return free
		}
	}
	t.Fatalf("psql refuses %s", statement)
	return free
}

// killedMoving runs migrate in a separate process and kills it after it has copied the appointments. However slow the
// test is, migrate cannot finish earlier: another transaction holds a lock that migrate needs later.
func killedMoving(t *testing.T, free func(), server *postgrestest.Server, args ...string) {
	t.Helper()
	c := exec.Command(os.Args[0], append([]string{"migrate"}, args...)...)
	c.Env = append(os.Environ(), asMain+"=1")
	dieWithParent(c)
	said, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	whole := false
	for lines := bufio.NewScanner(said); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "appointments ") {
			if err := c.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
		whole = whole || strings.Contains(lines.Text(), "all rows compared")
	}
	if err := c.Wait(); err == nil || whole {
		t.Fatalf("the move ended before it was killed (%v): the test kills no move", err)
	}
	free()
	eventually(t, "the server has let go of what the killed one had", func() bool {
		left, err := server.SQL("postgres", `SELECT count(*) FROM pg_stat_activity WHERE application_name = 'holdfast'`)
		return err == nil && left == "0"
	})
}

// TestKilledMigrateResumes kills migrate in both directions. The next run loses no row, and writes no copied row twice.
func TestKilledMigrateResumes(t *testing.T) {
	t.Parallel()
	const rows, stuck = 5_000, 3_200
	server, err := postgrestest.Start() // a server that no other test uses
	if err != nil {
		t.Skip("SKIPPED:", err)
	}
	t.Cleanup(server.Stop)
	url, dir := server.Create(t), movableDir(t)
	c, err := sqlite.OpenCarrier(t.Context(), filepath.Join(dir, databaseFile), dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	var many []store.Row // so that work remains after the appointments
	for i := range rows {
		many = append(many, store.Row{fmt.Sprintf("network-%05d", i), int64(i), int64(1)})
	}
	if err := errors.Join(c.Insert(t.Context(), tallies, tallyColumns, many), c.Commit(t.Context()),
		c.Close()); err != nil {
		t.Fatal(err)
	}
	began := filepath.Join(t.TempDir(), "before.db")
	duplicate(t, filepath.Join(dir, databaseFile), began)
	// creates the tables
	if to, err := postgres.OpenCarrier(t.Context(), url, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	} else if err := to.Close(); err != nil {
		t.Fatal(err)
	}

	serveIsRefused := func(target, url string) {
		t.Helper()
		serve := command(t, nil, "", "serve", "--data", filepath.Join(t.TempDir(), "node"), "--database", url,
			"--listen", "127.0.0.1:0")
		if serve.code != 1 {
			t.Errorf("serve with %s: exit code %d, want 1", target, serve.code)
		}
		contains(t, "serve with "+target, serve.stderr, "holdfast migrate")
	}
	empty := server.Create(t)
	if to, err := postgres.OpenTarget(t.Context(), empty, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	} else if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	serveIsRefused("the schema of a target", empty)
	free := inTheWay(t, server, url, fmt.Sprintf(`INSERT INTO tallies VALUES ('network-%05d', %d, 1)`, stuck, stuck))
	killedMoving(t, free, server, "--data", dir, "--to", url)
	if disk.Size(filepath.Join(dir, databaseFile)) <= 0 || disk.Size(filepath.Join(dir, postgresFile)) >= 0 {
		t.Fatal("a killed move deleted the clinic")
	}
	serveIsRefused("a part of a clinic", url)
	all := fmt.Sprintf("tallies              %d", rows+1)
	contains(t, "run again", must(t, "migrate", "--data", dir, "--to", url),
		"appointments         5, of which 5 were copied earlier", all, "all rows compared")

	home := filepath.Join(t.TempDir(), "home")
	back := []string{"--data", dir, "--database", url, "--to", "sqlite:" + home}
	killedMoving(t, inTheWay(t, server, url, `LOCK TABLE person_notes`), server, back...)
	if disk.Size(filepath.Join(home, databaseFile)) >= 0 {
		t.Fatal("a killed move left a part of a clinic under its name")
	}
	contains(t, "run again, home", must(t, append([]string{"migrate"}, back...)...),
		"appointments         5, of which 5 were copied earlier", all, "all rows compared")
	if disk.Size(filepath.Join(home, halfDir)) >= 0 {
		t.Error("the temporary directory of the move remains")
	}
	same(t, began, filepath.Join(home, databaseFile))
}

// TestAbandonedMigrateTargetIsDeleted: the server deletes a partial target a week after the last attempt, and not
// before.
func TestAbandonedMigrateTargetIsDeleted(t *testing.T) {
	t.Parallel()
	dir := clinicDir(t)
	half := filepath.Join(dir, halfDir)
	if err := os.Mkdir(half, 0o700); err != nil {
		t.Fatal(err)
	}
	copied(t, filepath.Join(dir, databaseFile), filepath.Join(half, databaseFile))
	for _, days := range []int{6, 8} {
		for _, path := range []string{filepath.Join(half, databaseFile), half} {
			if err := os.Chtimes(path, time.Time{}, time.Now().AddDate(0, 0, -days)); err != nil {
				t.Fatal(err)
			}
		}
		must(t, "export", "--data", dir)
		if there := disk.Size(half) >= 0; there != (days < 7) {
			t.Errorf("%d days later it still exists: %v", days, there)
		}
	}
}
