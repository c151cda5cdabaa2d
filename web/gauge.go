package web

import (
	"context"
	"math"
	"time"

	"holdfast/engine/booking"
	"holdfast/web/stream"
)

// gauges exposes the gauges and counters that are read at each scrape. It omits a value that it cannot read, so that an
// alert on a missing value fires.
type gauges struct{ *Server }

// described returns a metric whose name starts with holdfast_.
func described(name, help string, labels ...string) *metric {
	return &metric{"holdfast_" + name, help, labels}
}

var (
	streamsDesc = described("streams",
		"Open live streams; kind is appointment_type, staff or presence, type the appointment type's id.", "kind",
		"type")
	streamsEndedDesc = described("streams_ended_total",
		"Live streams that ended, by reason; send-failed: the reader fell behind; client-abort: it left, or its "+
			"connection stalled.",
		"reason")
	holdsDesc      = described("holds", "Live holds.")
	selectionsDesc = described("selections", "Clients that have selected a slot.")
	onlineDesc     = described("specialists_online", "Specialists online.")
	availableDesc  = described("specialists_available", "Specialists who can take a session, at most 10 seconds old.")
	modeDesc       = described("storage_mode",
		"1 for the storage that serves the live state, 0 for the others; fallback: Redis is configured but "+
			"unreachable.",
		"mode")
	switchesDesc = described("storage_switches_total",
		"Number of times the live state moved to another storage, checked once a second.")
	givenDesc    = described("holds_given_total", "Holds granted.")
	bookingsDesc = described("bookings_total", "Appointments booked, by booker.", "source")
	movesDesc    = described("moves_total", "Appointments moved.")
	ruleDesc     = described("booking_rule_total", "Calls of the booking rule, by outcome.", "outcome")
	refusalsDesc = described("refusals_total", "Refused holds, bookings and moves, by code or reason.", "act",
		"reason")
	conflictsDesc = described("conflicts_total",
		"Bookings and moves that only the database refused: all earlier checks had found the time free.")
	queueDesc = described("queue_operations",
		"Operations in the queue, at most 10 seconds old: waiting (reminders for later left out) or failed for good.",
		"kind", "state")
	oldestDesc = described("queue_oldest_seconds",
		"Age of the longest-waiting operation, at most 10 seconds old; 0 if none waits.", "kind")
	attemptDesc = described("queue_attempt_seconds",
		"Age of the oldest running attempt, at most 10 seconds old; 0 if none is running.", "kind")
	deliveredDesc = described("operations_delivered_total", "Outbound operations that took effect.", "kind")
	missedDesc    = described("operation_attempts_failed_total",
		"Attempts at an outbound operation that failed or whose outcome is unknown; most are retried.", "kind")
	failedDesc = described("operations_failed_total", "Outbound operations that failed permanently.", "kind")
	writeDesc  = described("write_seconds",
		"Duration of a write as its caller sees it: queueing, transaction and commit.")
	fsyncDesc = described("fsync_seconds",
		"Time of the commit of a batch of writes: the log is written and synced.")
	databaseDesc    = described("database_bytes", "Size of the database file.")
	walDesc         = described("wal_bytes", "Size of the write-ahead log.")
	certificateDesc = described("certificate_end_timestamp_seconds",
		"Expiry of a domain's certificate, as Unix time; 0 if there is none.", "domain")
	backupDesc = described("backup_age_seconds",
		"Age of the last backup that this server recorded; +Inf if there is none. Not with daily backups off, unless "+
			"there is a backup.")
	copyDesc = described("copy_age_seconds",
		"Age of the newest change that is not yet at the backup destination; +Inf if nothing is there yet. Only with "+
			"incremental backups.")
)

// gaugesTime is the time limit of all backend reads of one scrape together.
const gaugesTime = time.Second

func (g gauges) expose(ctx context.Context, to *exposition) {
	ctx, cancel := context.WithTimeout(ctx, gaugesTime)
	defer cancel()
	g.streams(to)
	g.live(ctx, to)
	g.bookings(to)
	g.queue(ctx, to)
	g.storage(to)
}

func (g gauges) streams(to *exposition) {
	open := g.hub.Topics()
	to.gauge(streamsDesc, float64(open[stream.AllTypes]), "staff", "")
	to.gauge(streamsDesc, float64(open[stream.Presence]), "presence", "")
	types := g.engine.Clinic.Schedule().AppointmentTypes
	for i := range types {
		if id := types[i].ID; types[i].Active || open[id] > 0 {
			to.gauge(streamsDesc, float64(open[id]), "appointment_type", id)
		}
	}
	for reason, n := range g.hub.Ended() {
		to.counter(streamsEndedDesc, n, reason)
	}
}

// live adds the gauges of the live state.
func (g gauges) live(ctx context.Context, to *exposition) {
	if stats, err := g.engine.Booking.HoldStats(ctx); err == nil {
		to.gauge(holdsDesc, float64(stats.Holds))
		to.gauge(selectionsDesc, float64(stats.Selections))
		to.gauge(onlineDesc, float64(stats.Online))
	}
	if n, err := g.engine.Presence.Beacon(ctx); err == nil {
		to.gauge(availableDesc, float64(n))
	}
	now := g.options.StorageMode()
	for _, mode := range []string{"memory", "redis", "postgres", "fallback"} {
		v := 0.
		if mode == now {
			v = 1
		}
		to.gauge(modeDesc, v, mode)
	}
	to.counter(switchesDesc, g.engine.Presence.StorageSwitches())
}

func (g gauges) bookings(to *exposition) {
	n := g.engine.Booking.Counts()
	to.counter(givenDesc, n.Holds)
	to.counter(movesDesc, n.Moves)
	to.counter(conflictsDesc, n.Conflicts)
	for i, source := range booking.Sources {
		to.counter(bookingsDesc, n.Bookings[i], string(source))
	}
	for _, r := range n.Refused {
		to.counter(refusalsDesc, r.Count, r.Act, r.Reason)
	}
	for _, r := range g.engine.Rule.Counts() {
		to.counter(ruleDesc, r.Calls, r.Outcome)
	}
}

func (g gauges) queue(ctx context.Context, to *exposition) {
	list, err := g.engine.Outbound.Gauges(ctx)
	if err != nil {
		g.log.Warn("failed to measure the queue", "error", err)
	}
	for _, q := range list {
		kind := string(q.Kind)
		to.gauge(queueDesc, float64(q.Waiting), kind, "waiting")
		to.gauge(queueDesc, float64(q.Failed), kind, "failed")
		to.gauge(oldestDesc, q.Oldest.Seconds(), kind)
		to.gauge(attemptDesc, q.Attempt.Seconds(), kind)
	}
	for _, e := range g.engine.Outbound.Ends() {
		kind := string(e.Kind)
		to.counter(deliveredDesc, e.Delivered, kind)
		to.counter(missedDesc, e.Missed, kind)
		to.counter(failedDesc, e.Failed, kind)
	}
}

// storage adds the database's own measurements, the ages of the last backup and of the last copy, and the expiry of the
// certificates.
func (g gauges) storage(to *exposition) {
	if m, ok := g.engine.Record.Measurements(); ok {
		to.durations(writeDesc, m.Writes)
		to.durations(fsyncDesc, m.Commits)
		to.gauge(databaseDesc, float64(m.Bytes))
		to.gauge(walDesc, float64(m.LogBytes))
	}
	if last, ok := g.options.LastBackup(); ok {
		to.gauge(backupDesc, ageOf(last))
	}
	if last, ok := g.options.LastCopy(); ok {
		to.gauge(copyDesc, ageOf(last))
	}
	for _, c := range g.options.Certificates() {
		end := 0.0
		if !c.Until.IsZero() {
			end = float64(c.Until.Unix())
		}
		to.gauge(certificateDesc, end, c.Domain)
	}
}

// ageOf returns the age of a backup in seconds. The zero time means that there is no backup.
func ageOf(last time.Time) float64 {
	if last.IsZero() {
		return math.Inf(1)
	}
	return max(0, time.Since(last).Seconds())
}

// none is the default of Options.LastCopy. It reports that there is no incremental backup.
func none() (time.Time, bool) { return time.Time{}, false }
