package cli

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"

	"holdfast/web"
)

// limitSettings are the rows of the table about how much the public may have at a time. The numbers that count when
// nobody sets them are those of package web.
func limitSettings() []setting {
	row := func(name, fallback, help string, to func(*web.Limits) *int) setting {
		return setting{name: name, fallback: fallback, audience: forServing, help: help,
			set: func(c *config, v string) (err error) { *to(&c.limits), err = parseLimit(v); return err }}
	}
	return []setting{
		row("max-holds-per-address", "200", "live holds that the public of one network address may have; nothing with --rate-limit off",
			func(l *web.Limits) *int { return &l.HoldsPerAddress }),
		row("max-holds-per-day", "100", "live holds that the public may have on one day (UTC) of one specialist; nothing with --rate-limit off",
			func(l *web.Limits) *int { return &l.HoldsPerDay }),
		row("max-hold-share", "20", "per cent of a specialist's day, and of the week, that the public of one network address may hold, at least two; nothing with --rate-limit off",
			func(l *web.Limits) *int { return &l.HoldShare }),
		row("max-sessions-per-address", "10", "requests for a session that the public of one network address may have waiting; nothing with --rate-limit off",
			func(l *web.Limits) *int { return &l.SessionsPerAddress }),
		row("max-streams", "20000", "live streams in all; each takes a few KB and a file descriptor",
			func(l *web.Limits) *int { return &l.Streams }),
		row("max-streams-per-address", "200", "live streams of one network address; nothing with --rate-limit off",
			func(l *web.Limits) *int { return &l.StreamsPerAddress }),
		row("max-idle-per-address", "256", "connections of one network address that wait for their next request; nothing with --rate-limit off",
			func(l *web.Limits) *int { return &l.IdlePerAddress }),
		row("max-connections-per-address", "512", "connections of one network address, live streams aside, at most a quarter of the files that the process may open; no limit with --rate-limit off",
			func(l *web.Limits) *int { return &l.ConnectionsPerAddress }),
	}
}

// roomForStreams is how many streams a process may have that may open so many files: a quarter of them, and 64 at least, stay
// free for bookings, the database and the queue.
func roomForStreams(files uint64) int {
	left := max(files/4, 64)
	if files <= left {
		return 1
	}
	return int(min(files-left, 1_000_000))
}

// streamsWithin is the limit on streams, or as many as this process has descriptors for.
func streamsWithin(limit int) int {
	files, known := openFiles()
	if !known {
		return limit
	}
	return min(limit, roomForStreams(files))
}

// fitStreams lowers the limit on streams to as many as there is room for. It is a warning only where somebody asked for more.
func (c *config) fitStreams(log *slog.Logger, room int) {
	if room >= c.limits.Streams {
		return
	}
	level := slog.LevelWarn
	if c.given["max-streams"].from == "default" {
		level = slog.LevelInfo
	}
	log.Log(context.Background(), level, "fewer live streams are taken than --max-streams says, so that descriptors are left for bookings: raise ulimit -n",
		"streams", room, "max_streams", c.limits.Streams)
	c.limits.Streams = room
}

// fitConnections lowers the limit on the connections of one address to a quarter of the files that this process may open, so that one
// address leaves room for the others.
func (c *config) fitConnections() {
	if files, known := openFiles(); known {
		c.limits.ConnectionsPerAddress = min(c.limits.ConnectionsPerAddress, int(min(max(files/4, 16), 1_000_000)))
	}
}

func parseLimit(v string) (int, error) {
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > 1_000_000 {
		return 0, fmt.Errorf("%q should be a number from 1 to 1000000", v)
	}
	return n, nil
}
