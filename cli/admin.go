package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"holdfast/engine/record"
	"holdfast/store"
)

// The admin socket is a Unix socket (mode 0600, in a directory of mode 0700) for the commands on this machine. The file
// system decides which users can open it, so requests need no credentials. It serves all routes of the API with full
// rights, and under /local the routes that do not exist over TCP.

// adminHost is the host in the URLs of requests to the socket. It is never resolved.
const adminHost = "http://admin.sock"

// localActor is the actor of requests over the admin socket in the audit log.
const localActor = record.Actor("system")

// adminHandler serves the socket: the routes of the API, with the rights of this machine's administrator, and the
// routes that only a user of this machine can call.
func (h *house) adminHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", h.web.Local())
	mux.HandleFunc("POST /local/password", h.resetPassword)
	mux.HandleFunc("POST /local/setup-token", h.makeSetupToken)
	mux.HandleFunc("POST /local/keys/rotate", h.rotateKeys)
	mux.HandleFunc("POST /local/backups", h.makeBackup)
	mux.HandleFunc("POST /local/check", h.check)
	mux.HandleFunc("GET /local/damaged-queues", h.listDamagedQueues)
	mux.HandleFunc("GET /local/progress", h.getProgress)
	return mux
}

func statusOf(err error) int {
	var invalid *record.ValidationError
	switch {
	case errors.As(err, &invalid):
		return http.StatusUnprocessableEntity
	case errors.Is(err, store.ErrNotFound):
		return http.StatusNotFound
	case errors.Is(err, store.ErrDuplicate):
		return http.StatusConflict
	}
	return http.StatusInternalServerError
}

func answer(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body) // an error means that the peer has closed the connection
}

// invalidValues is printed before the invalid fields of a command.
const invalidValues = "these values are invalid"

// refuse writes an error response with a problem. Each invalid field becomes an entry of Errors.
func refuse(w http.ResponseWriter, status int, err error) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	told := problem{Status: status, Title: http.StatusText(status), Detail: err.Error()}
	var invalid *record.ValidationError
	if errors.As(err, &invalid) {
		told.Detail = invalidValues
		for _, f := range invalid.Fields {
			told.Errors = append(told.Errors, mistake{f.Field, f.Message})
		}
	}
	told.Overlaps = overlapsOf(err)
	_ = json.NewEncoder(w).Encode(told)
}

// problem is the body of an error response on the socket: the fields of RFC 9457 that the commands print.
type problem struct {
	Status int       `json:"status"`
	Title  string    `json:"title"`
	Detail string    `json:"detail,omitempty"`
	Errors []mistake `json:"errors,omitempty"`
	// Overlaps lists the pairs of overlapping appointments that a check found.
	Overlaps []overlapBody `json:"overlaps,omitempty"`
}

type mistake struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

func (p *problem) Error() string {
	var b strings.Builder
	detail := p.Detail
	if len(p.Errors) > 0 {
		detail = invalidValues // a route of the API tells its caller to send the request again
	}
	b.WriteString(cmp.Or(detail, p.Title))
	for _, e := range p.Errors {
		fmt.Fprintf(&b, "\n  %s: %s", e.Field, e.Message)
	}
	return b.String()
}

// serveAdmin serves the admin socket on listener until ctx ends. It returns when all responses are written, at most 5
// seconds later.
func (h *house) serveAdmin(ctx context.Context, listener net.Listener) {
	s := &http.Server{Handler: h.adminHandler(), ReadHeaderTimeout: 5 * time.Second,
		ErrorLog: slog.NewLogLogger(h.log.Handler(), slog.LevelDebug)}
	stopped := make(chan struct{})
	defer context.AfterFunc(ctx, func() {
		defer close(stopped)
		patience, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if s.Shutdown(patience) != nil {
			_ = s.Close() // a backup that takes longer fails; the operator must run it again
		}
	})()
	if err := s.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		h.log.Error("admin socket lost; restart the server to use commands", "error", err)
		return
	}
	<-stopped
}

// listenAdmin creates the socket of a data directory. The caller holds the directory's lock, so an existing socket was
// left behind by a process that died.
func listenAdmin(dir string) (net.Listener, error) {
	path, done, err := socketPath(dir)
	if err != nil {
		return nil, err
	}
	defer done()
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove a stale socket: %w", err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("open the admin socket: %w", err)
	}
	// The mode of the directory protects the socket from the start. The mode of the socket protects it if the operator
	// has given other users access to the directory.
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	// The listener must not remove the socket: when it closes, its path under /proc may belong to another file. serve
	// removes the socket.
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	return l, nil
}

// longestSocketPath is the maximum length of a socket path, in bytes. With its final zero byte, such a path fits into a
// sockaddr_un on every system.
const longestSocketPath = 103

// socketPath returns a path of dir's socket that is short enough to bind or dial. The path is valid until the caller
// calls done. On Linux, a long path goes through an open descriptor of the directory.
func socketPath(dir string) (path string, done func(), err error) {
	path, err = filepath.Abs(filepath.Join(dir, socketFile))
	if err != nil || len(path) <= longestSocketPath {
		return path, func() {}, err
	}
	if runtime.GOOS != "linux" {
		return "", nil, fmt.Errorf("the path %s is too long for a socket (%d bytes at most); choose a shorter "+
			"directory with --data",
			path, longestSocketPath)
	}
	d, err := os.Open(dir)
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", d.Fd(), socketFile), func() { _ = d.Close() }, nil
}

// adminClient calls a server over its admin socket.
type adminClient struct{ http *http.Client }

// dialAdmin returns a client of the server that uses the data directory, or an error if no server responds.
func dialAdmin(ctx context.Context, dir string) (*adminClient, error) {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		path, done, err := socketPath(dir)
		if err != nil {
			return nil, err
		}
		defer done()
		return (&net.Dialer{}).DialContext(ctx, "unix", path)
	}
	conn, err := dial(ctx, "", "")
	if err != nil {
		return nil, err
	}
	return &adminClient{&http.Client{Transport: &http.Transport{DialContext: dial}}}, conn.Close()
}

// do sends a request with body, which is JSON or nil, and returns the body of the response. If the server refuses the
// request, the error is a *problem.
func (c *adminClient) do(ctx context.Context, method, path string, body io.Reader) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, adminHost+path, body)
	if err != nil {
		return nil, err
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	reply, err := c.http.Do(r)
	if err != nil {
		return nil, fmt.Errorf("the admin socket: %w", err)
	}
	defer reply.Body.Close()
	b, err := io.ReadAll(reply.Body)
	if err != nil {
		return nil, fmt.Errorf("the admin socket: %w", err)
	}
	if reply.StatusCode >= 400 {
		refused := &problem{}
		if json.Unmarshal(b, refused) != nil || refused.Title == "" {
			refused.Title = reply.Status
		}
		return nil, refused
	}
	return b, nil
}

// call is like do, but it encodes body as JSON and decodes the response into the value that into points to. Either can
// be nil.
func (c *adminClient) call(ctx context.Context, method, path string, body, into any) error {
	var send io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return err
		}
		send = bytes.NewReader(b)
	}
	b, err := c.do(ctx, method, path, send)
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(b, into)
}
