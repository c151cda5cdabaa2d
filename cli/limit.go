package cli

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"

	"holdfast/web"
)

// limitSettings returns the rows of the settings table about the limits for public clients. The defaults are those of
// package web.
func limitSettings() []setting {
	row := func(name, fallback, value, help, more string, to func(*web.Limits) *int) setting {
		return setting{
			name: name, fallback: fallback, audience: forServing, group: "Limits", value: value, help: help, more: more,
			set: func(c *config, v string) (err error) { *to(&c.limits), err = parseLimit(v); return err },
		}
	}
	return []setting{
		row("max-holds-per-address", "200", "N", "live holds per network address",
			"Over the limit: 429 `rate_limited`.",
			func(l *web.Limits) *int { return &l.HoldsPerAddress }),
		row("max-holds-per-day", "100", "N", "live public holds per specialist per day (UTC)",
			"Over the limit: 429 `rate_limited`.",
			func(l *web.Limits) *int { return &l.HoldsPerDay }),
		row("max-hold-share", "20", "PERCENT",
			"maximum share of a specialist's day and week that one network address can hold",
			"Two holds are always allowed. Over the limit: 429 `rate_limited`. `100` lets one address hold everything.",
			func(l *web.Limits) *int { return &l.HoldShare }),
		row("max-sessions-per-address", "10", "N", "waiting session requests per network address",
			"Over the limit: 429 `rate_limited`.",
			func(l *web.Limits) *int { return &l.SessionsPerAddress }),
		row("max-streams", "20000", "N", "live streams in total",
			"Over the limit: 503 `overloaded`. Each stream uses a few KB and a file descriptor. A quarter of the "+
				"process's descriptors (`ulimit -n`), and at least 64, stay free for bookings.",
			func(l *web.Limits) *int { return &l.Streams }),
		row("max-streams-per-address", "200", "N", "live streams per network address",
			"Over the limit: 429 `rate_limited`.",
			func(l *web.Limits) *int { return &l.StreamsPerAddress }),
		row("max-idle-per-address", "256", "N", "idle connections per network address",
			"Over the limit, the server closes the connection that has been idle longest. Trusted proxies are not "+
				"counted.",
			func(l *web.Limits) *int { return &l.IdlePerAddress }),
		row("max-connections-per-address", "1024", "N", "connections per network address, not counting live streams",
			"At most a quarter of the process's file descriptors. Over the limit, the server closes the connection "+
				"that has been idle longest, or the new connection if none is idle. Trusted proxies are not counted.",
			func(l *web.Limits) *int { return &l.ConnectionsPerAddress }),
	}
}

// roomForStreams returns the maximum number of streams for a process that may open this many files. A quarter of the
// files, and at least 64, stay free for bookings, the database and the queue.
func roomForStreams(files uint64) int {
	left := max(files/4, 64)
	if files <= left {
		return 1
	}
	return int(min(files-left, 1_000_000))
}

// streamsWithin lowers the limit on streams to the number that this process has descriptors for.
func streamsWithin(limit int) int {
	files, known := openFiles()
	if !known {
		return limit
	}
	return min(limit, roomForStreams(files))
}

// fitStreams lowers the limit on streams to room. It logs a warning if the operator set the limit, and a debug message
// otherwise.
func (c *config) fitStreams(log *slog.Logger, room int) {
	if room >= c.limits.Streams {
		return
	}
	level := slog.LevelWarn
	if c.given["max-streams"].from == "default" {
		level = slog.LevelDebug
	}
	log.Log(context.Background(), level,
		"accepting fewer live streams than --max-streams, to keep file descriptors free for bookings; raise ulimit -n",
		"streams", room, "max_streams", c.limits.Streams)
	c.limits.Streams = room
}

// fitConnections lowers the limit on the connections of one address to a quarter of the files that this process may
// open, so that other addresses can still connect.
func (c *config) fitConnections() {
	if files, known := openFiles(); known {
		c.limits.ConnectionsPerAddress = min(c.limits.ConnectionsPerAddress, int(min(max(files/4, 16), 1_000_000)))
	}
}

func parseLimit(v string) (int, error) {
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > 1_000_000 {
		return 0, fmt.Errorf("%q must be a number from 1 to 1000000", v)
	}
	return n, nil
}
