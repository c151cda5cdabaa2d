// Package postgres is the Store and the Queue of a cluster: one PostgreSQL database and any number of nodes. Its files
// have the same names as those of store/sqlite.
//
// # One order for all nodes
//
// Each node writes through one connection with the group commit of store/sqlite (writer.go). A batch is one
// transaction. It first takes one advisory lock, the same for all nodes, so the writes of all nodes run one after
// another. A READ COMMITTED transaction under this lock sees all earlier writes, and no other node can interfere with a
// rule that reads before it writes. A batch appends its changes to the table changes and notifies the nodes (NOTIFY).
// The changes are numbered under the lock, so their numbers are in commit order. Every node follows the changes
// (follow.go). Its own Write returns once its followers have that write's changes and all earlier ones.
//
// # A node that crashes or hangs
//
// Every call has a deadline in this process. Every statement and every wait for a lock has a deadline on the server
// (Options.Timeout), and so has every pause of a write (maxPause). So if a node crashes or hangs, the server releases
// its lock. A node that only paused runs its batch again.
//
// # A lost response
//
// If the connection breaks between COMMIT and its response, the writer reads the outcome of the transaction from the
// server on another connection (unknown.go). It does not respond to any caller before it has the outcome. If the server
// is unreachable, the error states that the outcome is unknown.
//
// # The guarantee
//
// The schema refuses a double booking from any program: a partial unique index, an exclusion constraint and a trigger
// behind a lock on the specialist, in migrations/0001_first.sql. Check searches for violations by another method.
//
// # Requirements
//
// PostgreSQL 13 or later, the extension btree_gist (part of every distribution; the owner of a database may create it),
// and connections that no other program shares: a pooler must be in session mode.
package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"holdfast/store"
	"holdfast/store/table"
)

// Options configures Open. Only URL is required.
type Options struct {
	// URL names the database in the format of libpq: postgres://user@host:5432/name?sslmode=…. With several hosts, Open
	// uses the one that accepts writes.
	URL string
	// Logger receives messages about migrations, lost connections and failures, never personal data. Nil discards them.
	Logger *slog.Logger
	// Readers is the number of connections for reading. 0 means 8.
	Readers int
	// QueueSize is the number of writes that may wait for their turn before Write returns ErrOverloaded. 0 means
	// 1024.
	QueueSize int
	// Timeout limits the server's time for a statement and for the wait for a lock. 0 means 5 s.
	Timeout time.Duration
	// Alone makes this node the only one on the database. Any other node gets ErrInUse, and so does this one if
	// another node is running. Set it if the live state is in this process's memory. If another node takes the place of
	// this one, this one calls OnFatal.
	Alone bool
	// Live identifies where the live state is stored. All nodes on a database must use the same value. A node with a
	// different value gets ErrInUse: with different locations, one node could book the time that another node holds.
	Live string
	// OnFatal is called once, when this process can no longer follow the database: it was disconnected for so long that
	// the changes it missed have been deleted, or another node took its place. OnFatal must not block. It should make
	// the process restart.
	OnFatal func(error)
}

func (o *Options) fill() error {
	if o.URL == "" {
		return errors.New("postgres: no URL was given")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Readers <= 0 {
		o.Readers = 8
	}
	if o.QueueSize <= 0 {
		o.QueueSize = 1024
	}
	if o.Timeout <= 0 {
		o.Timeout = 5 * time.Second
	}
	return nil
}

// Store is one node's view of the database. See store.Store.
type Store struct {
	table.Reads
	reads   reads
	server  server
	id      string
	alone   bool
	live    string
	log     *slog.Logger
	writes  store.Durations // durations of Write
	size    databaseSize
	writer  *writer
	feed    *feed
	pid     atomic.Uint32      // server process of the connection that follows; it identifies this node
	stop    context.CancelFunc // ends the background goroutines
	running sync.WaitGroup
	closing sync.Once
}

var _ store.Store = (*Store)(nil)

// Open connects and migrates the schema. ctx applies only to opening the database. It returns ErrSchema if the schema
// was weakened.
func Open(ctx context.Context, o Options) (_ *Store, err error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	at, err := newServer(o)
	if err != nil {
		return nil, err
	}
	s := &Store{server: at, log: o.Logger, alone: o.Alone, live: o.Live}
	var following *conn
	defer func() {
		if err != nil && following != nil {
			following.close()
		}
	}()
	if o.Alone { // before the migration changes a schema that other nodes use
		if following, err = s.attach(ctx); err != nil {
			return nil, opening(err)
		}
	}
	var last int64
	err = at.with(ctx, func(ctx context.Context, c *conn) error {
		if err := migrate(ctx, c, program, o.Logger, !o.Alone); err != nil {
			return err
		}
		if err := durable(ctx, c, o.Logger); err != nil {
			return err
		}
		if err := errors.Join(refuseMoved(ctx, c), refuseUnfinished(ctx, c)); err != nil {
			return err
		}
		if s.id, err = oneOn(ctx, c, (*row).Text, `SELECT value FROM meta WHERE key = 'database_id'`); err != nil {
			return err
		}
		last, err = oneOn(ctx, c, (*row).Int64, `SELECT COALESCE(max(number), 0) FROM changes`)
		return err
	})
	if err != nil {
		return nil, opening(err)
	}
	if !o.Alone {
		if following, err = s.attach(ctx); err != nil {
			return nil, opening(err)
		}
	}
	if s.reads.pool, err = newPool(at, o.Readers, nil); err != nil {
		return nil, err
	}
	s.Reads = table.NewReads(s.reads)
	s.feed = newFeed(last, s.reads, o.OnFatal)
	s.writer = &writer{
		server: at.forWrites(), log: o.Logger, feed: s.feed, alone: o.Alone,
		queue: make(chan *store.WriteCall, o.QueueSize), done: make(chan struct{}),
	}
	running, stop := context.WithCancel(context.Background())
	s.stop = stop
	go s.writer.run()
	s.running.Go(func() { s.follow(running, following) })
	return s, nil
}

// Write implements store.Store.
func (s *Store) Write(ctx context.Context, fn func(store.Tx) error) error {
	began := time.Now()
	defer func() {
		s.writes.Observe(time.Since(began))
		store.SpentWriting(ctx, began)
	}()
	return s.writer.write(ctx, store.UndoneOnTrial(ctx, fn))
}

// ID implements store.Store.
func (s *Store) ID() string { return s.id }

// Ping implements store.Store.
func (s *Store) Ping(ctx context.Context) error {
	_, err := one(ctx, s.reads, (*row).Int, `SELECT count(*) FROM clinic`)
	return err
}

// Close implements store.Store. It may be called more than once.
func (s *Store) Close() error {
	s.closing.Do(func() {
		s.writer.close()
		s.stop()
		s.running.Wait()
		s.reads.pool.close()
	})
	return nil
}

// server holds the settings for connecting to the server.
type server struct {
	config  *pgconn.Config
	timeout time.Duration
}

// WithoutTLS returns the first host of a database's URL that a network connection may reach without TLS, or "". The
// default, sslmode=prefer, continues without TLS if the server, or an attacker in between, offers none. Sockets and
// loopback need no TLS.
func WithoutTLS(url string) string {
	config, err := pgconn.ParseConfig(url)
	if err != nil {
		return ""
	}
	all := append([]*pgconn.FallbackConfig{{Host: config.Host, TLSConfig: config.TLSConfig}}, config.Fallbacks...)
	for _, x := range all {
		at, err := netip.ParseAddr(x.Host)
		isHere := strings.HasPrefix(x.Host, "/") || x.Host == "localhost" || err == nil && at.IsLoopback()
		if !isHere && x.TLSConfig == nil {
			return x.Host
		}
	}
	return ""
}

// CheckURL returns the error in a URL, if there is one, without the URL.
func CheckURL(url string) error {
	_, err := pgconn.ParseConfig(url)
	if err == nil {
		return nil
	}
	_, reason, _ := strings.Cut(err.Error(), "`: ") // the URL precedes it
	return errors.New("cannot be used: " + cmp.Or(reason, "it is not the URL of a PostgreSQL database"))
}

func newServer(o Options) (server, error) {
	config, err := pgconn.ParseConfig(o.URL)
	if err != nil {
		return server{}, fmt.Errorf("the database's URL cannot be read: %w", err) // pgx omits the password
	}
	ms := func(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
	for name, value := range map[string]string{
		"application_name":              "holdfast",
		"default_transaction_isolation": "read committed",
		"lock_timeout":                  ms(o.Timeout),
		"statement_timeout":             ms(o.Timeout),
		// This timeout is shorter, so that a statement that waits for a lock of a hung node gets it in time.
		"idle_in_transaction_session_timeout": ms(o.Timeout - o.Timeout/5),
		"tcp_keepalives_idle":                 "2",
		"tcp_keepalives_interval":             "1",
		"tcp_keepalives_count":                "3",
	} {
		if _, chosen := config.RuntimeParams[name]; !chosen || name != "application_name" {
			config.RuntimeParams[name] = value
		}
	}
	if config.ValidateConnect == nil {
		config.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	// If one of several hosts does not respond, there must be enough time left for the others.
	if most := o.Timeout / time.Duration(1+len(config.Fallbacks)); config.ConnectTimeout <= 0 ||
		config.ConnectTimeout > most {
		config.ConnectTimeout = most
	}
	return server{config, o.Timeout}, nil
}

// maxPause is the maximum time between two statements of a node's write. While a node is frozen in a write, the writes
// of all other nodes wait. After this time, the server ends the write, and the node runs it again if it resumes.
const maxPause = time.Second

// forWrites returns the settings for the connection of a writer.
func (s server) forWrites() server {
	s.config = s.config.Copy()
	s.config.RuntimeParams["idle_in_transaction_session_timeout"] = strconv.FormatInt(maxPause.Milliseconds(), 10)
	return s
}

// connect opens one connection.
func (s server) connect(ctx context.Context) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	c := &conn{prepared: map[string]*pgconn.StatementDescription{}}
	config := s.config.Copy()
	config.OnNotification = func(_ *pgconn.PgConn, n *pgconn.Notification) {
		c.bells = append(c.bells, bellNumber(n.Payload))
	}
	var err error
	if c.pg, err = pgconn.ConnectConfig(ctx, config); err != nil {
		return nil, err
	}
	return c, nil
}

// with opens a connection, runs fn on it and closes it.
func (s server) with(ctx context.Context, fn func(context.Context, *conn) error) error {
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	defer c.close()
	return fn(ctx, c)
}

// bounded returns ctx with the deadline of one exchange. The deadline is later than the server's own, so that the
// server reports a timeout first.
func (s server) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, s.timeout+s.timeout/5)
}

// durable returns an error if the database can lose an acknowledged write when the server process crashes. It logs a
// warning if the database can lose such a write when the machine crashes.
func durable(ctx context.Context, c *conn, log *slog.Logger) error {
	commit, err := oneOn(ctx, c, (*row).Text, `SELECT current_setting('synchronous_commit')`)
	if err != nil {
		return err
	}
	if commit == "off" {
		return fmt.Errorf("%w: synchronous_commit is off for this database or user; acknowledged bookings would be "+
			"lost in a crash: set it to on", store.ErrUnavailable)
	}
	sync, err := oneOn(ctx, c, (*row).Text, `SELECT current_setting('fsync')`)
	if err == nil && sync != "on" {
		log.Warn("PostgreSQL runs with fsync off; a power cut may lose bookings")
	}
	return err
}
