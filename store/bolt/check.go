package bolt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"go.etcd.io/bbolt"
)

// CheckCommand is the first argument of the child process that Check starts from this program: <program>
// queue-check-file <path>.
const CheckCommand = "queue-check-file"

const (
	checkBound    = time.Minute // time limit of the child; then it is killed, and the file counts as damaged
	checkLockWait = time.Second // how long the child waits for another process to release the file
	checkGreeting = "checking"  // the child's first line: it shows that the child is the checker

	exitDamaged    = 3
	exitInUse      = 4
	exitUnreadable = 5
	exitDenied     = 6
)

// Check starts a child process that reads the whole file, because a damaged file can kill the process that maps it. It
// returns nil if the file is valid, ErrDamaged with the reason if the file is damaged, and ErrInUse if another process
// has it open. Any other error means that the check itself failed, which proves nothing about the file. The program
// must call CheckMain at the beginning of its main.
func Check(ctx context.Context, path string) error { return checkWithin(ctx, path, checkBound) }

func checkWithin(ctx context.Context, path string, bound time.Duration) error {
	program, err := self()
	if err != nil {
		return fmt.Errorf("queue: %s could not be checked: %w", path, err)
	}
	bounded, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	cmd := exec.CommandContext(bounded, program, CheckCommand, path)
	// The child gets no variables of this process: they may contain secrets, and the child may crash.
	cmd.Env = []string{"GOTRACEBACK=none"}
	cmd.WaitDelay = time.Second
	var out, crash head
	cmd.Stdout, cmd.Stderr = &out, &crash
	// The child exits when this pipe closes, so that it does not outlive its parent and keep the file locked.
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
		return fmt.Errorf(
			"queue: %s could not be checked: the child process did not respond (%w); the program must call "+
				"bolt.CheckMain first",
			path, errors.Join(err, errSilent),
		)
	case bounded.Err() != nil:
		return fmt.Errorf("%w: reading the file took longer than %v", ErrDamaged, bound)
	case code == 0:
		return nil
	case code == exitInUse:
		return fmt.Errorf("%w: %s: stop that process, or use it to inspect the queue (holdfast queue "+
			"list)", ErrInUse, path)
	case code == exitUnreadable:
		return fmt.Errorf("queue: %s could not be checked: %s", path, reason)
	case code == exitDenied:
		return fmt.Errorf("queue: %s could not be checked: %w", path, fs.ErrPermission)
	case code == exitDamaged:
		return fmt.Errorf("%w: %s", ErrDamaged, reason)
	default:
		firstLine, _, _ := strings.Cut(crash.String(), "\n")
		return fmt.Errorf("%w: reading the file ended with %q (%w)", ErrDamaged, firstLine, err)
	}
}

var errSilent = errors.New("no greeting")

// self returns the path of the running program; on Linux it works even if an upgrade has replaced the file.
func self() (string, error) {
	if runtime.GOOS == "linux" {
		if _, err := os.Stat("/proc/self/exe"); err == nil {
			return "/proc/self/exe", nil
		}
	}
	return os.Executable()
}

// head stores the first few kilobytes written to it.
type head struct{ bytes.Buffer }

func (h *head) Write(p []byte) (int, error) {
	if room := 4096 - h.Len(); room > 0 {
		h.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

// CheckMain is the child's side of Check. It returns immediately unless Check started this process; then it never
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
		os.Exit(exitUnreadable) // the parent has exited
	}()
	debug.SetMaxStack(64 << 20) // so that a cycle of pages ends in a stack overflow and does not fill the memory
	db, err := bbolt.Open(path, 0, &bbolt.Options{ReadOnly: true, Timeout: checkLockWait, PreLoadFreelist: true})
	if err != nil {
		fmt.Println(err) // the parent adds it to its error
		switch err = openError(path, err); {
		case errors.Is(err, ErrDamaged):
			return exitDamaged
		case errors.Is(err, ErrInUse):
			return exitInUse
		case errors.Is(err, fs.ErrPermission):
			return exitDenied
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
