// Package engine wires together the packages that make Holdfast's decisions. Each package covers one subject and
// imports only those to its right:
//
//	agent ► practice ► outbound      agent, waitlist ► request ► message ► outbound ► booking ► occupancy ► clinic ► availability
//	absence ► waitlist      presence ► clinic      account ► clinic
//
//	agent         the conversation with a voice or chat agent
//	absence       new times for the patients of a specialist who is away
//	waitlist      the waiting list, and the times held and offered for its entries
//	request       online bookings that need confirmation or approval, and the limits per hour
//	message       emails and webhooks, and the mail server that an owner chooses
//	feed          calendar subscriptions
//	busytime      specialists' external calendars
//	practice      the practice-management system: its writes, look-ups and openings
//	outbound      the queue of outbound calls, each delivered once
//	person        people, derived from appointments, with the desk's notes and links
//	group         several appointments as one: a series for one patient, or a visit for several patients
//	sheet         export and import of spreadsheets
//	downtime      the downtime plan, and paper bookings
//	booking       hold, book, cancel, move; the listing and its cache; why a start cannot be booked
//	report        counts by week and month, without patient data
//	occupancy     the occupied time of each specialist, in memory
//	presence      online specialists, on-demand sessions
//	account       staff, sign-in, the identity provider, API keys
//	clinic        the schedule and its snapshot in memory
//	availability  pure functions: existing slots, free rooms, the assigned specialist
//	record        the parts that all durable changes have in common: actor, audit entry, idempotency
//
// Engine has one field for each package, so package web gets one value and calls e.Booking.Book. No package uses SQL,
// HTTP or Redis directly: each gets a store.Store (durable state), a holds.Backend (live state) and a store.Queue
// (outbound calls).
//
// # One order
//
// All copies of durable state in memory (the schedule, the occupied time, the generations, the busy bits, the verified
// keys) and all events about it come only from the store's feed, in commit order (follow.go). Write returns after the
// feed has been applied, so a caller sees its own change.
//
// # Errors
//
// Methods return the sentinels and typed errors of these packages, of package store and of package holds. Only package
// web maps them to a status and a code, in one table.
package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"holdfast/engine/absence"
	"holdfast/engine/account"
	"holdfast/engine/agent"
	"holdfast/engine/booking"
	"holdfast/engine/busytime"
	"holdfast/engine/clinic"
	"holdfast/engine/downtime"
	"holdfast/engine/feed"
	"holdfast/engine/group"
	"holdfast/engine/message"
	"holdfast/engine/notice"
	"holdfast/engine/openid"
	"holdfast/engine/outbound"
	"holdfast/engine/person"
	"holdfast/engine/practice"
	"holdfast/engine/presence"
	"holdfast/engine/record"
	"holdfast/engine/report"
	"holdfast/engine/request"
	"holdfast/engine/rule"
	"holdfast/engine/sheet"
	"holdfast/engine/token"
	"holdfast/engine/upstream"
	"holdfast/engine/waitlist"
	"holdfast/engine/words"
	"holdfast/holds"
	"holdfast/store"
)

// Engine contains one value of each package below it, in a field named after the package: a caller writes
// e.Booking.Cancel, so a reader sees which package does the work. It is safe for concurrent use.
type Engine struct {
	Keys     *token.Keys        // the keys that sign and seal; a rotation replaces them
	Record   *record.Records    // the audit log, and the responses to repeated requests
	Clinic   *clinic.Clinic     // the schedule and its settings
	Account  *account.Account   // staff, sign-in, the identity provider, API keys
	Presence *presence.Presence // online specialists, on-demand sessions
	Booking  *booking.Booking   // hold, book, cancel, move, list
	Person   *person.People     // patients as people, with the desk's notes
	// several appointments as one: Group.Series for one patient, Group.Visit for several
	Group    *group.Group
	Sheet    *sheet.Sheets       // appointments as a spreadsheet
	Downtime *downtime.Kits      // the downtime plan and paper bookings
	Outbound *outbound.Outbound  // the queue of outbound calls
	Message  *message.Messages   // emails and webhooks
	Feed     *feed.Feeds         // calendar subscriptions
	Practice *practice.Practice  // the practice-management system
	Rule     *rule.Rule          // the booking rule: a program of the clinic that is called before each booking
	Request  *request.Requests   // public bookings that need a confirmation
	Waitlist *waitlist.Waitlist  // the waiting list and its offers
	Absence  *absence.Absences   // new times for the patients of an absent specialist
	Agent    *agent.Agent        // voice and chat agents
	Report   *report.Reports     // counts by week and month
	BusyTime *busytime.Calendars // specialists' external calendars

	store   store.Store
	holds   holds.Backend
	log     *slog.Logger
	options Options
	work    []func(context.Context) // the functions that Run starts

	stopFollowing context.CancelFunc
}

// Options configure an Engine. The zero value of each field is its default.
type Options struct {
	Store  store.Store   // required
	Holds  holds.Backend // required
	Logger *slog.Logger  // default: discard

	// Keyring signs manage links and agent tokens. Default: new keys, which are lost when the process ends.
	Keyring *token.Keyring
	// AdminKey is a bootstrap key with every scope, of at least MinAdminKey characters. Default: none.
	AdminKey string

	// BaseURL is the public address of the pages, such as https://book.example.org. Default: the address in the
	// settings.
	BaseURL string

	// Words contains the user-facing texts in all languages. Default: the built-in texts.
	Words *words.Catalog

	Presence presence.Options

	// Queue stores the pending outbound calls. Default: none; the engine then makes no outbound calls.
	Queue store.Queue
	// Shared is set if other nodes use the same Store, Queue and Holds. Pace then spaces the calls of Upstream across
	// all nodes.
	Shared bool
	Pace   practice.Pace
	// QueueRebuilt is set if the queue was newly created but the outbox may contain rows. The server cannot tell which
	// of these rows have been attempted.
	QueueRebuilt bool
	// AfterRollback is set if the data may be older than the last writes to the practice-management system.
	AfterRollback bool
	// Outbound sets the timing and limits of outbound calls.
	Outbound outbound.Limits
	// Practice sets the timing of calls to the practice-management system.
	Practice practice.Limits
	// Upstream is the clinic's practice-management system. It needs a Queue. Default: none.
	Upstream practice.Upstream
	// Pacer spaces the writes of Upstream. It must be the pacer that Upstream restarts. Default: a separate one.
	Pacer *upstream.Pacer
	// AgentAllowLegacy lets agents book with a bare patientGUID, without a token.
	AgentAllowLegacy bool
	// AgentBound is how long an agent waits for the response to a booking, from MinAgentBound to MaxAgentBound.
	// Default: DefaultAgentBound. If it is shorter than the Pacer's spacing, the second of two consecutive bookings is
	// queued.
	AgentBound time.Duration
	// DebugReplies adds _debug to the responses for agents.
	DebugReplies bool
	// Notices sends emails and webhooks about changes.
	Notices message.Transport
	// OpenID calls identity providers. Default: a client that trusts the machine's certificate authorities.
	OpenID *openid.Client
	// Fetcher reads specialists' external calendars. Default: a Fetcher that connects only to public addresses.
	Fetcher *notice.Fetcher
	// Copies lists the copies of the data that do not change when a person is erased. If Copies is nil, there are no
	// such copies.
	Copies func() ([]person.Copy, error)
	// OnFatal is called when the queue is no longer writable and the process should restart. Nil means that the queue
	// can recover without a restart.
	OnFatal func(error)

	// Retention is how long records are stored after their end.
	Retention record.Retention

	// TimeslotsCacheTTL is how long a computed slot list is reused. Default 300 s; a negative value turns the cache
	// off.
	TimeslotsCacheTTL time.Duration
	// TimeslotsCacheBytes is the maximum memory of the slot cache. Default 16 MiB.
	TimeslotsCacheBytes int64

	wall           func() time.Time // the wall clock, for tests that set it
	OffersToFiles  bool             // for tests: offer free times even though emails are only written to files
	QuickPasswords bool             // for tests: hash passwords with little work
}

// New reads the schedule and returns an Engine. The caller must call Run for its background work.
func New(ctx context.Context, o Options) (*Engine, error) {
	if o.Store == nil || o.Holds == nil {
		return nil, errors.New("engine: Store and Holds are required")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.TimeslotsCacheTTL == 0 {
		o.TimeslotsCacheTTL = 300 * time.Second
	}
	if o.TimeslotsCacheBytes == 0 {
		o.TimeslotsCacheBytes = 16 << 20
	}
	if o.Keyring == nil {
		o.Keyring = token.Generate(time.Now())
	}
	o.Outbound, o.Practice = o.Outbound.WithDefaults(), o.Practice.WithDefaults()
	o.Retention = o.Retention.WithDefaults()
	e, err := arrange(o)
	if err != nil {
		return nil, err
	}
	if err := e.beginToFollow(ctx); err != nil {
		return nil, err
	}
	if err := e.Presence.Seed(ctx); err != nil {
		return nil, fmt.Errorf("seed presence: %w", err)
	}
	if err := e.Request.HoldAll(ctx); err != nil {
		return nil, err
	}
	if err := e.Waitlist.HoldAll(ctx); err != nil {
		return nil, err
	}
	e.work = append(e.work, e.Waitlist.Run, e.deleteExpired, e.Presence.Run, e.Presence.ExpireSessions,
		e.Booking.OpenClosed, e.Booking.SettleDoubts, e.Request.NotifyExpired, e.Message.Server.Run,
		e.Message.Gateway.Run, e.BusyTime.Run, e.Person.Run)
	if o.Shared {
		e.work = append(e.work, e.followHolds, e.Booking.ConfirmFromFeed)
	}
	e.work = append(e.work, e.Outbound.Work()...)
	e.work = append(e.work, e.Practice.Work()...)
	return e, nil
}

// arrange constructs the packages, each after the packages that it imports. The hooks call packages that are
// constructed later, so no hook may be called before arrange returns.
func arrange(o Options) (*Engine, error) {
	e := &Engine{
		Keys: token.NewKeys(o.Keyring), Record: record.New(o.Store), store: o.Store, holds: o.Holds, log: o.Logger,
		options: o,
	}
	events := publisher{o.Holds, o.Logger}
	var err error
	e.Clinic, err = clinic.New(clinic.Options{
		Store: o.Store, Logger: o.Logger, Events: events, BaseURL: o.BaseURL, Words: o.Words,
		Hooks: clinic.Hooks{
			SpecialistChanged: func(ctx context.Context, p store.Specialist) { e.Presence.FollowActive(ctx, p) },
		},
	})
	if err != nil {
		return nil, fmt.Errorf("engine: BaseURL: %w", err)
	}
	e.Account, err = account.New(account.Options{
		Store: o.Store, Logger: o.Logger, Clinic: e.Clinic, Keys: e.Keys, AdminKey: o.AdminKey, OpenID: o.OpenID,
		Shared: o.Shared, QuickPasswords: o.QuickPasswords,
		Hooks: account.Hooks{
			UserChanged: func(ctx context.Context, tx store.Tx, before, after *store.User,
				at time.Time) (func(), error) {
				return e.Message.AccountChanged(ctx, tx, before, after, at)
			},
		},
	})
	if err != nil {
		return nil, err
	}
	e.Presence = presence.New(o.Store, o.Holds, o.Logger, e.Clinic, events, o.Presence)
	e.Booking, err = booking.New(booking.Options{
		Store: o.Store, Holds: o.Holds, Logger: o.Logger, Clinic: e.Clinic, Keys: e.Keys, Events: events,
		CacheTTL: o.TimeslotsCacheTTL, CacheBytes: o.TimeslotsCacheBytes, OpeningsMaxAge: o.Practice.OpeningsMaxAge,
		Hooks: booking.Hooks{
			MarkUpstream: func(before, after *store.Appointment, kind string) {
				e.Practice.MarkUpstream(before, after, kind)
			},
			Operations: func(c *booking.Change) []booking.Promise { return e.Outbound.Operations(c) },
			Withdraw: func(ctx context.Context, tx store.Tx, appointmentID string, at time.Time,
				unsent bool) (bool, error) {
				return e.Outbound.Withdraw(ctx, tx, appointmentID, at, unsent)
			},
			Enqueue: func(calls ...booking.Promise) { e.Outbound.Enqueue(calls...) },
			BeforeUndo: func(ctx context.Context, times ...holds.Span) func() {
				return e.Waitlist.BeforeUndo(ctx, times...)
			},
		},
	})
	if err != nil {
		return nil, err
	}
	e.Person = person.New(person.Options{
		Store: o.Store, Logger: o.Logger, Records: e.Record, Queue: o.Queue, Mailer: o.Notices.Mailer, Copies: o.Copies,
		Hooks: person.Hooks{BeforeErase: e.beforeErase},
	})
	e.Group = group.New(o.Store, e.Booking.Live(), e.Clinic, e.Booking)
	e.Sheet = sheet.New(o.Store, e.Clinic, e.Booking)
	e.Downtime = downtime.New(o.Store, e.Booking.Live(), e.Clinic, e.Booking, o.Logger)
	e.Outbound = outbound.New(outbound.Options{
		Store: o.Store, Logger: o.Logger, Booking: e.Booking, Shared: o.Shared, Queue: o.Queue,
		QueueRebuilt: o.QueueRebuilt, Keep: o.Retention.Operations, Limits: o.Outbound, OnFatal: o.OnFatal,
		Wall: o.wall,
		Hooks: outbound.Hooks{
			Delivery: func(kind store.OperationKind) outbound.Delivery {
				if booking.ChannelOf(kind) == "upstream" {
					return e.Practice.Delivery(kind)
				}
				return e.Message.Delivery(kind)
			},
			Operations: func(c *booking.Change) []booking.Promise {
				return append(e.Practice.Operations(c), e.Message.Operations(c)...)
			},
			BeforeWork: func(ctx context.Context, now time.Time) error {
				return e.Practice.RememberLastWrite(ctx, now)
			},
		},
	})
	e.Practice, err = practice.New(practice.Options{
		Store: o.Store, Logger: o.Logger, Clinic: e.Clinic, Booking: e.Booking, Occupied: e.Booking.Time,
		Outbound: e.Outbound, Upstream: o.Upstream, Pacer: o.Pacer, Pace: o.Pace, AgentBound: o.AgentBound,
		Limits: o.Practice, AfterRollback: o.AfterRollback,
	})
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	e.Message = message.New(message.Options{
		Store: o.Store, Logger: o.Logger, Clinic: e.Clinic, Booking: e.Booking, Outbound: e.Outbound,
		Transport: o.Notices, Keys: e.Keys,
	})
	e.Feed = feed.New(o.Store, e.Clinic, e.Booking, e.Message)
	e.Report = report.New(o.Store, e.Clinic)
	e.BusyTime = busytime.New(busytime.Options{
		Store: o.Store, Clinic: e.Clinic, Logger: o.Logger, Fetcher: o.Fetcher, Keys: e.Keys,
	})
	e.Rule = rule.New(e.Clinic, asks(o.Notices.Hooks), o.Logger)
	e.Request = request.New(o.Store, e.Record, o.Logger, e.Clinic, e.Booking, e.Outbound, e.Message, e.Rule)
	e.Waitlist = waitlist.New(waitlist.Options{
		Store: o.Store, Logger: o.Logger, Clinic: e.Clinic, Booking: e.Booking, Outbound: e.Outbound,
		Messages: e.Message, Requests: e.Request, ToFiles: o.OffersToFiles,
	})
	e.Absence = absence.New(absence.Options{
		Store: o.Store, Logger: o.Logger, Clinic: e.Clinic, Booking: e.Booking, Messages: e.Message,
		Waitlist: e.Waitlist,
	})
	e.Agent = agent.New(agent.Options{
		Store: o.Store, Holds: e.Booking.Live(), Logger: o.Logger, Clinic: e.Clinic, Booking: e.Booking,
		Outbound: e.Outbound, Practice: e.Practice, Rule: e.Rule, AllowLegacy: o.AgentAllowLegacy,
		DebugReplies: o.DebugReplies,
	})
	return e, nil
}

// asks returns the function that the booking rule uses to call its program, or nil if this server makes no calls.
func asks(hooks *notice.Hooks) rule.Ask {
	if hooks == nil {
		return nil
	}
	return func(ctx context.Context, url string, secrets []string, id string, at time.Time,
		body []byte) ([]byte, error) {
		answer, err := hooks.Post(ctx, url, secrets, id, at, body)
		return answer.Body, err
	}
}

// beforeErase returns a function that releases the times of the offers and requests that an erasure deletes.
func (e *Engine) beforeErase(ctx context.Context) (release func(context.Context), err error) {
	offered, err := e.store.OpenWaitlistOffers(ctx)
	if err != nil {
		return nil, err
	}
	asked, err := e.Request.List(ctx)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) {
		e.Waitlist.ReleaseErased(ctx, offered)
		e.Request.ReleaseErased(ctx, asked)
	}, nil
}

// deleteExpired deletes the expired records of all packages until ctx is cancelled.
func (e *Engine) deleteExpired(ctx context.Context) {
	keep := e.options.Retention
	e.Record.RunExpiry(ctx, e.log, []record.Expiry{
		{Of: "stored answers", Age: store.IdempotencyRetention, Delete: store.Tx.ForgetAnswers},
		// A node whose clock is ahead must not delete the undo states of a change that another node can still undo.
		{Of: "states for undo", Age: time.Minute, Delete: store.Tx.ForgetUndoStates},
		{Of: "used booking tokens", Delete: store.Tx.ForgetNonces},
		{Of: "agents' sessions", Age: agent.KeepSessions, Delete: store.Tx.ForgetAgentSessions},
		{Of: "booking requests", Age: record.Day, Delete: request.Forget(false)},
		{Of: "requests for approval", Age: request.KeptForApproval, Delete: request.Forget(true)},
		{Of: "waiting list", Age: waitlist.KeepEnded, Delete: store.Tx.ForgetWaitlist},
		{Of: "counts of public bookings", Age: request.Window, Delete: store.Tx.ForgetTallies},
		{Of: "sign-ins", Age: keep.SignIns, Delete: store.Tx.ForgetSignIns},
		{Of: "sessions", Age: keep.Records, Delete: store.Tx.ForgetSessions},
		{Of: "deliveries", Age: keep.Records, Delete: store.Tx.ForgetDeliveries},
		{Of: "log of presence", Age: keep.Records, Delete: store.Tx.ForgetPresence},
	})
}

// Differences returns, as text, the differences between the database and this process's state in memory and queue. It
// can run while requests are served.
func (e *Engine) Differences(ctx context.Context) ([]string, error) {
	return record.Differences(ctx, e.Clinic.Differences, e.Booking.Differences, e.Outbound.Differences)
}

// Run runs the background work until ctx is cancelled, and returns when all of it has stopped.
func (e *Engine) Run(ctx context.Context) {
	var all sync.WaitGroup
	for _, work := range e.work {
		all.Go(func() { work(ctx) })
	}
	all.Wait()
	e.stopFollowing()
	e.Booking.CloseCache()
}

// Ready returns nil if the server can serve requests: the database, the live state and the queue (if any) all respond.
func (e *Engine) Ready(ctx context.Context) error {
	if err := e.store.Ping(ctx); err != nil {
		return fmt.Errorf("database: %w", err)
	}
	if err := e.holds.Ping(ctx); err != nil {
		return fmt.Errorf("live state: %w", err)
	}
	if e.Outbound.Queue != nil {
		if err := e.Outbound.Queue.Ping(ctx); err != nil {
			return fmt.Errorf("queue: %w", err)
		}
	}
	return nil
}
