package cli

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"holdfast/cli/clitest"
)

// These tests run two real programs: this one, and an earlier one that they build from the history of the repository.

// earlier returns the file of the earlier program, or an error with the reason why there is none.
var earlier = sync.OnceValues(buildEarlier)

// earlierProgram returns the file of the earlier program. It skips the test if the history of the repository is
// missing.
func earlierProgram(t *testing.T) string {
	t.Helper()
	clitest.Long(t, "it builds an earlier version")
	program, err := earlier()
	if err != nil {
		t.Skip("SKIPPED: cannot build an earlier version:", err)
	}
	return program
}

// earlierCommit returns the latest tag before this version, or, without tags, the commit before the newest schema of
// SQLite.
func earlierCommit() (string, error) {
	if tag, err := git("describe", "--tags", "--abbrev=0", "HEAD^"); err == nil {
		return strings.TrimSpace(string(tag)), nil
	}
	migrations, err := filepath.Glob("../store/sqlite/migrations/*.sql")
	if err != nil || len(migrations) == 0 {
		return "", errors.Join(errors.New("no migrations"), err)
	}
	added, err := git("log", "-1", "--diff-filter=A", "--format=%H", "--", slices.Max(migrations))
	if err != nil || len(added) == 0 {
		return "", errors.Join(errors.New("the history does not have the commit of the newest schema"), err)
	}
	return strings.TrimSpace(string(added)) + "^", nil
}

func git(args ...string) ([]byte, error) {
	var said bytes.Buffer
	c := exec.Command("git", args...)
	c.Stderr = &said
	out, err := c.Output()
	if err != nil {
		err = fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(said.String()))
	}
	return out, err
}

func buildEarlier() (string, error) {
	commit, err := earlierCommit()
	if err != nil {
		return "", err
	}
	hash, err := git("rev-parse", commit+"^{commit}")
	if err != nil {
		return "", err
	}
	kept := filepath.Join(os.TempDir(), fmt.Sprintf("holdfast-program-%d", os.Getuid())) // clitest deletes old files in it
	program := filepath.Join(kept, "earlier-"+strings.TrimSpace(string(hash)))
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	top, err := git("rev-parse", "--show-toplevel")
	if err != nil {
		return "", err
	}
	archive, err := git("-C", strings.TrimSpace(string(top)), "archive", commit)
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "holdfast-earlier-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	for files := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", err
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		name := filepath.Join(dir, filepath.FromSlash(h.Name))
		text, err := io.ReadAll(files)
		if err := errors.Join(err, os.MkdirAll(filepath.Dir(name), 0o700)); err != nil {
			return "", err
		}
		if err := os.WriteFile(name, text, 0o600); err != nil {
			return "", err
		}
	}
	built := filepath.Join(dir, "holdfast-earlier")
	build := exec.Command("go", "build", "-o", built, ".")
	build.Dir, build.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
	if said, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s: %w: %s", commit, err, said)
	}
	return program, errors.Join(os.MkdirAll(kept, 0o700), os.Rename(built, program))
}

// TestRollingUpgrade upgrades a clinic from the earlier program to this one, one node after the other, while clients
// book. Then one node goes back to the earlier program, which must either refuse to start or serve correctly. No
// acknowledged booking is lost.
func TestRollingUpgrade(t *testing.T) {
	t.Parallel() // it waits for separate processes
	program := earlierProgram(t)
	t.Run("SQLite", func(t *testing.T) { rollingUpgrade(t, newNodesFrom(t, program, 1, nil, "", nil), program) })
	t.Run("PostgreSQL", func(t *testing.T) {
		rollingUpgrade(t, newNodesFrom(t, program, 2, nil, postgresURL(t), nil), program)
	})
}

func rollingUpgrade(t *testing.T, c *nodes, program string) {
	r := c.clients()
	r.more(40)
	c.program = ""
	for node := range c.all {
		r.leave(node)
		r.enter(node)
		r.more(40)
	}
	r.leave(0)
	c.program = program
	if refusal := c.refused(0); refusal != "" {
		t.Logf("the earlier program refuses: %s", refusal)
	} else {
		t.Log("the earlier program serves")
		r.enter(0)
		r.more(40)
		r.leave(0)
	}
	c.program = ""
	r.enter(0)
	r.more(40)
	r.end()
	flags := c.shared[:0:0]
	if c.shared[0] == "--database" {
		flags = c.shared[:2]
	} else {
		r.leave(0)
	}
	must(t, slices.Concat([]string{"verify", "--data", c.dirs[0]}, flags)...)
}

// refused starts a node, and kills it if it serves. It returns the last line of the error if the node refuses to start.
func (c *nodes) refused(node int) string {
	c.t.Helper()
	var said bytes.Buffer
	ctx, cancel := context.WithTimeout(c.t.Context(), neverAfter)
	defer cancel()
	s := exec.CommandContext(ctx, c.program, slices.Concat([]string{"serve", "--data", c.dirs[node]}, c.shared)...)
	dieWithParent(s)
	s.Stderr = &said
	out, err := s.StdoutPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		c.t.Fatal(err)
	}
	for tree := bufio.NewScanner(out); tree.Scan(); {
		if strings.Contains(tree.Text(), "book") { // it serves
			if err := s.Process.Kill(); err != nil {
				c.t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, out)
			_ = s.Wait() // an error, because it was killed
			return ""
		}
	}
	_ = s.Wait()
	if code := s.ProcessState.ExitCode(); code != 1 {
		c.t.Errorf("the earlier program ended with %d: %s", code, said.String())
	}
	lines := strings.Split(strings.TrimSpace(said.String()), "\n")
	return lines[len(lines)-1]
}
