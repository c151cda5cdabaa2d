package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"holdfast/engine/account"

	"golang.org/x/term"
)

// readPassword reads a password. A terminal does not show the password, so the user types it twice. In a file or a
// pipe, the password is the first line.
func (p process) readPassword(ctx context.Context) (string, error) {
	_, _ = fmt.Fprintf(p.stderr, "Password (at least %d characters): ", account.MinPassword)
	if f, ok := p.stdin.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		first, err := p.readHidden(ctx, int(f.Fd()))
		if err != nil {
			return "", err
		}
		_, _ = fmt.Fprint(p.stderr, "Repeat the password: ")
		second, err := p.readHidden(ctx, int(f.Fd()))
		if err == nil && first != second {
			err = errors.New("the two passwords differ; nothing was changed")
		}
		return first, err
	}
	line, err := io.ReadAll(io.LimitReader(p.stdin, account.MaxPassword+2))
	if err != nil {
		return "", fmt.Errorf("read the password: %w", err)
	}
	password, _, _ := strings.Cut(string(line), "\n")
	return strings.TrimSuffix(password, "\r"), nil
}

// readHidden reads one line from a terminal without showing it. If ctx ends (Ctrl-C), readHidden restores the terminal.
// The pending read lasts until the process ends.
func (p process) readHidden(ctx context.Context, fd int) (string, error) {
	shown, err := term.GetState(fd)
	if err != nil {
		return "", fmt.Errorf("read the password: %w", err)
	}
	type result struct {
		line []byte
		err  error
	}
	read := make(chan result, 1)
	go func() {
		line, err := term.ReadPassword(fd)
		read <- result{line, err}
	}()
	select {
	case <-ctx.Done():
		return "", errors.Join(ctx.Err(), term.Restore(fd, shown))
	case r := <-read:
		_, _ = fmt.Fprintln(p.stderr) // the terminal did not show the Enter key
		if r.err != nil {
			return "", fmt.Errorf("read the password: %w", r.err)
		}
		return string(r.line), nil
	}
}
