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

	"holdfast/engine/clinic"
	"holdfast/engine/record"
	"holdfast/store"
)

// The admin socket is a Unix socket (0600, in a directory of 0700) for the commands on this machine. The file system has
// said who may open it, so it asks for no credential; what it can do is the handful of routes below, most of them
// straight on the engine and not reachable over TCP.

// adminHost stands in the URLs of requests to the socket; nobody resolves it.
const adminHost = "http://admin.sock"

// localActor is who did it, in the audit log.
const localActor = record.Actor("system")

// apiKeyBody is an API key as the socket speaks of it.
type apiKeyBody struct {
	ID         string      `json:"id"`
	Name       string      `json:"name"`
	Scope      store.Scope `json:"scope"`
	Prefix     string      `json:"prefix"`
	Secret     string      `json:"secret,omitempty"` // only in the answer to its creation
	CreatedAt  time.Time   `json:"createdAt"`
	LastUsedAt *time.Time  `json:"lastUsedAt,omitempty"`
	RevokedAt  *time.Time  `json:"revokedAt,omitempty"`
}

// adminHandler answers on the socket.
func (h *house) adminHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api-keys", h.createAPIKey)
	mux.HandleFunc("GET /api-keys", h.listAPIKeys)
	mux.HandleFunc("DELETE /api-keys/{id}", h.revokeAPIKey)
	mux.HandleFunc("GET /users", h.listOwners)
	mux.HandleFunc("POST /users", h.createOwner)
	mux.HandleFunc("POST /users/password", h.resetPassword)
	mux.HandleFunc("POST /setup-token", h.makeSetupToken)
	mux.HandleFunc("POST /keys/rotate", h.rotateKeys)
	mux.HandleFunc("GET /queue", h.listQueue)
	mux.HandleFunc("POST /queue/{id}/retry", h.retryOperation)
	mux.Handle("POST /mcp", h.web.MCP(record.Principal{KeyID: "local", Scope: store.ScopeAgent}))
	mux.Handle("GET /v1/appointment-types/{id}/explain", h.web.Handler())
	mux.HandleFunc("POST /backups", h.makeBackup)
	mux.HandleFunc("POST /check", h.check)
	mux.HandleFunc("POST /import", h.importClinic)
	mux.HandleFunc("GET /export", h.exportClinic)
	return mux
}

func (h *house) importClinic(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxImport))
	if err != nil {
		refuse(w, http.StatusRequestEntityTooLarge, err)
		return
	}
	var file clinic.File
	if err := decodeStrictly(text, &file); err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	n, err := h.engine.Import(r.Context(), localActor, file)
	if err != nil {
		refuse(w, statusOf(err), err)
		return
	}
	answer(w, n)
}

func (h *house) exportClinic(w http.ResponseWriter, _ *http.Request) { answer(w, h.engine.Export()) }

func (h *house) createAPIKey(w http.ResponseWriter, r *http.Request) {
	var ask apiKeyBody
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<10)).Decode(&ask); err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	key, secret, err := h.engine.CreateAPIKey(r.Context(), localActor, ask.Name, ask.Scope)
	if err != nil {
		refuse(w, statusOf(err), err)
		return
	}
	body := bodyOfKey(key)
	body.Secret = secret
	answer(w, body)
}

func (h *house) listAPIKeys(w http.ResponseWriter, r *http.Request) {
	keys, err := h.engine.APIKeys(r.Context())
	if err != nil {
		refuse(w, statusOf(err), err)
		return
	}
	list := make([]apiKeyBody, len(keys))
	for i, k := range keys {
		list[i] = bodyOfKey(k)
	}
	answer(w, list)
}

func (h *house) revokeAPIKey(w http.ResponseWriter, r *http.Request) {
	if err := h.engine.RevokeAPIKey(r.Context(), localActor, r.PathValue("id")); err != nil {
		refuse(w, statusOf(err), err)
		return
	}
	answer(w, struct{}{})
}

func bodyOfKey(k store.APIKey) apiKeyBody {
	instant := func(t time.Time) *time.Time {
		if t.IsZero() {
			return nil
		}
		return &t
	}
	return apiKeyBody{ID: k.ID, Name: k.Name, Scope: k.Scope, Prefix: k.Prefix, CreatedAt: k.CreatedAt,
		LastUsedAt: instant(k.LastUsedAt), RevokedAt: instant(k.RevokedAt)}
}

func statusOf(err error) int {
	var invalid *record.ValidationError
	switch {
	case errors.As(err, &invalid):
		return http.StatusUnprocessableEntity
	case errors.Is(err, store.ErrNotFound):
		return http.StatusNotFound
	case errors.Is(err, store.ErrDuplicate), errors.Is(err, record.ErrOperationState):
		return http.StatusConflict
	}
	return http.StatusInternalServerError
}

func answer(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body) // the peer went away: there is nobody to tell
}

// refuse answers with a problem; every mistake of an invalid value gets its own line.
func refuse(w http.ResponseWriter, status int, err error) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	told := problem{Title: http.StatusText(status), Detail: err.Error()}
	var invalid *record.ValidationError
	if errors.As(err, &invalid) {
		told.Detail = "these values are wrong"
		for _, f := range invalid.Fields {
			told.Errors = append(told.Errors, mistake{f.Field, f.Message})
		}
	}
	_ = json.NewEncoder(w).Encode(told)
}

// problem is how the socket refuses: the part of RFC 9457 that a terminal has a use for.
type problem struct {
	Title  string    `json:"title"`
	Detail string    `json:"detail,omitempty"`
	Errors []mistake `json:"errors,omitempty"`
}

type mistake struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

func (p *problem) Error() string {
	var b strings.Builder
	b.WriteString(cmp.Or(p.Detail, p.Title))
	for _, e := range p.Errors {
		fmt.Fprintf(&b, "\n  %s: %s", e.Field, e.Message)
	}
	return b.String()
}

// serveAdmin answers on listener until ctx ends, and returns when every answer is out.
func (h *house) serveAdmin(ctx context.Context, listener net.Listener) {
	s := &http.Server{Handler: h.adminHandler(), ReadHeaderTimeout: 5 * time.Second,
		ErrorLog: slog.NewLogLogger(h.log.Handler(), slog.LevelDebug)}
	stopped := make(chan struct{})
	defer context.AfterFunc(ctx, func() {
		defer close(stopped)
		patience, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if s.Shutdown(patience) != nil {
			_ = s.Close() // a backup that takes longer is made anew
		}
	})()
	if err := s.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		h.log.Error("the admin socket is gone; commands against this server wait for its restart", "error", err)
		return
	}
	<-stopped
}

// listenAdmin makes the socket of a data directory. The caller has the directory's lock, so a socket that is already
// there was left by a process that died.
func listenAdmin(dir string) (net.Listener, error) {
	path, done, err := socketPath(dir)
	if err != nil {
		return nil, err
	}
	defer done()
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove the socket of a process that died: %w", err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("open the admin socket: %w", err)
	}
	// The directory keeps others out from the first instant; the mode keeps them out where the directory was opened up.
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	// Unlinking is left to close of the house: by then the path under /proc may be another one.
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	return l, nil
}

// longestSocketPath is what fits into a sockaddr_un everywhere, with its final zero byte.
const longestSocketPath = 103

// socketPath is a name for the socket of dir that is short enough to be bound or dialled until done is called. On Linux
// a long one is reached through an open descriptor of the directory.
func socketPath(dir string) (path string, done func(), err error) {
	path, err = filepath.Abs(filepath.Join(dir, socketFile))
	if err != nil || len(path) <= longestSocketPath {
		return path, func() {}, err
	}
	if runtime.GOOS != "linux" {
		return "", nil, fmt.Errorf("the path %s is too long for a socket (%d bytes at most); name a shorter directory with --data", path, longestSocketPath)
	}
	d, err := os.Open(dir)
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", d.Fd(), socketFile), func() { _ = d.Close() }, nil
}

// adminClient speaks to an admin socket.
type adminClient struct{ http *http.Client }

// dialAdmin returns a client of the server that has the data directory, or an error if none answers.
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

// do sends body, if it is not nil, as JSON and reads the answer's body. A refusal is a *problem.
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

// call is do with a JSON body and a JSON answer; either may be nil.
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
