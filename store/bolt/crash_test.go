package bolt_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"holdfast/store"
	"holdfast/store/bolt"
)

// enqueueUntilKilled runs in a child process. Sixteen callers add, take and complete operations, and print each
// acknowledgement after they receive it.
func enqueueUntilKilled(path string) {
	q, err := bolt.Open(context.Background(), bolt.Options{Path: path, Timeout: 10 * time.Second})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	var wg sync.WaitGroup
	for caller := range 16 {
		wg.Go(func() {
			for i := 0; ; i++ {
				op := webhook(fmt.Sprintf("op-%d-%d-%d", os.Getpid(), caller, i), nine)
				err := q.Add(context.Background(), op)
				say("added", op.ID, err)
				op, err = q.Take(context.Background(), nine)
				say("attempted", op.ID, err)
				if i%2 == 0 {
					op.Status, op.FinishedAt, op.Result = store.OperationCompleted, nine, "done"
					say("completed", op.ID, q.Change(context.Background(), op, "completed", ""))
				}
			}
		})
	}
	wg.Wait()
}

func say(event, id string, err error) {
	if err != nil {
		event = "error"
	}
	fmt.Printf("%s %s %v\n", event, id, err)
}

// child starts the test binary as one of the programs in TestMain.
func child(t *testing.T, program, path string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, program, path)
	cmd.Stderr = os.Stderr
	dieWithParent(cmd)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, bufio.NewScanner(out)
}

// TestKillKeepsAcknowledged checks that after kill -9, all acknowledged writes exist and the file is intact.
func TestKillKeepsAcknowledged(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "queue.bolt")
	added, attempted, completed := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for round := range 4 {
		cmd, lines := child(t, "enqueue-until-killed", path)
		for n := 0; lines.Scan(); n++ { // read to the end: every line printed before the kill is an acknowledgement
			event, rest, _ := strings.Cut(lines.Text(), " ")
			id, _, _ := strings.Cut(rest, " ")
			switch event {
			case "added":
				added[id] = true
			case "attempted":
				attempted[id] = true
			case "completed":
				completed[id] = true
			default:
				t.Fatalf("the child process printed: %s", lines.Text())
			}
			if n == 300+100*round {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = cmd.Wait()

		q := open(t, bolt.Options{Path: path, Check: bolt.Check, Timeout: 10 * time.Second})
		if q.Quarantined() != "" {
			t.Fatalf("round %d: Open moved the file aside: %s", round, q.Quarantined())
		}
		for id := range added {
			op, err := q.Operation(t.Context(), id)
			if err != nil {
				t.Fatalf("round %d: %s was acknowledged: %v", round, id, err)
			}
			if attempted[id] && (op.Attempts == 0 || op.Status == store.OperationPending && !op.Unknown) {
				t.Errorf("round %d: %s was attempted: got %s with %d attempts", round, id, op.Status, op.Attempts)
			}
			if completed[id] && (op.Status != store.OperationCompleted || op.Result != "done") {
				t.Errorf("round %d: %s was completed: got %s", round, id, op.Status)
			}
		}
		n, err := q.Counts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if recovered, err := q.Recover(t.Context(), nine); recovered != n.Processing || err != nil {
			t.Errorf("round %d: recovered %d and %v, want %d", round, recovered, err, n.Processing)
		}
		if err := q.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d added, %d attempted, %d completed", len(added), len(attempted), len(completed))
}

// fillTheDisk runs in a child process. The file cannot grow beyond a limit, which is removed later.
func fillTheDisk(path string) {
	signal.Ignore(syscall.SIGXFSZ)
	fail := func(what string, err error) {
		fmt.Println(what, err)
		os.Exit(1)
	}
	q, err := bolt.Open(context.Background(), bolt.Options{Path: path})
	if err != nil {
		fail("Open:", err)
	}
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		fail("Getrlimit:", err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 256 << 10, Max: was.Max}); err != nil {
		fail("Setrlimit:", err)
	}
	acknowledged := 0
	for ; ; acknowledged++ {
		op := webhook(fmt.Sprintf("op-%05d", acknowledged), nine)
		op.Payload = fmt.Appendf(nil, "%q", strings.Repeat("x", 2000))
		if err = q.Add(context.Background(), op); err != nil {
			break
		}
	}
	if !errors.Is(err, store.ErrFull) {
		fail("Add on a full disk: want ErrFull, got", err)
	}
	for range 3 { // each write is refused, and reads still work
		if err := q.Add(context.Background(), webhook("op-more", nine)); err != nil && !errors.Is(err, store.ErrFull) {
			fail("Add again: want ErrFull, got", err)
		}
		if n, err := q.Counts(context.Background()); err != nil || n.Pending < acknowledged {
			fail(fmt.Sprintf("Counts: got %+v of %d", n, acknowledged), err)
		}
		if err := q.Ping(context.Background()); err != nil {
			fail("Ping:", err)
		}
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		fail("Setrlimit:", err)
	}
	if err := q.Add(context.Background(), webhook("op-later", nine)); err != nil {
		fail("Add with room again:", err)
	}
	fmt.Println("acknowledged", acknowledged)
	if err := q.Close(); err != nil {
		fail("Close:", err)
	}
	os.Exit(0)
}

// TestFullDiskRefusesThenRecovers checks that on a full disk, the queue refuses writes and still serves reads. It
// accepts writes again when there is space.
func TestFullDiskRefusesThenRecovers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "queue.bolt")
	cmd, lines := child(t, "fill-the-disk", path)
	said := ""
	for lines.Scan() {
		said += lines.Text() + "\n"
	}
	if err := cmd.Wait(); err != nil || !strings.HasPrefix(said, "acknowledged ") {
		t.Fatalf("got %q and %v, want the number of acknowledged operations", said, err)
	}
	acknowledged := 0
	if _, err := fmt.Sscanf(said, "acknowledged %d", &acknowledged); err != nil || acknowledged < 10 {
		t.Fatalf("got %q, want at least 10 acknowledged", said)
	}
	q := open(t, bolt.Options{Path: path, Check: bolt.Check})
	if q.Quarantined() != "" {
		t.Fatalf("Open moved the file aside: %s", q.Quarantined())
	}
	for i := range acknowledged {
		if _, err := q.Operation(t.Context(), fmt.Sprintf("op-%05d", i)); err != nil {
			t.Errorf("op-%05d was acknowledged: %v", i, err)
		}
	}
	if _, err := q.Operation(t.Context(), "op-later"); err != nil {
		t.Errorf("op-later was acknowledged: %v", err)
	}
}
