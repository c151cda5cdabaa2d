package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"holdfast/holds/redis/redistest"
)

// withKey returns a new data directory with the secret.key of the node in from. If from is empty, the directory has no
// key.
func withKey(t *testing.T, from string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if from != "" {
		key, err := os.ReadFile(filepath.Join(from, secretFile))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, secretFile), key, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestNodeWithOtherSecretKeyIsRefused: a node with a different key may not start, even if its key is the one that has
// just been replaced. A node with the new key starts. If other nodes are running, "keys rotate" says that they need the
// new key.
func TestNodeWithOtherSecretKeyIsRefused(t *testing.T) {
	t.Parallel() // it waits for separate processes
	c := newNodesWith(t, 1, nil)
	begin := func(dir string) ran {
		t.Helper()
		return command(t, nil, "", append([]string{"serve", "--data", dir}, c.shared...)...)
	}
	stranger := withKey(t, "")
	got := begin(stranger)
	if got.code != 1 {
		t.Errorf("with its own key: exit code %d, want 1", got.code)
	}
	contains(t, "a key of its own", got.stderr, "a different secret.key",
		"Copy secret.key from the data directory of a running node to "+filepath.Join(stranger, secretFile))

	old := withKey(t, c.dirs[0])
	if said := must(t, "keys", "rotate", "--data", c.dirs[0]); strings.Contains(said, "other nodes") {
		t.Errorf("rotating on the only node: it names other nodes:\n%s", said)
	}
	if got := begin(old); got.code != 1 {
		t.Errorf("with the replaced key: exit code %d, want 1", got.code)
	} else {
		contains(t, "the key that was replaced", got.stderr, "a different secret.key")
	}
	c.dirs, c.all = append(c.dirs, withKey(t, c.dirs[0])), append(c.all, nil)
	c.start(1)
	contains(t, "rotating while another node runs", must(t, "keys", "rotate", "--data", c.dirs[0]),
		"Until then, the other nodes refuse links and tokens that this node signs",
		"Copy "+filepath.Join(c.dirs[0], secretFile)+" to each of the other nodes")
	if got := command(t, nil, "", "keys", "rotate", "--data", c.dirs[0], "--revoke-old"); got.code != 1 {
		t.Errorf("revoking while another node runs: exit code %d, want 1", got.code)
	} else {
		contains(t, "revoking", got.stderr, "other nodes are running", "Nothing was changed")
	}

	// Only running nodes are compared. So a clinic that has lost its key can start with a new one.
	for i, s := range c.all {
		if err := s.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		c.all[i].ended(t)
	}
	c.dirs[0] = withKey(t, "")
	c.start(0)
	contains(t, "alone, with a new key", c.all[0].stderr.String(), "earlier links and tokens are invalid")
}

// TestSlowAnswersLetNoNodeStart: a Redis that the other nodes do not use responds too late at first. The new node pings
// it again and is refused. If the new node started, all nodes would leave their Redis.
func TestSlowAnswersLetNoNodeStart(t *testing.T) {
	t.Parallel() // it waits for separate processes
	c := newNodesWith(t, 1, nil, "--redis", redistest.Start(t, redistest.Programs(t)[0]).URL())
	storageMode(t, c.all[0].base, "redis")
	link := redistest.Start(t, redistest.Programs(t)[0]).Proxy(t)
	const late = 4 // more than joinTries
	for range late {
		link.LoseReplyTo("holdfast:lease") // the key that shows whether other nodes use this Redis
	}
	got := command(t, nil, "", "serve", "--data", withKey(t, c.dirs[0]), "--database", c.shared[1], "--redis", link.URL(),
		"--listen", "127.0.0.1:0")
	if got.code != 1 || link.Lost() != late {
		t.Errorf("got exit code %d after %d late answers, want 1 after %d; it said:\n%s", got.code, link.Lost(), late,
			got.stderr)
	}
	contains(t, "another Redis", got.stderr, "the other nodes on this database do not use this Redis")
}

// TestJoinKeepsRefusalThroughTimeouts: once a response has shown that the other nodes do not use a Redis, a late or a
// failed response does not let the node start.
func TestJoinKeepsRefusalThroughTimeouts(t *testing.T) {
	late, refused := fmt.Errorf("call: %w", os.ErrDeadlineExceeded), errors.New("connection refused")
	for name, x := range map[string]struct {
		answers []error // the last one repeats
		want    error
	}{
		"late after the refusal":   {[]error{late, errElsewhere, late}, errElsewhere},
		"failed after the refusal": {[]error{errElsewhere, refused}, errElsewhere},
		"joined after the refusal": {[]error{errElsewhere, late, nil}, nil},
		"late":                     {[]error{late}, late},
		"failed":                   {[]error{late, refused}, refused},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := 0
				got := join(t.Context(), func(context.Context) error {
					n++
					return x.answers[min(n, len(x.answers))-1]
				})
				if !errors.Is(got, x.want) {
					t.Errorf("got %v after %d pings, want %v", got, n, x.want)
				}
			})
		})
	}
}

// TestNodeOnOtherRedisIsRefused: while other nodes run, a node with a different Redis may not start. A node with their
// Redis starts, even if that Redis is empty after a restart.
func TestNodeOnOtherRedisIsRefused(t *testing.T) {
	t.Parallel() // it waits for separate processes
	ours := redistest.Start(t, redistest.Programs(t)[0])
	c := newNodesWith(t, 1, nil, "--redis", ours.URL())
	elsewhere := redistest.Start(t, redistest.Programs(t)[0])
	flags := []string{"serve", "--data", withKey(t, c.dirs[0]), "--database", c.shared[1], "--redis", elsewhere.URL(),
		"--listen", "127.0.0.1:0"}
	got := command(t, nil, "", flags...)
	if got.code != 1 {
		t.Errorf("with another Redis: exit code %d, want 1", got.code)
	}
	contains(t, "another Redis", got.stderr, "the other nodes on this database do not use this Redis",
		"Set --redis to the same value as on the other nodes")

	ours.Kill()
	storageMode(t, c.all[0].base, "fallback")
	ours.Restart()
	c.dirs, c.all = append(c.dirs, withKey(t, c.dirs[0])), append(c.all, nil)
	c.start(1)
	storageMode(t, c.all[1].base, "redis")

	// Nodes that were started while Redis was unreachable still start to use it afterwards.
	ours.Kill()
	for i, s := range c.all {
		if err := s.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		c.all[i].ended(t)
	}
	for i := range c.all {
		c.start(i)
		storageMode(t, c.all[i].base, "fallback")
	}
	ours.Restart()
	for _, s := range c.all {
		storageMode(t, s.base, "redis")
	}
}
