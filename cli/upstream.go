package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"holdfast/engine"
	"holdfast/engine/booking"
	"holdfast/engine/practice"
	"holdfast/engine/upstream"
	"holdfast/store"
)

// upstreamConfig contains the settings for the connection to the clinic's practice-management system, and for voice and
// chat agents.
type upstreamConfig struct {
	url, clientID, user, password, vendor string
	spacing, timeout, agentBound          time.Duration
	allowLegacy, debugReplies             bool
}

// upstreamSettings returns the rows of the settings table about the practice-management system.
func upstreamSettings() []setting {
	text := func(to func(*config) *string) func(*config, string) error {
		return func(c *config, v string) error {
			*to(c) = v
			return nil
		}
	}
	length := func(to func(*config) *time.Duration) func(*config, string) error {
		return func(c *config, v string) (err error) {
			*to(c), err = parsePositive(v)
			return err
		}
	}
	return []setting{
		{
			name: "upstream-url", with: []string{"upstream-client-id", "upstream-user", "upstream-password"},
			audience: forServing,
			common:   true, group: "Practice system", value: "URL",
			help: "endpoint of the practice-management system, such as https://pms.example/GetData.ashx",
			more: "Without it, appointments exist only in Holdfast, and the other `--upstream-…` settings are not " +
				"allowed.",
			set: func(c *config, v string) (err error) { c.upstream.url, err = parseUpstreamURL(v); return err },
		}, {
			name: "upstream-client-id", secret: true, with: []string{"upstream-url"}, audience: forServing,
			group: "Practice system", value: "ID", help: "client ID from the vendor of the practice-management system",
			set: text(func(c *config) *string { return &c.upstream.clientID }),
		}, {
			name: "upstream-user", with: []string{"upstream-url"}, audience: forServing,
			group: "Practice system", value: "NAME", help: "user name for the practice-management system",
			set: text(func(c *config) *string { return &c.upstream.user }),
		}, {
			name: "upstream-password", secret: true, with: []string{"upstream-url"}, audience: forServing,
			group: "Practice system", value: "PASSWORD", help: "password for the practice-management system",
			set: text(func(c *config) *string { return &c.upstream.password }),
		}, {
			name: "upstream-vendor", with: []string{"upstream-url"}, audience: forServing,
			group: "Practice system", value: "NAME",
			help: "vendor user name for writing patients and appointments",
			more: "If it is not set, `--upstream-user` is used.",
			set:  text(func(c *config) *string { return &c.upstream.vendor }),
		}, {
			name: "upstream-spacing", fallback: "10s", audience: forServing,
			group: "Practice system", value: "DURATION", help: "minimum time between two appointment writes",
			set: length(func(c *config) *time.Duration { return &c.upstream.spacing }),
		}, {
			name: "upstream-retry-delay", fallback: "5s", audience: forServing,
			group: "Practice system", value: "DURATION",
			help: "delay before the single retry of a rate-limited booking while a caller waits",
			set:  length(func(c *config) *time.Duration { return &c.practice.RetryDelay }),
		}, {
			name: "upstream-timeout", fallback: "15s", audience: forServing,
			group: "Practice system", value: "DURATION", help: "timeout per call",
			set: length(func(c *config) *time.Duration { return &c.upstream.timeout }),
		}, {
			name: "upstream-quarantine", fallback: "90s", audience: forServing,
			group: "Practice system", value: "DURATION",
			help: "how long to wait before looking up a write with an unknown outcome",
			more: "Set it to more than `--upstream-timeout`.", set: length(func(c *config) *time.Duration {
				return &c.outbound.Quarantine
			}),
		}, {
			name: "upstream-openings-every", fallback: "5m", audience: forServing,
			group: "Practice system", value: "DURATION", help: "how often to fetch the system's openings; 0 for never",
			more: "The booking page offers only these openings. With `0`, it offers Holdfast's own calendar.",
			set: func(c *config, v string) (err error) {
				c.practice.OpeningsEvery, err = parseDuration(v)
				return err
			},
		}, {
			name: "upstream-openings-max-age", fallback: "1h", audience: forServing,
			group: "Practice system", value: "DURATION", help: "maximum age of fetched openings",
			more: "After that, the booking page offers Holdfast's own calendar.",
			set:  length(func(c *config) *time.Duration { return &c.practice.OpeningsMaxAge }),
		}, {
			name: "agent-bound", fallback: "12s", audience: forServing,
			group: "Practice system", value: "DURATION",
			help: "how long an agent's caller waits for the result of a booking: 3s to 25s",
			more: "Set it to more than `--upstream-spacing`, so that a booking for a second child can wait for its " +
				"turn and still be confirmed.",
			set: func(c *config, v string) (err error) {
				c.upstream.agentBound, err = parsePositive(v)
				if err == nil && (c.upstream.agentBound < practice.MinAgentBound ||
					c.upstream.agentBound > practice.MaxAgentBound) {
					err = fmt.Errorf("must be between %s and %s", practice.MinAgentBound, practice.MaxAgentBound)
				}
				return err
			},
		}, {
			name: "agent-allow-legacy", fallback: "false", yes: true, audience: forServing,
			group: "Practice system", value: "true|false",
			help: "let agents book with only a patientGUID, without a token",
			set: func(c *config, v string) error {
				c.upstream.allowLegacy = v == "true"
				return oneOf(v, "true", "false")
			},
		}, {
			name: "debug-replies", fallback: "false", yes: true, audience: forServing,
			group: "Practice system", value: "true|false", help: "add _debug to responses to agents",
			more: "Useful when developing an agent.",
			set: func(c *config, v string) error {
				c.upstream.debugReplies = v == "true"
				return oneOf(v, "true", "false")
			},
		},
	}
}

func parseUpstreamURL(v string) (string, error) {
	if v == "" {
		return "", nil
	}
	u, err := url.Parse(v)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return "", errors.New("must be the full address of the endpoint, such as https://pms.example/GetData.ashx")
	case u.User != nil:
		return "", errors.New("must not contain a user name or password: use --upstream-user and --upstream-password")
	}
	return v, nil
}

// openUpstream connects the engine to the practice-management system. line replaces the network; if nil, the network
// is used.
func (h *house) openUpstream(cfg config, line http.RoundTripper, o *engine.Options) error {
	u := cfg.upstream
	o.AgentAllowLegacy, o.DebugReplies, o.AgentBound = u.allowLegacy, u.debugReplies, u.agentBound
	if u.url == "" {
		return nil
	}
	o.Pacer = upstream.NewPacer(u.spacing)
	options := upstream.Options{
		URL: u.url, ClientID: u.clientID, User: u.user, Password: u.password, Vendor: u.vendor, Timeout: u.timeout,
		Pacer: o.Pacer,
	}
	if line != nil {
		options.HTTP = &http.Client{Transport: line}
	}
	client, err := upstream.New(options)
	if err != nil {
		return usageError{
			fmt.Errorf(
				"%w. The settings are --upstream-url, --upstream-client-id, --upstream-user and --upstream-password",
				err,
			),
		}
	}
	o.Upstream = client
	if u.agentBound <= u.spacing {
		h.log.Warn(
			"--agent-bound is not longer than --upstream-spacing; the second of two bookings is queued instead of confirmed",
			"bound", u.agentBound, "spacing", u.spacing,
		)
	}
	if cfg.outbound.Quarantine <= u.timeout {
		h.log.Warn("--upstream-quarantine is not longer than --upstream-timeout; a write may be looked up while it is still running",
			"quarantine", cfg.outbound.Quarantine, "timeout", u.timeout)
	}
	return nil
}

// warnWithoutUpstream logs a warning if operations wait for a practice-management system although none is configured.
// No lane delivers them, so they do not fail at their deadlines either. This happens if the operator switches the
// system off, or restores a backup, which contains no settings, on a new machine.
func (h *house) warnWithoutUpstream(ctx context.Context) {
	waiting := 0
	for op, err := range store.AllOutbox(ctx, h.store) {
		if err != nil {
			return // the engine reads the outbox too, and logs the error
		}
		if booking.ChannelOf(op.Kind) == "upstream" && !op.Status.Final() {
			waiting++
		}
	}
	if waiting > 0 {
		h.log.Warn("operations wait for a practice-management system, but --upstream-url is not set",
			"operations", waiting)
	}
}
