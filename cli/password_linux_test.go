package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unsafe"
)

// terminal is a pseudo-terminal. A test writes to typing what a user would type, and reads from it what the user would
// see.
type terminal struct {
	typing, program *os.File
	mu              sync.Mutex
	seen            strings.Builder
	closed          chan struct{}
}

func newTerminal(t *testing.T) *terminal {
	t.Helper()
	typing, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("cannot open a pseudo-terminal: %v", err)
	}
	var unlock, number int32
	ioctl(t, typing, syscall.TIOCSPTLCK, unsafe.Pointer(&unlock))
	ioctl(t, typing, syscall.TIOCGPTN, unsafe.Pointer(&number))
	program, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	p := &terminal{typing: typing, program: program, closed: make(chan struct{})}
	// The test may have closed them already, so errors do not matter.
	t.Cleanup(func() { _ = errors.Join(program.Close(), typing.Close()) })
	go func() {
		defer close(p.closed)
		b := make([]byte, 1024)
		for {
			n, err := typing.Read(b)
			p.mu.Lock()
			p.seen.Write(b[:n])
			p.mu.Unlock()
			if err != nil {
				return // the program has closed its side
			}
		}
	}()
	return p
}

func ioctl(t *testing.T, f *os.File, request uintptr, value unsafe.Pointer) {
	t.Helper()
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), request, uintptr(value)); errno != 0 {
		t.Fatal(errno)
	}
}

// echoes reports whether the terminal shows typed text.
func (p *terminal) echoes(t *testing.T) bool {
	var state syscall.Termios
	ioctl(t, p.program, syscall.TCGETS, unsafe.Pointer(&state))
	return state.Lflag&syscall.ECHO != 0
}

// enter types a line once the terminal has stopped showing typed text.
func (p *terminal) enter(t *testing.T, line string) {
	t.Helper()
	eventually(t, "the terminal hides what is typed", func() bool { return !p.echoes(t) })
	if _, err := p.typing.WriteString(line + "\n"); err != nil {
		t.Fatal(err)
	}
}

func TestPasswordPromptHidesInput(t *testing.T) {
	t.Parallel()
	dir := clinicDir(t)
	const password = "walrus teapot umbrella"
	for _, c := range []struct {
		name, again string
		code        int
		says        string
	}{
		{"twice the same", password, 0, "can sign in"},
		{"another one", "walrus teapot umbrelle", 1, "differ"},
	} {
		t.Run(c.name, func(t *testing.T) {
			screen := newTerminal(t)
			var out, told transcript
			code := make(chan int, 1)
			go func() {
				code <- run(t.Context(),
					process{args: []string{"admin", "create", "--data", dir, "--email", "jo@clinic.example", "--name",
						"Jo"},
						stdin: screen.program, stdout: &out, stderr: &told})
			}()
			screen.enter(t, password)
			eventually(t, "the command asks for the password twice", func() bool {
				return strings.Contains(told.String(), "Repeat the password")
			})
			screen.enter(t, c.again)
			if got := <-code; got != c.code {
				t.Errorf("exit code %d, want %d: %s", got, c.code, told.String())
			}
			if !screen.echoes(t) {
				t.Error("the terminal no longer echoes its input")
			}
			contains(t, "the command", out.String()+told.String(), c.says)
			if err := screen.program.Close(); err != nil {
				t.Fatal(err)
			}
			<-screen.closed
			if seen := screen.seen.String(); strings.Contains(seen, "walrus") {
				t.Errorf("the terminal shows %q", seen)
			}
		})
	}
}
