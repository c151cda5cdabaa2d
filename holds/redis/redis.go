// Package redis stores the live state of several nodes: a holds.Backend on Redis 7 or Valkey 8, alone or behind
// Sentinel.
//
// # Decisions
//
// Every change is one Lua script (lua/*.lua, each with its KEYS and ARGV at the top), so it is one atomic step for all
// nodes. Redis's own clock decides, in milliseconds. A hold expires when that clock reaches its deadline. A claim first
// ends the expired holds on its specialist's time, so no call waits for a sweeper.
//
// # Keys
//
//	hold:{type}:{slotStart}:{specialist}    the hold as JSON, PXAT; :{seat} is appended for seats above 0
//	hold-id:{holdId}                        that key, PXAT; for 2 s after the end, the call that ended the hold
//	specialist:{id}:holds                   sorted set of holds by deadline
//	client:{owner}:holds                    sorted set of hold ids by deadline
//	holds:deadlines                         sorted set of all holds by deadline
//	holds:doubts                            expired pinned holds, by the time when a node may next ask about them
//	selection:{date}:{specialist}:{time}    sorted set of the owners who look at a slot (UTC), PXAT
//	client:{owner}:selection                the selection as JSON, PXAT
//	specialist:{id}:selections, selections:deadlines   sorted sets of selections by deadline
//	availability:{specialist}:{date}        bitmap of a UTC day's booked ticks, its last change; expires 2 days later
//	specialists:online, specialists:deactivated        sets of ids
//	specialists:load                        hash of sessions in progress
//	specialist:capacity:{id}, specialist:heartbeat:{id}
//	holdfast:health:ping                    EX 5; Ping succeeds if it could be written
//	holdfast:epoch                          the epoch of accepted changes; a word follows while none are accepted
//	holdfast:epoch:server                   the run of the server that was opened for it
//	holdfast:lease                          PX 30 s; the one node with a database of its own that uses this Redis
//
// The keys contain only owners, which are hashes: no client id and no personal data. Redis Cluster is not supported,
// because the scripts build key names from data that they read.
//
// # Events
//
// A script publishes its changes on holds:events:{type}@{record}, so each event is published once. Every node receives
// all events and numbers them for its own watchers, with its own epoch. When a node's subscription breaks, the node
// cannot tell which events it missed: every watch ends with holds.ErrSlow and the node starts a new epoch.
//
// Every node sweeps at each deadline that it received in an event, and also once a second. The first node to sweep ends
// everything that has expired; the others find nothing.
//
// # Errors
//
// Every call has a deadline. The backend never blindly repeats a failed call: Redis may have executed the call although
// the response was lost. Claim, Extend, Pin, Unpin, Confirm and Release read back whether they were executed. If that
// fails too, and for all other calls, the error is holds.ErrUnavailable.
package redis

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"holdfast/holds"
	"holdfast/holds/broadcast"
	"holdfast/holds/node"
)

// Options configures Open. Only URL is required.
type Options struct {
	// URL is redis://user:password@host:port/db, rediss:// with TLS, or unix:///path. With ?master_name=… it names a
	// Sentinel; other Sentinels follow as addr=host:port.
	URL string

	// Booked reports whether the booking of a pinned hold was written even though the hold had expired; see package
	// memory. Any node can be asked about any hold. Nil means that no such hold was booked.
	Booked func(holds.Hold) bool

	// Lease identifies the durable record that this Redis serves: the id of the record and, if only one node uses the
	// record, a space and that node's instance. While the lease is valid, no other record or instance can use the same
	// Redis database. Every Ping renews the lease. All databases in a Redis share its channels, so the channel names
	// end in the record's id. Lease is empty only in tests.
	Lease string

	// Timeout limits every call, including reading its result back; 0 means 250 ms.
	Timeout time.Duration

	// WatchQueue is the number of events that a watcher can fall behind before it is cut off; 0 means 65,536.
	WatchQueue int

	// Logger logs when the event subscription is lost and restored; nil disables logging.
	Logger *slog.Logger
}

// errURL does not contain the URL, because the URL may contain a password.
var errURL = errors.New("is not a valid Redis address: use redis://host:6379/0, rediss://…, unix:///path, or redis://host:26379/0?master_name=… for Sentinel")

const defaultTimeout = 250 * time.Millisecond

// Backend is the live state that all nodes on one Redis share. The zero value is not usable; see Open.
type Backend struct {
	client   *redis.Client
	timeout  time.Duration // for a call
	lookBack time.Duration // for reading back the result of a call
	booked   func(holds.Hold) bool
	lease    string
	record   string   // ends the names of the channels; see Options.Lease
	scripts  sync.Map // from lua to *redis.Script
	logger   *slog.Logger

	log     *broadcast.Log
	ear     *node.Ear
	sweeper *node.Sweeper
	marks   marks

	epoch   atomic.Uint64 // of this node's changes; 0 if the nodes do not decide on a home (home.go)
	leaving sync.Once
	closed  atomic.Bool
	done    context.Context
	stop    context.CancelFunc
	running sync.WaitGroup
}

var _ holds.Backend = (*Backend)(nil)

// Open starts a backend; Close stops it. It does not wait for Redis: until Redis can be reached, calls return
// holds.ErrUnavailable. Open returns an error only if the URL is invalid.
func Open(o Options) (*Backend, error) {
	client, err := newClient(o)
	if err != nil {
		return nil, err
	}
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	b := &Backend{
		client: client, timeout: o.Timeout * 3 / 5, lookBack: o.Timeout * 2 / 5, booked: o.Booked, lease: o.Lease,
		logger: o.Logger, log: broadcast.New(o.WatchQueue), ear: node.NewEar("Redis"),
	}
	if record, _, _ := strings.Cut(o.Lease, " "); record != "" {
		if err := plain(record); err != nil {
			return nil, errors.Join(err, client.Close())
		}
		b.record = "@" + record
	}
	b.done, b.stop = context.WithCancel(context.Background())
	b.sweeper = node.NewSweeper(b.sweep, b.resolve)
	b.marks.open()
	b.running.Go(b.hear)
	b.running.Go(b.writeMarks)
	b.running.Go(func() { b.sweeper.Sweep(b.done) })
	b.running.Go(func() { b.sweeper.Resolve(b.done) })
	return b, nil
}

// CheckURL returns the error in a URL, if there is one, without the URL's secrets.
func CheckURL(text string) error {
	client, err := newClient(Options{URL: text})
	if err != nil {
		return err
	}
	return client.Close()
}

// newClient returns a client that never retries, and never waits longer than the time limit per call.
func newClient(o Options) (*redis.Client, error) {
	u, err := url.Parse(o.URL)
	if err != nil {
		return nil, errURL // err may contain the password
	}
	timeout := o.Timeout
	if timeout <= 0 {
		timeout = defaultTimeout
	}
	to := &redis.UniversalOptions{
		Protocol: 2, DisableIdentity: true, MaxRetries: -1, DialerRetries: 1, DialTimeout: timeout,
		ReadTimeout: timeout, WriteTimeout: timeout, PoolTimeout: timeout, ContextTimeoutEnabled: true,
	}
	if u.Query().Has("master_name") {
		f, err := redis.ParseFailoverURL(o.URL)
		if err != nil {
			return nil, errURL
		}
		to.MasterName, to.Addrs, to.SentinelUsername, to.SentinelPassword = f.MasterName, f.SentinelAddrs,
			f.SentinelUsername, f.SentinelPassword
		to.Username, to.Password, to.DB, to.TLSConfig = f.Username, f.Password, f.DB, f.TLSConfig
		return redis.NewFailoverClient(to.Failover()), nil
	}
	one, err := redis.ParseURL(o.URL)
	if err != nil {
		return nil, errURL
	}
	to.Addrs, to.Username, to.Password, to.DB, to.TLSConfig = []string{one.Addr}, one.Username, one.Password, one.DB,
		one.TLSConfig
	return redis.NewClient(to.Simple()), nil
}

// Mode returns "redis".
func (b *Backend) Mode() string { return "redis" }

// Stats implements holds.Backend. Watches counts the watches of this node.
func (b *Backend) Stats(ctx context.Context) (holds.Stats, error) {
	reply, err := b.run(ctx, statsScript, []string{deadlinesKey, selectionsKey, onlineKey, deactivatedKey})
	if err != nil {
		return holds.Stats{}, err
	}
	return holds.Stats{
		Holds: int(number(reply, 0)), Selections: int(number(reply, 1)), Online: int(number(reply, 2)),
		Watches: b.log.Watching(),
	}, nil
}

// Close implements holds.Backend. The state in Redis is not deleted.
func (b *Backend) Close() error {
	var err error
	b.leaving.Do(b.leave)
	if b.closed.CompareAndSwap(false, true) {
		b.stop()
		b.log.Close()
		err = b.client.Close()
	}
	b.running.Wait()
	return err
}

// translate converts every failure of a call to holds.ErrUnavailable, or to holds.ErrClosed if the backend is closed.
func (b *Backend) translate(err error) error {
	switch {
	case err == nil:
		return nil
	case b.closed.Load():
		return holds.ErrClosed
	case refused(err) && strings.HasPrefix(err.Error(), "EPOCH "):
		return holds.ErrMoved
	}
	return fmt.Errorf("%w: %w", holds.ErrUnavailable, err)
}

// refused reports whether Redis itself refused the call. In that case, nothing was changed and no result has to be read
// back.
func refused(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply) || errors.Is(err, holds.ErrMoved)
}

// Without this logger, the library would log connection problems to standard error. The errors that calls return
// contain all relevant information.
func init() { redis.SetLogger(silence{}) }

type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}
