package simulation

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the referee reads the file directly

	"holdfast/engine"
	"holdfast/engine/booking"
	"holdfast/engine/message"
	"holdfast/engine/notice"
	"holdfast/engine/token"
	"holdfast/engine/upstream"
	"holdfast/engine/upstream/upstreamtest"
	"holdfast/holds/memory"
	"holdfast/store/bolt"
	"holdfast/store/sqlite"
	"holdfast/web"
	"holdfast/web/pipetest"
)

const adminKey = "the-admin-key-of-the-simulation"

// house is one run of the server, from its start until it is stopped or killed.
type house struct {
	dir    string
	faults *faults
	store  *sqlite.Store
	queue  *bolt.Queue
	holds  *memory.Backend
	engine *engine.Engine
	http   *http.Client
	wire   *careless
	fatal  error
	rows   *sql.DB   // the referee's connection to the database
	opened time.Time // when the server started

	stopServing, stopEngine context.CancelFunc
	serving, running        sync.WaitGroup
	served                  error
}

// openHouse opens the files of a directory and starts the server with them. The practice-management system, the
// receiver of webhooks, the SMS gateway, the keys and the emails outlive the server.
func openHouse(dir string, keys *token.Keyring, outside *upstreamtest.Server, told *receiver,
	texts *gateway) (*house, error) {
	ctx := context.Background()
	h := &house{dir: dir, faults: &faults{}, opened: time.Now()}
	var err error
	if h.store, err = sqlite.Open(ctx, sqlite.Options{Path: filepath.Join(dir, "holdfast.db")}); err != nil {
		return nil, err
	}
	if h.queue, err = bolt.Open(ctx, bolt.Options{Path: filepath.Join(dir, "queue.bolt")}); err != nil {
		return nil, errors.Join(err, h.store.Close())
	}
	faulty := faultyStore{h.store, h.faults}
	h.holds = memory.New(memory.Options{Booked: booking.Booked(faulty)})
	pacer := upstream.NewPacer(0)
	client, err := upstream.New(upstream.Options{
		URL: "https://pms.example/GetData.ashx", ClientID: "client", User: "user", Password: "secret", Pacer: pacer,
		HTTP: &http.Client{Transport: line{outside, h.faults}},
	})
	if err != nil {
		return nil, err
	}
	mailer, err := notice.NewMailer(notice.MailOptions{Dir: filepath.Join(filepath.Dir(dir), "mail")})
	if err != nil {
		return nil, err
	}
	texter, err := notice.NewTexter(notice.TexterOptions{
		Given: &notice.Gateway{Method: "POST", URL: "http://sms.clinic.test/send", Body: "to={to}&text={text}"},
		Dial:  dial(texts.listener, texts.isGone, h.faults), AllowPrivate: true,
	})
	if err != nil {
		return nil, err
	}
	if h.engine, err = engine.New(ctx, engine.Options{
		Store: faulty, Holds: h.holds, Queue: faultyQueue{h.queue, h.faults}, QueueRebuilt: h.queue.Rebuilt(),
		Keyring: keys, AdminKey: adminKey, Pacer: pacer, Upstream: client,
		Notices: message.Transport{Mailer: mailer, Texter: texter,
			Hooks: notice.NewHooks(notice.HookOptions{Dial: dial(told.listener, told.isGone, h.faults)})},
		OffersToFiles: true, QuickPasswords: true, BaseURL: "https://book.clinic.example",
		OnFatal: func(err error) { h.fatal = err },
	}); err != nil {
		return nil, errors.Join(err, h.holds.Close(), h.queue.Close(), h.store.Close())
	}
	server, err := web.New(h.engine, web.Options{Version: "simulated",
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		return nil, err
	}
	listener := pipetest.NewListener()
	h.wire = &careless{to: &http.Transport{DialContext: listener.Dial}}
	h.http = &http.Client{Transport: h.wire}
	deciding, stopEngine := context.WithCancel(ctx)
	saying, stopServing := context.WithCancel(ctx)
	h.stopEngine, h.stopServing = stopEngine, stopServing
	h.running.Go(func() { h.engine.Run(deciding) })
	h.serving.Go(func() { h.served = server.Serve(saying, listener) })
	h.rows, err = sql.Open("sqlite", "file:"+filepath.Join(dir, "holdfast.db")+"?mode=ro")
	return h, err
}

// stop ends everything that is running, as SIGTERM does, and leaves the files open.
func (h *house) stop() {
	h.stopServing()
	h.serving.Wait()
	h.wire.to.(*http.Transport).CloseIdleConnections()
	h.stopEngine()
	h.running.Wait()
}

func (h *house) close() error {
	return errors.Join(h.rows.Close(), h.holds.Close(), h.queue.Close(), h.store.Close(), h.served, h.fatal)
}

// kill copies the files in their state at this moment to another directory, and discards the rest.
func (h *house) kill(into string) error {
	h.faults.turnOff()
	h.stop()
	if err := os.MkdirAll(into, 0o700); err != nil {
		return err
	}
	for _, name := range []string{"holdfast.db", "holdfast.db-wal", "queue.bolt"} {
		b, err := os.ReadFile(filepath.Join(h.dir, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(into, name), b, 0o600)
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	h.fatal = nil // errors of a machine without power do not count
	if err := h.close(); err != nil {
		return fmt.Errorf("close the killed server: %w", err)
	}
	return os.RemoveAll(h.dir)
}
