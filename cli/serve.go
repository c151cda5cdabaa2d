package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"holdfast/engine"
	"holdfast/engine/message"
	"holdfast/engine/notice"
	"holdfast/holds"
	"holdfast/store"
	"holdfast/store/backup"
	"holdfast/store/bolt"
	"holdfast/store/sqlite"
	"holdfast/web"
	"holdfast/web/certificate"
)

func serveCommand(p process) *cobra.Command {
	c := &cobra.Command{
		Use:   "serve",
		Short: "Serve the clinic in the data directory",
		Long: "Serves the clinic in the data directory until it receives SIGINT or SIGTERM. It then stops accepting\n" +
			"connections, closes live streams, finishes the requests in progress and exits with 0. A second\n" +
			"signal stops it immediately.",
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := p.resolve(c)
			if err != nil {
				return err
			}
			cfg.baseURL = cmp.Or(cfg.baseURL, cfg.https.base())
			if !hasDatabase(cfg.data) { // a server that cannot listen must not create a database
				free, err := listen(cfg.listen, "listen")
				if err != nil {
					return err
				}
				if err := free.Close(); err != nil {
					return err
				}
			}
			h, err := openHouse(c.Context(), cfg, houseOptions{version: p.version, log: newLog(cfg, p.stderr)})
			if err != nil {
				return err
			}
			if !cfg.afterRollback {
				if err := h.backups.RefuseRolledBack(c.Context()); err != nil {
					return errors.Join(err, h.close())
				}
			}
			// An owner who sets the mail server in the console may set the sender later.
			if err := h.engine.Message.CheckSender(); err != nil && cfg.smtpURL != "" {
				return errors.Join(fmt.Errorf("--smtp-url is set, but %w", err), h.close())
			}
			if h.entrance, err = h.openEntrance(cfg); err != nil {
				return errors.Join(err, h.close())
			}
			h.closing = append(h.closing, h.entrance.close)
			listener, err := listen(cfg.listen, "listen")
			if err != nil {
				return errors.Join(err, h.close())
			}
			h.listens(listener.Addr())
			err = firstRun(c.Context(), p.stdout, h, cfg)
			printTree(p.stdout, h)
			if errors.Is(err, store.ErrFull) { // the server still serves reads
				h.log.Warn("failed to create the setup link; restart when the disk has free space", "error", err)
				err = nil
			}
			if err != nil {
				return errors.Join(err, listener.Close(), h.close())
			}
			h.keepers = []func(context.Context){h.keepDaily, h.keepFollowing}
			work := []func(context.Context){h.entrance.keep, h.reportState}
			if cfg.upstream.url == "" {
				work = append(work, h.warnWithoutUpstream)
			}
			return errors.Join(h.serve(c.Context(), listener, work...), h.close())
		},
	}
	defineSettings(c, forServing)
	return c
}

// house is the whole server: its parts, wired together.
type house struct {
	log      *slog.Logger
	dir      *dataDir
	store    store.Store
	queue    store.Queue
	file     *bolt.Queue // the queue if it is a file in the data directory; nil with PostgreSQL
	holds    holds.Backend
	engine   *engine.Engine
	web      *web.Server
	entrance *entrance  // if nil, the server does not serve HTTPS itself
	local    string     // the address at which this machine reaches the server; empty without a listener
	rotating sync.Mutex // one rotation of the keys at a time
	backups  *backup.Backups
	keepers  []func(context.Context) // loops that make backups; they end after the last request
	fatal    chan error              // why the storage failed; holds at most one error
	closing  []func() error
	progress progress // progress of the last operation that a command has started
}

// houseOptions holds the options that differ between the commands that open the server's parts.
type houseOptions struct {
	version string
	log     *slog.Logger
	demo    bool
	// demoCluster is set if a demo process in front of this server has buttons that kill servers.
	demoCluster bool
	line        http.RoundTripper // in the demo, used instead of the network to the practice-management system
	local       bool              // for one command on this machine: no operation is delivered
	queue       bool              // with local, the queue is open
	// exclusive excludes other nodes from the database, like local.
	exclusive bool
	create    bool // creates a database if the data directory has none
}

// alone reports whether no other node may use the database at the same time.
func (o *houseOptions) alone() bool { return o.local || o.exclusive }

// openHouse opens the data directory and wires the parts: storage, live state, queue, engine, web. The caller closes
// the result.
func openHouse(ctx context.Context, cfg config, o houseOptions) (_ *house, err error) {
	h := &house{log: o.log, fatal: make(chan error, 1)}
	defer func() {
		if err != nil {
			err = errors.Join(h.withRemedy(err), h.close())
		}
	}()

	patience := lockPatience
	if o.local {
		patience = 0 // the command retries, and tries the socket of a server in between
	}
	if h.dir, err = openDataDir(cfg.data, time.Now(), patience); err != nil {
		return nil, err
	}
	h.closing = append(h.closing, h.dir.close)
	if h.dir.newKeys {
		h.log.Warn("secret.key was missing and a new key was created; earlier links and tokens are invalid", "file",
			h.dir.file(secretFile))
	}

	open := h.openSQLite
	if cfg.database != "" {
		open = h.openPostgres
	}
	if err := open(ctx, cfg, o); err != nil {
		return nil, err
	}
	h.closing = append(h.closing, h.store.Close)
	h.backups = h.newBackups(cfg.backups)

	if err := h.openLive(ctx, cfg, o); err != nil {
		return nil, err
	}

	if cfg.timeslotsCacheTTL == 0 {
		cfg.timeslotsCacheTTL = -1 // for the engine, 0 means the default and a negative value turns it off
	}
	options := engine.Options{
		Store: h.store, Holds: h.holds, Logger: h.log, Keyring: h.dir.keys, AdminKey: cfg.adminKey,
		Presence: cfg.presence, TimeslotsCacheTTL: cfg.timeslotsCacheTTL, Outbound: cfg.outbound,
		Practice: cfg.practice, Retention: cfg.keep, Copies: h.dir.copies,
		BaseURL:       cfg.baseURL,
		AfterRollback: cfg.afterRollback,
	}
	if cfg.database == "" {
		options.OnFatal = h.fail // a file that has failed once stays unusable; a database server can come back
	}
	if !o.local || o.queue {
		if err := h.openQueue(ctx, cfg, o, &options); err != nil {
			return nil, err
		}
	}
	if h.engine, err = engine.New(ctx, options); err != nil {
		return nil, err
	}

	if o.demo { // the visitors and the users of the demo share one machine
		cfg.limits.HoldShare = 100
	}
	if !o.local {
		cfg.fitStreams(h.log, streamsWithin(cfg.limits.Streams))
		cfg.fitConnections()
	}
	h.web, err = web.New(h.engine, web.Options{
		TrustedProxies: cfg.trustedProxies, RateLimit: cfg.rateLimit, Limits: cfg.limits,
		Demo: o.demo, DemoCluster: o.demoCluster, StorageMode: h.holds.Mode, Logger: h.log, Version: o.version,
		LastBackup: h.lastBackup, LastCopy: h.backups.LastCopy,
		Certificates:     func() []certificate.Status { return h.entrance.status() },
		LogClientAddress: cfg.logClientAddress,
	})
	return h, err
}

// openSQLite opens the database in the data directory.
func (h *house) openSQLite(ctx context.Context, _ config, _ houseOptions) error {
	if err := errors.Join(h.dir.expectDatabase(), h.dir.refusePostgres()); err != nil {
		return err
	}
	database := sqlite.Options{
		Path: h.dir.file(databaseFile), SnapshotDir: h.dir.file(backupsDir), Logger: h.log, OnFatal: h.fail,
	}
	s, err := sqlite.Open(ctx, database)
	if errors.Is(err, store.ErrFull) && h.dir.giveUpReserve() {
		h.log.Warn("disk full; reserved space freed so that reads continue", "directory", h.dir.path)
		s, err = sqlite.Open(ctx, database)
	} else if err == nil {
		h.dir.keepReserve()
	}
	if err != nil {
		return otherOwner(err)
	}
	h.store = s
	return nil
}

// openQueue opens the queue of outbound calls, and sets in o how they are delivered.
func (h *house) openQueue(ctx context.Context, cfg config, about houseOptions, o *engine.Options) (err error) {
	open := h.openBolt
	if cfg.database != "" {
		open = h.openPostgresQueue
	}
	if err := open(ctx, cfg, about, o); err != nil {
		return err
	}
	o.Queue = h.queue
	if about.local {
		return nil
	}
	for _, file := range h.dir.damagedQueues() {
		h.log.Warn("damaged queue file kept; delete it after inspection", "file", file)
	}
	mailer, err := notice.NewMailer(notice.MailOptions{URL: cfg.smtpURL, Dir: h.dir.file(mailDir)})
	if err != nil {
		return err
	}
	texter, err := cfg.sms.texter(cfg.webhookAllowPrivate)
	if err != nil {
		return err
	}
	if err := h.openUpstream(cfg, about.line, o); err != nil {
		return err
	}
	o.Notices = message.Transport{
		Mailer: mailer, Texter: texter,
		Hooks: notice.NewHooks(notice.HookOptions{AllowPrivate: cfg.webhookAllowPrivate}), From: cfg.mailFrom,
	}
	o.Fetcher = notice.NewFetcher(notice.FetchOptions{AllowPrivate: cfg.webhookAllowPrivate})
	return nil
}

// openBolt opens the queue's file in the data directory.
func (h *house) openBolt(ctx context.Context, _ config, _ houseOptions, o *engine.Options) (err error) {
	h.file, err = bolt.Open(ctx, bolt.Options{Path: h.dir.file(queueFile), Logger: h.log, Check: bolt.Check})
	if err != nil {
		return otherOwner(err)
	}
	h.closing = append(h.closing, h.file.Close)
	h.queue, o.QueueRebuilt = h.file, h.file.Rebuilt()
	return h.checkMarker(ctx)
}

// fail stops serve: the state on the disk is unknown, so the server must not acknowledge any more changes. It does
// not block.
func (h *house) fail(err error) {
	select {
	case h.fatal <- err:
	default:
	}
}

// serve serves listener, if it is not nil, and the admin socket until ctx ends or the storage fails. It also runs work.
// It returns when all accepted requests have been handled and everything that it started has stopped. It returns nil if
// it stopped because ctx ended.
func (h *house) serve(ctx context.Context, listener net.Listener, work ...func(context.Context)) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	socket, err := listenAdmin(h.dir.path)
	if err != nil {
		if listener != nil {
			err = errors.Join(err, listener.Close())
		}
		return err
	}
	defer os.Remove(h.dir.file(socketFile))

	var failed error
	var saying, deciding sync.WaitGroup
	saying.Go(func() { h.serveAdmin(ctx, socket) })
	for _, each := range work {
		saying.Go(func() { each(ctx) })
	}
	saying.Go(func() {
		select {
		case failed = <-h.fatal:
			h.log.Error("storage failed; stopping for recovery", "error", failed)
			stop(failed)
		case <-ctx.Done():
		}
	})
	// The engine stops after the last request.
	engineCtx, stopEngine := context.WithCancel(context.WithoutCancel(ctx))
	deciding.Go(func() { h.engine.Run(engineCtx) })
	if h.file != nil {
		deciding.Go(func() { h.keepMarker(engineCtx) })
	}
	// The keepers stop after the last request too, so that the last backup contains the changes of that request.
	stopKeepers := h.startKeepers(context.WithoutCancel(ctx))

	if listener != nil {
		err = h.web.Serve(ctx, listener, h.entrance.doors()...)
	} else {
		<-ctx.Done()
	}
	stop(err)
	saying.Wait()
	stopKeepers(failed)
	stopEngine()
	deciding.Wait()
	return errors.Join(err, h.withRemedy(failed))
}

// close closes all parts, in reverse order.
func (h *house) close() error {
	var err error
	for len(h.closing) > 0 {
		last := len(h.closing) - 1
		err = errors.Join(err, h.closing[last]())
		h.closing = h.closing[:last]
	}
	return err
}

// listen opens a TCP listener at the address of the given flag. Its errors explain what to do if the address is in
// use or not permitted.
func listen(address, flag string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf(
			"%s is in use by another program. Stop that program, or choose another address with --%s (port 0 picks a "+
				"free one)",
			address, flag,
		)
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("this user is not allowed to listen on %s: %w. Choose port 1024 or higher with --%s, "+
			"or grant the permission: run setcap cap_net_bind_service=+ep on the program, or under systemd add the "+
			"lines in docs/https.md",
			address, err, flag)
	case err != nil:
		return nil, fmt.Errorf("listen on %s: %w. Use --%s to set an address that this machine has", address, err, flag)
	}
	return l, nil
}

// newLog returns a logger that writes to w in the format of cfg, at the level of cfg and above.
func newLog(cfg config, w io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: cfg.logLevel}
	if cfg.logFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

// listens stores the address at which this machine reaches the server. It logs a warning if no public address is set.
func (h *house) listens(addr net.Addr) {
	h.local = "http://" + reachable(addr.String())
	at, _ := netip.ParseAddrPort(addr.String())
	if at.Addr().IsLoopback() {
		h.engine.Clinic.GuessBaseURL(h.local)
		return
	}
	if said, _ := h.engine.Clinic.BaseURL(); said == "" {
		h.log.Warn("no public address set; emails contain no link to change or cancel an appointment. "+
			"Set the address during setup or in the settings, or start with --base-url", "listens", addr.String())
	}
}

// base returns the public address of the server. If that is not set, it returns the address for this machine. It
// returns an empty string if neither is known.
func (h *house) base() string {
	said, _ := h.engine.Clinic.BaseURL()
	return cmp.Or(said, h.local)
}

// printTree prints the addresses of the server's pages and its data directory.
func printTree(w io.Writer, h *house) {
	schedule, base := h.engine.Clinic.Schedule(), h.base()
	clinic := schedule.Clinic.Name
	if len(schedule.Specialists) == 0 {
		clinic = "no clinic yet"
	}
	_, _ = fmt.Fprintf(w, `Holdfast · %s
├─ book    %s/
├─ staff   %s/staff
├─ API     %s/docs
├─ health  %s/readyz
└─ data    %s
`, clinic, base, base, base, base, h.dir.path)
}
