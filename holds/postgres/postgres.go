// Package postgres stores the live state of several nodes in the PostgreSQL that stores their durable data: a
// holds.Backend on unlogged tables and NOTIFY. With it, two nodes and one database are a complete cluster. Nodes also
// share it while their Redis is unavailable.
//
// # Decisions
//
// Every change is one call to a database function (sql/*.sql), and so one statement, one transaction and one round
// trip: a node that crashes or hangs during a call holds no lock. The server's own clock decides, in milliseconds. A
// claim locks its client and then its specialist, always in this order, so a quota is exact and no deadlock can occur.
// A call with the id of a hold locks only the row of that hold. A claim first ends the expired holds on its
// specialist's time, so no call waits for a sweeper.
//
// # Tables
//
//	holds_live        the holds, by id; a hold expires at its deadline
//	holds_doubts      expired pinned holds, by the time when a node may ask (again) whether they were booked
//	holds_endings     for 5 s, the call that ended a hold
//	holds_selections  the slots that clients look at
//	holds_presence    the specialists: online, deactivated, last heartbeat, load and capacity
//	holds_home        the home of the live state of all nodes, if Redis is the other home (home.go)
//	holds_nodes       the leases of the nodes
//	holds_schema      the version of these tables and functions (schema.go)
//
// All tables except holds_home and holds_schema are UNLOGGED: a change costs no write to the disk, and a crash of the
// server, or the promotion of a standby, empties them. They contain only owners, which are hashes: no client id and
// no personal data.
//
// They do not contain booked time: a claim reads the appointments in the same database.
//
// # Events
//
// A function publishes its changes with NOTIFY. The server delivers them when the transaction commits, once, in the
// order of the commits. Every node listens on one connection and numbers the events for its own watchers, with its own
// epoch. When that connection breaks, the node cannot tell which events it missed, nor whether the live state still
// exists: every watch ends with holds.ErrSlow and the node starts a new epoch.
//
// Every node sweeps at each deadline that it received in an event, and also once a second. The first node to sweep ends
// everything that has expired; the others find nothing.
//
// # Errors
//
// Every call has a deadline here, and a shorter one in the server. The backend never blindly repeats a failed change:
// the server may have made the change although the response was lost. Claim, Extend, Pin, Unpin, Confirm and Release
// read back whether they were executed. If that fails too, and for all other calls, the error is holds.ErrUnavailable.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"holdfast/holds"
	"holdfast/holds/broadcast"
	"holdfast/holds/node"
	"holdfast/store/pool"
)

// Options configures Open. Only URL is required.
type Options struct {
	// URL names the database in libpq's format, postgres://user@host:5432/name?sslmode=…. It can name several hosts;
	// the backend uses the one that accepts writes.
	URL string

	// Booked reports whether the booking of a pinned hold was written even though the hold had expired; see package
	// memory. Any node can be asked about any hold. Nil means that no such hold was booked.
	Booked func(holds.Hold) bool

	// Timeout limits every call, including reading its result back; 0 means 2 s.
	Timeout time.Duration

	// Connections is the maximum number of concurrent calls; 0 means 8. One more connection listens.
	Connections int

	// WatchQueue is the number of events that a watcher can fall behind before it is cut off; 0 means 65,536.
	WatchQueue int

	// Logger logs when the event subscription is lost and restored; nil disables logging.
	Logger *slog.Logger
}

const defaultTimeout = 2 * time.Second

// Backend is the live state that all nodes on one database share. The zero value is not usable; see Open.
type Backend struct {
	server   *pgconn.Config
	pool     *pool.Pool[*pgconn.PgConn]
	timeout  time.Duration // for a call
	lookBack time.Duration // for reading back the result of a call
	booked   func(holds.Hold) bool
	logger   *slog.Logger

	log     *broadcast.Log
	ear     *node.Ear
	sweeper *node.Sweeper

	epoch   atomic.Uint64 // of this node's changes; 0 if the nodes do not decide on a home (home.go)
	decided chan struct{}

	closed  atomic.Bool
	done    context.Context
	stop    context.CancelFunc
	running sync.WaitGroup
}

var _ holds.Backend = (*Backend)(nil)

// Open creates missing tables and starts a backend; Close stops it. ctx limits how long opening takes. If the database
// cannot be reached, Open returns holds.ErrUnavailable.
func Open(ctx context.Context, o Options) (*Backend, error) {
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.Connections <= 0 {
		o.Connections = 8
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	b := &Backend{
		timeout: o.Timeout * 3 / 5, lookBack: o.Timeout * 2 / 5, booked: o.Booked, logger: o.Logger,
		log: broadcast.New(o.WatchQueue), ear: node.NewEar("PostgreSQL"), decided: make(chan struct{}, 1),
	}
	var err error
	if b.server, err = b.config(o.URL); err != nil {
		return nil, err
	}
	if err := makeTables(ctx, b.server); err != nil {
		return nil, fmt.Errorf("the tables of the live state: %w", b.translate(err))
	}
	b.pool, err = pool.New(o.Connections, func(ctx context.Context) (*pgconn.PgConn, error) {
		return pgconn.ConnectConfig(ctx, b.server.Copy())
	})
	if err != nil {
		return nil, b.translate(err)
	}
	b.done, b.stop = context.WithCancel(context.Background())
	b.sweeper = node.NewSweeper(b.sweep, b.resolve)
	b.running.Go(b.hear)
	b.running.Go(func() { b.sweeper.Sweep(b.done) })
	b.running.Go(func() { b.sweeper.Resolve(b.done) })
	return b, nil
}

// config returns the configuration for new connections.
func (b *Backend) config(url string) (*pgconn.Config, error) {
	c, err := pgconn.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("the database's URL cannot be read: %w", err) // pgx leaves the password out
	}
	// The server times out before this node does. So a response can be trusted, and so can a result that is read back
	// later.
	ms := strconv.FormatInt(max(1, (b.timeout*9/10).Milliseconds()), 10)
	for name, value := range map[string]string{
		"application_name":              "holdfast-live",
		"default_transaction_isolation": "read committed",
		"statement_timeout":             ms,
		"lock_timeout":                  ms,
		"synchronous_commit":            "off", // a crash loses this data anyway
		"enable_seqscan":                "off", // a plan made for small tables might be used after they have grown
		"jit":                           "off",
		"tcp_keepalives_idle":           "2",
		"tcp_keepalives_interval":       "1",
		"tcp_keepalives_count":          "3",
	} {
		c.RuntimeParams[name] = value
	}
	if c.ValidateConnect == nil {
		c.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	// If one of several hosts does not respond, enough time remains for the others.
	if most := b.timeout / time.Duration(1+len(c.Fallbacks)); c.ConnectTimeout <= 0 || c.ConnectTimeout > most {
		c.ConnectTimeout = most
	}
	return c, nil
}

// Mode returns "postgres".
func (b *Backend) Mode() string { return "postgres" }

// Ping returns nil if the database is writable and its events are being received.
func (b *Backend) Ping(ctx context.Context) error {
	var standby bool
	if err := b.read(ctx, `SELECT pg_is_in_recovery()`, nil, &standby); err != nil {
		return err
	}
	if standby {
		return fmt.Errorf("%w: the server takes no writes", holds.ErrUnavailable)
	}
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	return b.ear.Wait(ctx, b.done)
}

// Stats implements holds.Backend. Watches counts the watches of this node.
func (b *Backend) Stats(ctx context.Context) (holds.Stats, error) {
	s := holds.Stats{Watches: b.log.Watching()}
	err := b.read(ctx, `SELECT (SELECT count(*) FROM holds_live WHERE deadline > (SELECT holds_clock())),
		(SELECT count(*) FROM holds_selections WHERE deadline > (SELECT holds_clock())),
		(SELECT count(*) FROM holds_presence WHERE online AND NOT deactivated)`, nil, &s.Holds, &s.Selections, &s.Online)
	return s, err
}

// Close implements holds.Backend. The state in the database is not deleted.
func (b *Backend) Close() error {
	if b.closed.CompareAndSwap(false, true) {
		b.stop()
		b.log.Close()
		b.pool.Close()
	}
	b.running.Wait()
	return nil
}

// call runs a statement that makes a change, once, within the time limit per call.
func (b *Backend) call(ctx context.Context, text string, args []any, into ...any) error {
	if b.closed.Load() {
		return holds.ErrClosed
	}
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	return b.with(ctx, func(pg *pgconn.PgConn) error { return askOne(ctx, pg, text, args, into...) })
}

// change is like call, for a function that changes live state and whose first argument is $1. It runs under the epoch
// that this node has entered. If that epoch has ended, it returns holds.ErrMoved.
func (b *Backend) change(ctx context.Context, text string, args []any, into ...any) error {
	if epoch := b.epoch.Load(); epoch != 0 {
		text, args = under(text, args, epoch, aChange)
	}
	return b.call(ctx, text, args, into...)
}

// with acquires a connection for one exchange.
func (b *Backend) with(ctx context.Context, exchange func(pg *pgconn.PgConn) error) error {
	c, err := b.pool.Acquire(ctx)
	if err != nil {
		return b.translate(err)
	}
	err = exchange(c.Conn())
	if c.Conn().IsClosed() {
		c.Drop() // frees its slot in the pool now; closing it properly could wait for an unreachable server
	} else {
		c.Release()
	}
	if isCut(err) {
		b.pool.Reset() // the other connections may be broken too
	}
	return b.translate(err)
}

// read reads one row. If the connection breaks, read repeats the query once, on a new connection: a query changes
// nothing.
func (b *Backend) read(ctx context.Context, text string, args []any, into ...any) error {
	err := b.call(ctx, text, args, into...)
	if isCut(err) && ctx.Err() == nil {
		err = b.call(ctx, text, args, into...)
	}
	return err
}

// texts reads a list of strings.
func (b *Backend) texts(ctx context.Context, text string, args ...any) (list []string, err error) {
	err = b.read(ctx, `SELECT COALESCE(json_agg(x.text ORDER BY x.place), '[]') FROM (`+text+`) AS x(text, place)`,
		args, &list)
	return list, err
}

// translate converts every failure of a call to holds.ErrUnavailable, or to holds.ErrClosed if the backend is closed.
// It leaves out the server's error detail, which could contain values.
func (b *Backend) translate(err error) error {
	var said *pgconn.PgError
	switch {
	case err == nil || errors.Is(err, holds.ErrClosed):
		return err
	case b.closed.Load():
		return holds.ErrClosed
	case errors.As(err, &said) && said.Code == hasMoved:
		return holds.ErrMoved
	case errors.As(err, &said):
		return fmt.Errorf("%w: %w", holds.ErrUnavailable, &refusedError{said.Message,
			said.Code, said.Severity == "ERROR"})
	}
	return fmt.Errorf("%w: %w", holds.ErrUnavailable, err)
}

// refusedError is an error that the server reported. After an ERROR, nothing has changed and the connection is still
// usable.
type refusedError struct {
	message, code string
	undone        bool
}

func (e *refusedError) Error() string { return fmt.Sprintf("%s (SQLSTATE %s)", e.message, e.code) }

// refused reports whether it is certain that nothing changed. In that case, no result has to be read back.
func refused(err error) bool {
	var said *refusedError
	return errors.As(err, &said) && said.undone || pgconn.SafeToRetry(err) || errors.Is(err, holds.ErrMoved)
}

// isCut reports whether the connection broke, as opposed to a server error or a timeout.
func isCut(err error) bool {
	if err == nil || errors.Is(err, holds.ErrClosed) || errors.Is(err, errNoRow) || pgconn.Timeout(err) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return false
	}
	var said *pgconn.PgError
	var ours *refusedError
	return !(errors.As(err, &said) && said.Severity == "ERROR") && !(errors.As(err, &ours) && ours.undone)
}
