package bolt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"go.etcd.io/bbolt"
)

// CheckCommand is the first argument with which Check starts this program again: <program> queue-check-file <path>.
const CheckCommand = "queue-check-file"

const (
	checkBound    = time.Minute // a child that has not answered by then is killed, and the file counts as damaged
	checkLockWait = time.Second // how long the child waits for another process to let go of the file
	checkGreeting = "checking"  // the child's first line: it is indeed the checker

	exitDamaged    = 3
	exitInUse      = 4
	exitUnreadable = 5
)

// Check has a child process read the whole file, because a damaged one can kill whoever maps it. nil = it is sound;
// ErrDamaged with the reason; ErrInUse if another process has it. Any other error says that the check itself could not
// be made, which proves nothing about the file. The program must call CheckMain at the beginning of its main.
func Check(ctx context.Context, path string) error { return checkWithin(ctx, path, checkBound) }

func checkWithin(ctx context.Context, path string, bound time.Duration) error {
	program, err := self()
	if err != nil {
		return fmt.Errorf("queue: %s could not be checked: %w", path, err)
	}
	bounded, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	cmd := exec.CommandContext(bounded, program, CheckCommand, path)
	cmd.Env = []string{"GOTRACEBACK=none"} // nothing of ours: the environment may hold secrets, and a crash is expected
	cmd.WaitDelay = time.Second
	var out, crash head
	cmd.Stdout, cmd.Stderr = &out, &crash
	// The child ends when this pipe does, so that it does not outlive us with the file locked.
	lifeline, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("queue: %s could not be checked: %w", path, err)
	}
	defer lifeline.Close()
	err = cmd.Run()
	if ctx.Err() != nil {
		return fmt.Errorf("queue: checking %s: %w", path, ctx.Err())
	}
	greeting, reason, _ := strings.Cut(out.String(), "\n")
	reason = strings.TrimSpace(reason)
	switch code := cmd.ProcessState.ExitCode(); {
	case greeting != checkGreeting:
		return fmt.Errorf("queue: %s could not be checked: the child process did not answer (%w); the program must call bolt.CheckMain first", path, errors.Join(err, errSilent))
	case bounded.Err() != nil:
		return fmt.Errorf("%w: reading it did not end within %v", ErrDamaged, bound)
	case code == 0:
		return nil
	case code == exitInUse:
		return fmt.Errorf("%w: %s: stop that process, or ask it (holdfast queue list)", ErrInUse, path)
	case code == exitUnreadable:
		return fmt.Errorf("queue: %s could not be checked: %s", path, reason)
	case code == exitDamaged:
		return fmt.Errorf("%w: %s", ErrDamaged, reason)
	default:
		firstLine, _, _ := strings.Cut(crash.String(), "\n")
		return fmt.Errorf("%w: reading it ended in %q (%w)", ErrDamaged, firstLine, err)
	}
}

var errSilent = errors.New("no greeting")

// self is the running program; on Linux even if its file was replaced by an upgrade.
func self() (string, error) {
	if runtime.GOOS == "linux" {
		if _, err := os.Stat("/proc/self/exe"); err == nil {
			return "/proc/self/exe", nil
		}
	}
	return os.Executable()
}

// head keeps the first few kilobytes of what is written to it.
type head struct{ bytes.Buffer }

func (h *head) Write(p []byte) (int, error) {
	if room := 4096 - h.Len(); room > 0 {
		h.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

// CheckMain is the child's side of Check. It returns at once unless this process was started by Check; then it never
// returns.
func CheckMain() {
	if len(os.Args) == 3 && os.Args[1] == CheckCommand {
		os.Exit(checkMain(os.Args[2]))
	}
}

func checkMain(path string) (code int) {
	fmt.Println(checkGreeting)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(exitUnreadable) // the parent is gone
	}()
	debug.SetMaxStack(64 << 20) // pages that refer to each other in a circle end here, not in swap
	db, err := bbolt.Open(path, 0, &bbolt.Options{ReadOnly: true, Timeout: checkLockWait, PreLoadFreelist: true})
	if err != nil {
		fmt.Println(err) // the parent puts it into a sentence
		switch err = openError(path, err); {
		case errors.Is(err, ErrDamaged):
			return exitDamaged
		case errors.Is(err, ErrInUse):
			return exitInUse
		default:
			return exitUnreadable
		}
	}
	if err := verify(db); err != nil {
		fmt.Println(err)
		return exitDamaged
	}
	return 0
}
