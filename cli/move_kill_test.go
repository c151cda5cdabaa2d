package cli

import (
	"bufio"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/store"
	"holdfast/store/sqlite"
)

// killedMoving runs migrate in a process of its own and kills it when it has moved the appointments.
func killedMoving(t *testing.T, args ...string) {
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
		whole = whole || strings.Contains(lines.Text(), "every row was compared")
	}
	if err := c.Wait(); err == nil || whole {
		t.Fatalf("it was through before it was killed (%v): the test kills nothing", err)
	}
}

// TestAMoveThatIsKilledIsRunAgain, there and back: nothing is twice and nothing is lost.
func TestAMoveThatIsKilledIsRunAgain(t *testing.T) {
	t.Parallel() // it waits for processes of its own
	url, dir := postgresURL(t), movableDir(t)
	c, err := sqlite.OpenCarrier(t.Context(), filepath.Join(dir, databaseFile), dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	var many []store.Row // so that there is something to do after the appointments
	for i := range 20_000 {
		many = append(many, store.Row{fmt.Sprintf("network-%05d", i), int64(i), int64(1)})
	}
	if err := errors.Join(c.Insert(t.Context(), tallies, tallyColumns, many), c.Commit(t.Context()), c.Close()); err != nil {
		t.Fatal(err)
	}
	began := filepath.Join(t.TempDir(), "before.db")
	duplicate(t, filepath.Join(dir, databaseFile), began)

	killedMoving(t, "--data", dir, "--to", url)
	if size(filepath.Join(dir, databaseFile)) <= 0 || size(filepath.Join(dir, postgresFile)) >= 0 {
		t.Fatal("a move that was killed took the clinic away")
	}
	contains(t, "run again", must(t, "migrate", "--data", dir, "--to", url), "tallies              20001", "every row was compared")

	home := filepath.Join(t.TempDir(), "home")
	back := []string{"--data", dir, "--database", url, "--to", "sqlite:" + home}
	killedMoving(t, back...)
	if size(filepath.Join(home, databaseFile)) >= 0 {
		t.Fatal("a move that was killed left half a clinic under its name")
	}
	contains(t, "run again, home", must(t, append([]string{"migrate"}, back...)...), "tallies              20001", "every row was compared")
	if left, _ := filepath.Glob(filepath.Join(home, ".migrate-*")); len(left) > 0 {
		t.Errorf("half-made files are left: %v", left)
	}
	same(t, began, filepath.Join(home, databaseFile))
}
