// Package noticetest contains mail servers for tests. They listen on loopback, accept mail and store nothing.
package noticetest

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
)

// MailServer serves SMTP on loopback until the test ends, and returns its host:port. It responds to each RCPT line with
// the result of recipient, such as "250 ok", and accepts every other command.
func MailServer(t testing.TB, recipient func(line string) string) string {
	t.Helper()
	return MailServerAt(t, "127.0.0.1:0", recipient)
}

// MailServerAt is MailServer at an address chosen by the test.
func MailServerAt(t testing.TB, address string, recipient func(line string) string) string {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	open, stop := context.WithCancel(context.Background())
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer context.AfterFunc(open, func() { conn.Close() })()
				serve(conn, recipient)
			})
		}
	})
	t.Cleanup(func() { l.Close(); stop(); serving.Wait() })
	return l.Addr().String()
}

func serve(conn net.Conn, recipient func(string) string) {
	defer conn.Close()
	reply, inMessage := "220 test", false
	for lines := bufio.NewScanner(conn); ; {
		if _, err := fmt.Fprintf(conn, "%s\r\n", reply); err != nil {
			return
		}
		for more := true; more; more = inMessage && lines.Text() != "." {
			if !lines.Scan() {
				return
			}
		}
		inMessage = false
		switch word, _, _ := strings.Cut(strings.ToUpper(lines.Text()), " "); word {
		case "RCPT":
			reply = recipient(lines.Text())
		case "DATA":
			reply, inMessage = "354 go", true
		case "QUIT":
			_, _ = fmt.Fprint(conn, "221 bye\r\n")
			return
		default:
			reply = "250 ok"
		}
	}
}
