// Package postgres is the live state of several nodes on the PostgreSQL that has their record: a holds.Backend on unlogged
// tables and NOTIFY. Two nodes and one database are a whole cluster with it, and it is what nodes share while their Redis is away.
//
// # Who decides what
//
// Every change is one call of a function in the database (sql/*.sql), and so one statement, one transaction and one exchange: a
// node that dies or hangs in the middle holds no lock. It is decided on the server's own clock, in milliseconds. A claim takes a
// lock on its client and then one on its specialist, in this order everywhere, so a quota is hard and nothing deadlocks; what
// names a hold locks its row alone. A claim first ends what has lapsed on its specialist's time, so no call waits for a sweeper.
//
// # Tables
//
//	holds_live        the holds, by id; deadline is when one lapses
//	holds_doubts      pinned holds that lapsed, by when a node may ask (again) whether they were booked
//	holds_endings     for two seconds, which call ended a hold
//	holds_selections  who looks at what
//	holds_presence    who is online, deactivated, heard of, and how busy
//	holds_home        where the live state of all nodes is, with Redis as the other home (home.go)
//	holds_nodes       the leases of the nodes
//	holds_schema      the version of all this (schema.go)
//
// They are UNLOGGED, but for holds_home and holds_schema: a change costs no write to the disk, and a crash of the server, or the promotion of a standby, empties them.
// Only owners are in them, which are hashes: no client id and nothing personal.
//
// Booked time is not in them: a claim reads the appointments of the same database.
//
// # Events
//
// A function publishes what it did with NOTIFY, which is heard when its transaction commits, in the order of the commits, once.
// Every node listens on one connection and numbers what it hears for its own watchers, with an epoch of its own. When that
// connection breaks the node cannot know what it missed, nor whether anything is left: every watch ends with holds.ErrSlow and
// the epoch is another one.
//
// Every node sweeps at each deadline that it has heard of, and once a second besides. The first to come ends what has lapsed;
// the others find nothing.
//
// # Errors
//
// Every call has a deadline here, and a shorter one in the server. A change that failed is never repeated blindly: the server may
// have made it and only the answer been lost. Claim, Extend, Pin, Unpin, Confirm and Release look whether they did it;
// otherwise, and for all other calls, the error is holds.ErrUnavailable.
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

// Options of Open. Only URL is required.
type Options struct {
	// URL names the database as libpq does, postgres://user@host:5432/name?sslmode=…; several hosts may be given, and the one that
	// takes writes is used.
	URL string

	// Booked answers whether the booking of a pinned hold was written although the hold lapsed, as in package memory. Any node
	// may be asked about any hold. Nil means that none was.
	Booked func(holds.Hold) bool

	// Timeout bounds every call, reading back included; 0 means 2 s.
	Timeout time.Duration

	// Connections is how many calls go on at once; 0 means 8. Another connection listens.
	Connections int

	// WatchQueue is how many events a watcher can fall behind before it is cut off; 0 means 65,536.
	WatchQueue int

	// Logger is told when events are heard no more, and again; nil means nobody.
	Logger *slog.Logger
}

const defaultTimeout = 2 * time.Second

// Backend is the live state that all nodes on one database share. The zero value is not usable; see Open.
type Backend struct {
	server   *pgconn.Config
	pool     *pool.Pool[*pgconn.PgConn]
	timeout  time.Duration // for a call
	lookBack time.Duration // for reading back what came of it
	booked   func(holds.Hold) bool
	logger   *slog.Logger

	log     *broadcast.Log
	ear     *node.Ear
	sweeper *node.Sweeper

	epoch   atomic.Uint64 // of the changes of this node; 0 where the home of live state is not decided (home.go)
	decided chan struct{}

	closed  atomic.Bool
	done    context.Context
	stop    context.CancelFunc
	running sync.WaitGroup
}

var _ holds.Backend = (*Backend)(nil)

// Open makes the tables where they are missing and starts a backend; Close ends it. ctx bounds the opening.
// holds.ErrUnavailable where the database cannot be reached.
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

// config is how connections are made.
func (b *Backend) config(url string) (*pgconn.Config, error) {
	c, err := pgconn.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("the database's URL cannot be read: %w", err) // pgx leaves the password out
	}
	// The server gives up before this node does, so that an answer, and what is read back after it, can be trusted.
	ms := strconv.FormatInt(max(1, (b.timeout*9/10).Milliseconds()), 10)
	for name, value := range map[string]string{
		"application_name":              "holdfast-live",
		"default_transaction_isolation": "read committed",
		"statement_timeout":             ms,
		"lock_timeout":                  ms,
		"synchronous_commit":            "off", // what is written here is lost in a crash anyway
		"enable_seqscan":                "off", // the tables are small when a plan is made, and may be large when it is used
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
	// One of several hosts that is silent leaves the others their time.
	if most := b.timeout / time.Duration(1+len(c.Fallbacks)); c.ConnectTimeout <= 0 || c.ConnectTimeout > most {
		c.ConnectTimeout = most
	}
	return c, nil
}

// Mode is always "postgres".
func (b *Backend) Mode() string { return "postgres" }

// Ping answers nil if the database can be written to and its events are heard.
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

// Stats implements holds.Backend. Watches are those of this node.
func (b *Backend) Stats(ctx context.Context) (holds.Stats, error) {
	s := holds.Stats{Watches: b.log.Watching()}
	err := b.read(ctx, `SELECT (SELECT count(*) FROM holds_live WHERE deadline > (SELECT holds_clock())),
		(SELECT count(*) FROM holds_selections WHERE deadline > (SELECT holds_clock())),
		(SELECT count(*) FROM holds_presence WHERE online AND NOT deactivated)`, nil, &s.Holds, &s.Selections, &s.Online)
	return s, err
}

// Close implements holds.Backend. What is in the database stays there.
func (b *Backend) Close() error {
	if b.closed.CompareAndSwap(false, true) {
		b.stop()
		b.log.Close()
		b.pool.Close()
	}
	b.running.Wait()
	return nil
}

// call calls a function that changes something, once, within the time of a call.
func (b *Backend) call(ctx context.Context, text string, args []any, into ...any) error {
	if b.closed.Load() {
		return holds.ErrClosed
	}
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	return b.with(ctx, func(pg *pgconn.PgConn) error { return askOne(ctx, pg, text, args, into...) })
}

// change is call for a function that changes live state, whose first argument is $1. It is made under the epoch that was entered;
// holds.ErrMoved if that is over.
func (b *Backend) change(ctx context.Context, text string, args []any, into ...any) error {
	if epoch := b.epoch.Load(); epoch != 0 {
		text, args = under(text, args, epoch, aChange)
	}
	return b.call(ctx, text, args, into...)
}

// with borrows a connection for one exchange.
func (b *Backend) with(ctx context.Context, exchange func(pg *pgconn.PgConn) error) error {
	c, err := b.pool.Acquire(ctx)
	if err != nil {
		return b.translate(err)
	}
	err = exchange(c.Conn())
	if c.Conn().IsClosed() {
		c.Drop() // its place is free now, and not when it has taken its leave of a server that may be silent
	} else {
		c.Release()
	}
	if isCut(err) {
		b.pool.Reset() // the other connections are as old
	}
	return b.translate(err)
}

// read asks for one row. Where the connection broke it is asked once more, on a new one: a question may be repeated.
func (b *Backend) read(ctx context.Context, text string, args []any, into ...any) error {
	err := b.call(ctx, text, args, into...)
	if isCut(err) && ctx.Err() == nil {
		err = b.call(ctx, text, args, into...)
	}
	return err
}

// texts asks for a list of texts.
func (b *Backend) texts(ctx context.Context, text string, args ...any) (list []string, err error) {
	err = b.read(ctx, `SELECT COALESCE(json_agg(x.text ORDER BY x.place), '[]') FROM (`+text+`) AS x(text, place)`, args, &list)
	return list, err
}

// translate makes every failure of a call holds.ErrUnavailable, of a closed backend holds.ErrClosed. The server's detail, which
// would name values, is left out.
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
		return fmt.Errorf("%w: %w", holds.ErrUnavailable, &refusedError{said.Message, said.Code, said.Severity == "ERROR"})
	}
	return fmt.Errorf("%w: %w", holds.ErrUnavailable, err)
}

// refusedError is what the server itself said. After an ERROR nothing was done and the connection is good.
type refusedError struct {
	message, code string
	undone        bool
}

func (e *refusedError) Error() string { return fmt.Sprintf("%s (SQLSTATE %s)", e.message, e.code) }

// refused reports whether nothing was done for certain, so that nothing has to be looked for.
func refused(err error) bool {
	var said *refusedError
	return errors.As(err, &said) && said.undone || pgconn.SafeToRetry(err) || errors.Is(err, holds.ErrMoved)
}

// isCut reports whether the connection broke: neither did the server answer, nor was it silent.
func isCut(err error) bool {
	if err == nil || errors.Is(err, holds.ErrClosed) || errors.Is(err, errNoRow) || pgconn.Timeout(err) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return false
	}
	var said *pgconn.PgError
	var ours *refusedError
	return !(errors.As(err, &said) && said.Severity == "ERROR") && !(errors.As(err, &ours) && ours.undone)
}
