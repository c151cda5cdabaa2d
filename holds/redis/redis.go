// Package redis is the live state of several nodes: a holds.Backend on Redis 7 or Valkey 8, alone or behind Sentinel.
//
// # Who decides what
//
// Every change is one Lua script (lua/*.lua, each with its KEYS and ARGV on top), so it is one atomic step for all nodes, and
// it is decided on Redis's own clock, in milliseconds. A hold lapses when its deadline has come on that clock; a claim first
// ends what has lapsed on its specialist's time, so no call waits for a sweeper.
//
// # Keys
//
//	hold:{type}:{slotStart}:{specialist}    the hold as JSON, PXAT; :{seat} is appended for seats above 0
//	hold-id:{holdId}                        that key, PXAT; for two seconds after the end, which call ended it
//	specialist:{id}:holds                   sorted set of holds by deadline
//	client:{owner}:holds                    sorted set of hold ids by deadline
//	holds:deadlines                         sorted set of all holds by deadline
//	holds:doubts                            pinned holds that lapsed, by when a node may ask (again) whether they were booked
//	selection:{date}:{specialist}:{time}    sorted set of the owners who look at a slot (UTC), PXAT
//	client:{owner}:selection                the selection as JSON, PXAT
//	specialist:{id}:selections, selections:deadlines   sorted sets of selections by deadline
//	availability:{specialist}:{date}        bitmap of the booked ticks of a UTC day, kept two days past it; then the last change
//	specialists:online, specialists:deactivated        sets of ids
//	specialists:load                        hash of sessions in progress
//	specialist:capacity:{id}, specialist:heartbeat:{id}
//	holdfast:health:ping                    EX 5; that it could be written is the answer to Ping
//	holdfast:epoch                          the epoch under which changes are accepted, followed by a word while they are not
//	holdfast:epoch:server                   which run of which server was opened for it
//	holdfast:lease                          PX 30 s; the one node here that keeps its appointments in a database of its own
//
// Only owners are in them, which are hashes: no client id and nothing personal. Redis Cluster is not supported: the scripts
// name keys by what they read.
//
// # Events
//
// A script publishes what it did on holds:events:{type}@{record}, so an event is published once. Every node hears
// all of them and numbers them for its own watchers, with an epoch of its own. When a node's subscription breaks it cannot
// know what it missed: every watch ends with holds.ErrSlow and the epoch is another one.
//
// Every node sweeps at each deadline that it has heard of, and once a second besides. The first to come ends what has lapsed;
// the others find nothing.
//
// # Errors
//
// Every call has a deadline. A call that failed is never repeated blindly: Redis may have done it and only the answer been
// lost. Claim, Extend, Pin, Unpin, Confirm and Release look whether they did it; otherwise, and for all other calls, the
// error is holds.ErrUnavailable.
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

// Options of Open. Only URL is required.
type Options struct {
	// URL is redis://user:password@host:port/db, rediss:// with TLS, or unix:///path. With ?master_name=… it names a
	// Sentinel, and others follow as addr=host:port.
	URL string

	// Booked answers whether the booking of a pinned hold was written although the hold lapsed, as in package memory. Any
	// node may be asked about any hold. Nil means that none was.
	Booked func(holds.Hold) bool

	// Lease names whose record this Redis serves: the id of the record, and after a space the instance of a node that keeps it to
	// itself. Another record or instance may not use the same database of a Redis while the lease lasts, which every Ping renews.
	// Channels belong to all databases of a Redis, so their names end in the id of the record. Empty in tests only.
	Lease string

	// Timeout bounds every call, reading back included; 0 means 250 ms.
	Timeout time.Duration

	// WatchQueue is how many events a watcher can fall behind before it is cut off; 0 means 65,536.
	WatchQueue int

	// Logger is told when events are heard no more, and again; nil means nobody.
	Logger *slog.Logger
}

// errURL does not say what was given: there may be a password in it.
var errURL = errors.New("cannot be read as the address of a Redis: it is like redis://host:6379/0, rediss://…, unix:///path, or " +
	"redis://host:26379/0?master_name=… for a Sentinel")

const defaultTimeout = 250 * time.Millisecond

// Backend is the live state that all nodes on one Redis share. The zero value is not usable; see Open.
type Backend struct {
	client   *redis.Client
	timeout  time.Duration // for a call
	lookBack time.Duration // for reading back what came of it
	booked   func(holds.Hold) bool
	lease    string
	record   string   // ends the names of the channels; see Options.Lease
	scripts  sync.Map // from lua to *redis.Script
	logger   *slog.Logger

	log     *broadcast.Log
	ear     *node.Ear
	sweeper *node.Sweeper
	marks   marks

	epoch   atomic.Uint64 // of the changes of this node; 0 where the home of live state is not decided (home.go)
	leaving sync.Once
	closed  atomic.Bool
	done    context.Context
	stop    context.CancelFunc
	running sync.WaitGroup
}

var _ holds.Backend = (*Backend)(nil)

// Open starts a backend; Close ends it. It does not wait for Redis: until Redis is there, calls answer
// holds.ErrUnavailable. The error is about the URL.
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
		client: client, timeout: o.Timeout * 3 / 5, lookBack: o.Timeout * 2 / 5, booked: o.Booked, lease: o.Lease, logger: o.Logger,
		log: broadcast.New(o.WatchQueue), ear: node.NewEar("Redis"),
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

// CheckURL says what is wrong with a URL, without what is secret in it.
func CheckURL(text string) error {
	client, err := newClient(Options{URL: text})
	if err != nil {
		return err
	}
	return client.Close()
}

// newClient never retries, and waits for nothing longer than for a call.
func newClient(o Options) (*redis.Client, error) {
	u, err := url.Parse(o.URL)
	if err != nil {
		return nil, errURL // err may show the password
	}
	timeout := o.Timeout
	if timeout <= 0 {
		timeout = defaultTimeout
	}
	to := &redis.UniversalOptions{
		Protocol: 2, DisableIdentity: true, MaxRetries: -1, DialerRetries: 1, DialTimeout: timeout, ReadTimeout: timeout,
		WriteTimeout: timeout, PoolTimeout: timeout, ContextTimeoutEnabled: true,
	}
	if u.Query().Has("master_name") {
		f, err := redis.ParseFailoverURL(o.URL)
		if err != nil {
			return nil, errURL
		}
		to.MasterName, to.Addrs, to.SentinelUsername, to.SentinelPassword = f.MasterName, f.SentinelAddrs, f.SentinelUsername, f.SentinelPassword
		to.Username, to.Password, to.DB, to.TLSConfig = f.Username, f.Password, f.DB, f.TLSConfig
		return redis.NewFailoverClient(to.Failover()), nil
	}
	one, err := redis.ParseURL(o.URL)
	if err != nil {
		return nil, errURL
	}
	to.Addrs, to.Username, to.Password, to.DB, to.TLSConfig = []string{one.Addr}, one.Username, one.Password, one.DB, one.TLSConfig
	return redis.NewClient(to.Simple()), nil
}

// Mode is always "redis".
func (b *Backend) Mode() string { return "redis" }

// Stats implements holds.Backend. Watches are those of this node.
func (b *Backend) Stats(ctx context.Context) (holds.Stats, error) {
	reply, err := b.run(ctx, statsScript, []string{deadlinesKey, selectionsKey, onlineKey, deactivatedKey})
	if err != nil {
		return holds.Stats{}, err
	}
	return holds.Stats{
		Holds: int(number(reply, 0)), Selections: int(number(reply, 1)), Online: int(number(reply, 2)), Watches: b.log.Watching(),
	}, nil
}

// Close implements holds.Backend. What is in Redis stays there.
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

// translate makes every failure of a call holds.ErrUnavailable, of a closed backend holds.ErrClosed.
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

// refused reports whether Redis itself said no, so that nothing was done and nothing has to be looked for.
func refused(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply) || errors.Is(err, holds.ErrMoved)
}

// The library would write to the standard error whatever it thinks of a connection; what matters is in the errors of calls.
func init() { redis.SetLogger(silence{}) }

type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}
