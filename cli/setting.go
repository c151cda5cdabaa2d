package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"holdfast/engine/account"
	"holdfast/engine/clinic"
	"holdfast/engine/notice"
	"holdfast/engine/outbound"
	"holdfast/engine/practice"
	"holdfast/engine/presence"
	"holdfast/engine/record"
	"holdfast/holds/redis"
	"holdfast/store/backup"
	"holdfast/store/postgres"
	"holdfast/web"
)

// config holds the values of all settings.
type config struct {
	redis             string // URL of the Redis with the live state; if empty, that state is in database or in memory
	listen            string // host:port; port 0 picks any free port
	data              string // the data directory
	database          string // URL of a PostgreSQL; empty means SQLite in data. It may hold a password
	baseURL           string // without a trailing slash; empty means the address that the server listens on
	trustedProxies    []netip.Prefix
	rateLimit         bool
	adminKey          string // empty means none
	timeslotsCacheTTL time.Duration
	logFormat         string // text or json
	logClientAddress  bool
	logLevel          slog.Level
	ownerEmail        string // email of the owner to create if there is none; if empty, the setup link creates one
	ownerPassword     string

	presence presence.Options
	outbound outbound.Limits
	practice practice.Limits
	limits   web.Limits
	keep     record.Retention

	afterRollback bool // the operator knows that the data directory is older than its copies and the upstream
	backups       backup.Plan
	https         httpsConfig
	upstream      upstreamConfig

	smtpURL             string // if empty, messages are written to files
	mailFrom            string
	sms                 smsConfig
	webhookAllowPrivate bool

	given map[string]given // by setting: its value and source
}

// audience is the set of commands that have a flag for a setting. The environment and the file are the same for all
// commands.
type audience int

const (
	forServing audience = 1 << iota // serve, demo, config print
	forData                         // commands that work on the data directory
	forCalling                      // commands that call a running server
	forCopies                       // commands that read copies in a backup destination
)

// setting is one row of the settings table.
type setting struct {
	name     string   // as in --name
	fallback string   // the value if the operator does not set it
	group    string   // its heading in help and on the reference page: one of settingGroups
	common   bool     // shown by --help; the others by `holdfast help settings`
	value    string   // the name of its value in the help, such as HOST:PORT
	help     string   // one line, without a full stop
	more     string   // further sentences for the reference page
	secret   bool     // can also be in a file; never printed
	yes      bool     // true or false; the flag without a value means true
	values   []string // the allowed values, if they are few
	with     []string // settings that this one requires
	audience audience
	// set parses a value and stores it in c. Its error describes the mistake and the allowed values. It never quotes
	// a secret.
	set func(c *config, value string) error
}

// env returns the setting's name in the environment and in the file of --config.
func (s setting) env() string {
	return "HOLDFAST_" + strings.ToUpper(strings.ReplaceAll(s.name, "-", "_"))
}

// settings returns the table of settings.
func settings() []setting {
	return slices.Concat([]setting{
		{
			name: "listen", fallback: "127.0.0.1:8788", audience: forServing | forCalling, common: true,
			group: "Network", value: "HOST:PORT", help: "address to serve HTTP on; port 0 picks any free port",
			more: "`0.0.0.0:8788` listens on every address of the machine.",
			set:  func(c *config, v string) (err error) { c.listen, err = parseListen(v); return err },
		}, {
			name: "data", fallback: "./holdfast-data", audience: forServing | forData, common: true, group: "Basics",
			value: "DIR", help: "data directory; created with mode 0700 if it is missing",
			set: func(c *config, v string) error { c.data = v; return nil },
		}, {
			name: "base-url", audience: forServing, common: true, group: "Network", value: "URL",
			help: "public address of the server, used in links, such as https://book.example.org",
			more: "A scheme and a host. It takes precedence over the address in the clinic's settings; see " +
				"[Links](https.md#links).",
			set: func(c *config, v string) (err error) { c.baseURL, err = clinic.ParseBaseURL(v); return err },
		}, {
			name: "trusted-proxies", audience: forServing, group: "Network", value: "NETWORKS",
			help: "proxies whose X-Forwarded-For header is trusted: addresses or networks, comma-separated",
			more: "Example: `10.0.0.5,192.168.0.0/16`. Without `X-Forwarded-For`, the server reads `Forwarded` (RFC " +
				"7239). If the two disagree, it uses neither. If any other sender sets these headers, the server " +
				"ignores them and logs this once.",
			set: func(c *config, v string) (err error) { c.trustedProxies, err = parsePrefixes(v); return err },
		}, {
			name: "rate-limit", fallback: "default", values: []string{"default", "off"}, audience: forServing,
			group: "Limits", value: "MODE",
			help: "rate limits per network address for public writes and live streams: default or off",
			more: "`off` turns off every limit in this group except `--max-streams`.",
			set:  func(c *config, v string) error { c.rateLimit = v == "default"; return oneOf(v, "default", "off") },
		}, {
			name: "admin-key", secret: true, audience: forServing, group: "Basics", value: "KEY",
			help: "admin key for the initial setup, at least 24 characters; works alongside the API keys",
			set:  func(c *config, v string) (err error) { c.adminKey, err = parseAdminKey(v); return err },
		}, {
			name: "timeslots-cache-ttl", fallback: "300s", audience: forServing, group: "Basics", value: "DURATION",
			help: "how long to cache a list of time slots; 0 turns the cache off",
			set:  func(c *config, v string) (err error) { c.timeslotsCacheTTL, err = parseDuration(v); return err },
		}, {
			name: "owner-email", with: []string{"owner-password"}, audience: forServing,
			group: "Basics", value: "EMAIL",
			help: "email address of the first owner; creates the owner without the setup page",
			more: "Needs `--owner-password`. Ignored if the clinic already has an owner.",
			set:  func(c *config, v string) (err error) { c.ownerEmail, err = parseOwnerEmail(v); return err },
		}, {
			name: "owner-password", secret: true, with: []string{"owner-email"}, audience: forServing,
			group: "Basics", value: "PASSWORD", help: "password of the first owner, at least 12 characters",
			set: func(c *config, v string) (err error) { c.ownerPassword, err = parseOwnerPassword(v); return err },
		}, {
			name: "presence-stale-after", fallback: "90s", audience: forServing,
			group: "Presence", value: "DURATION",
			help: "age at which an online specialist's heartbeat is considered stale",
			set:  func(c *config, v string) (err error) { c.presence.StaleAfter, err = parsePositive(v); return err },
		}, {
			name: "presence-sweep", fallback: "30s", audience: forServing,
			group: "Presence", value: "DURATION", help: "how often the server checks for missing heartbeats",
			set: func(c *config, v string) (err error) { c.presence.Sweep, err = parsePositive(v); return err },
		}, {
			name: "presence-mirror", fallback: "60s", audience: forServing,
			group: "Presence", value: "DURATION", help: "how often heartbeats are written to the database",
			set: func(c *config, v string) (err error) { c.presence.Mirror, err = parsePositive(v); return err },
		}, {
			name: "presence-reconcile", fallback: "300s", audience: forServing,
			group: "Presence", value: "DURATION",
			help: "how often the server reconciles live presence with the database",
			set:  func(c *config, v string) (err error) { c.presence.Reconcile, err = parsePositive(v); return err },
		}, {
			name: "queue-backoff", fallback: "10s", audience: forServing, group: "Mail", value: "DURATION",
			help: "base delay after a failed delivery: base x 2^attempt, at most 300s",
			set:  func(c *config, v string) (err error) { c.outbound.Backoff, err = parsePositive(v); return err },
		}, {
			name: "queue-max-attempts", fallback: "10", audience: forServing,
			group: "Mail", value: "N", help: "maximum number of attempts before a delivery fails permanently",
			set: func(c *config, v string) (err error) { c.outbound.MaxAttempts, err = parseCount(v); return err },
		}, {
			name: "notice-max-age", fallback: "24h", audience: forServing, group: "Mail", value: "DURATION",
			help: "age at which an email, a text message or a webhook fails if it was not delivered",
			more: "It counts from the change that caused the message, so the time during which the server is off " +
				"counts too. Reminders are sent until the appointment starts.",
			set: func(c *config, v string) (err error) { c.outbound.NoticeAge, err = parsePositive(v); return err },
		}, {
			name: "smtp-url", secret: true, audience: forServing, common: true, group: "Mail", value: "URL",
			help: "mail server, as smtp://user:password@host:587 or smtps://host:465",
			more: "Without it, and without a mail server in the console, the server writes every email to an `.eml` " +
				"file in `mail/` of the data directory, and the booking page does not mention email.",
			set: func(c *config, v string) error {
				c.smtpURL = v
				_, err := notice.NewMailer(notice.MailOptions{URL: v})
				return err
			},
		}, {
			name: "mail-from", audience: forServing,
			group: "Mail", value: "ADDRESS", help: "sender of emails, such as \"Harbour Clinic <post@example.org>\"",
			more: "If it is not set, the clinic's own email address is used. If the clinic has none either, the " +
				"server does not start with `--smtp-url`.",
			set: func(c *config, v string) (err error) { c.mailFrom, err = parseMailFrom(v); return err },
		}, {
			name: "sms-url", secret: true, audience: forServing, group: "Mail", value: "URL",
			help: "SMS gateway, such as twilio://ACCOUNT:TOKEN@?from=SENDER, seven://APIKEY@?from=SENDER, or any " +
				"https:// address",
			more: "Without it, and without a gateway in the console, no text message is sent. See " +
				"[Text messages](sms.md).",
			set: func(c *config, v string) error {
				c.sms.url = v
				_, _, err := notice.ParseGateway(v)
				return err
			},
		}, {
			name: "sms-method", fallback: "POST", values: []string{"POST", "PUT", "GET"}, audience: forServing,
			group: "Mail", value: "METHOD", help: "HTTP method for an SMS gateway at an https:// address",
			set: func(c *config, v string) error { c.sms.method = v; return oneOf(v, "POST", "PUT", "GET") },
		}, {
			name: "sms-headers", secret: true, with: []string{"sms-url"}, audience: forServing, group: "Mail",
			value: "LINES",
			help:  "HTTP headers for an SMS gateway at an https:// address, separated by newlines or vertical bars",
			more:  "Example: `X-Api-Key: 123\\|Accept: application/json`.",
			set:   func(c *config, v string) error { c.sms.headers = strings.ReplaceAll(v, "|", "\n"); return nil },
		}, {
			name: "sms-body", with: []string{"sms-url"}, audience: forServing, group: "Mail", value: "TEMPLATE",
			help: "request body for an SMS gateway at an https:// address, with {to} and {text}",
			more: "The body is JSON if it begins with `{`, otherwise a form; the server escapes the values accordingly.",
			set:  func(c *config, v string) error { c.sms.body = v; return nil },
		}, {
			name: "sms-success", with: []string{"sms-url"}, audience: forServing, group: "Mail", value: "TEXT",
			help: "text that marks a response from an SMS gateway at an https:// address as successful",
			more: "White space is ignored. If it is not set, every 2xx response is a success.",
			set:  func(c *config, v string) error { c.sms.success = v; return nil },
		}, {
			name: "webhook-allow-private", fallback: "false", yes: true, audience: forServing, group: "Mail",
			value: "true|false",
			help:  "allow webhooks, calendars and the SMS gateway on loopback and private addresses",
			more:  "For receivers on the same machine or network. It also allows calendars without encryption.",
			set: func(c *config, v string) error {
				c.webhookAllowPrivate = v == "true"
				return oneOf(v, "true", "false")
			},
		}, {
			name: "log-format", fallback: "text", values: []string{"text", "json"}, audience: forServing,
			group: "Basics", value: "FORMAT", help: "format of the log on standard error: text or json",
			more: "With `json`, the first start prints no setup link, because a log collector would keep it. Run " +
				"`holdfast setup-url` instead.",
			set: func(c *config, v string) error { c.logFormat = v; return oneOf(v, "text", "json") },
		}, {
			name: "log-level", fallback: "info", values: []string{"debug", "info", "warn", "error"},
			audience: forServing, group: "Basics", value: "LEVEL",
			help: "minimum log level: debug, info, warn or error",
			more: "`warn` leaves out the log lines of requests and keeps the messages that may need an operator; " +
				"[Log messages](log.md) lists them. The setup link is printed at every level.",
			set: func(c *config, v string) error {
				if err := oneOf(v, "debug", "info", "warn", "error"); err != nil {
					return err
				}
				return c.logLevel.UnmarshalText([]byte(v))
			},
		}, {
			name: "log-client-address", fallback: "false", yes: true, audience: forServing, group: "Basics",
			value: "true|false", help: "log the client's network address with each request",
			more: "Network addresses are personal data: state in your privacy policy how long you keep the log. " +
				"Behind a proxy, set `--trusted-proxies` as well.",
			set: func(c *config, v string) error { c.logClientAddress = v == "true"; return oneOf(v, "true", "false") },
		}, {
			name: "redis", secret: true, audience: forServing, common: true, group: "Cluster", value: "URL",
			help: "Valkey or Redis for live state, as redis://user:password@host:6379/0",
			more: "`rediss://…` uses TLS, `unix:///path` a socket, and " +
				"`redis://host:26379/0?master_name=main&addr=other:26379` Sentinel. Without `--redis`, live state is " +
				"in memory, or in PostgreSQL if you use `--database`.",
			set: func(c *config, v string) error {
				c.redis = v
				if v == "" {
					return nil
				}
				return redis.CheckURL(v)
			},
		}, {
			name: "database", secret: true, audience: forServing | forData,
			common: true, group: "Cluster", value: "URL",
			help: "PostgreSQL for durable state, as postgres://user@host/name; prefer --database-file",
			more: "With `--database-file`, the password does not appear in the process list. Without either, the " +
				"server uses SQLite in the data directory. Add `sslmode=verify-full` for a database on another host; " +
				"the server warns without it. Without `--redis`, and while Redis is unreachable, holds are in " +
				"PostgreSQL too.",
			set: func(c *config, v string) (err error) { c.database, err = parseDatabase(v); return err },
		},
	}, httpsSettings(), limitSettings(), retentionSettings(), backupSettings(), upstreamSettings())
}

// parseDatabase refuses a value that is not a PostgreSQL URL. The error never quotes the value, because it may contain
// a password.
func parseDatabase(v string) (string, error) {
	if v == "" {
		return "", nil
	}
	u, err := url.Parse(v)
	_, rest, _ := strings.Cut(v, "://")
	authority, _, _ := strings.Cut(rest, "/")
	// The driver ends the password at the first @. It would look up the rest of the password as the name of a host.
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" || strings.Count(authority, "@") > 1 {
		return "", errors.New("must look like postgres://user@host:5432/name?sslmode=require; " +
			"write special characters of a password percent-encoded, such as %40 for @")
	}
	return v, postgres.CheckURL(v)
}

func oneOf(v string, allowed ...string) error {
	for _, a := range allowed {
		if v == a {
			return nil
		}
	}
	return fmt.Errorf("%q must be one of: %s", v, strings.Join(allowed, ", "))
}

func parseListen(v string) (string, error) {
	host, port, err := net.SplitHostPort(v)
	if err != nil {
		return "", fmt.Errorf("%q must be host:port, such as 127.0.0.1:8788 or 0.0.0.0:8788", v)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "", fmt.Errorf("%q must end with a port from 0 to 65535", v)
	} else {
		return net.JoinHostPort(host, strconv.FormatUint(n, 10)), nil
	}
}

func parsePrefixes(v string) ([]netip.Prefix, error) {
	var list []netip.Prefix
	for item := range strings.SplitSeq(v, ",") {
		item = strings.TrimSpace(item)
		if item == "" {
			continue
		}
		if p, err := netip.ParsePrefix(item); err == nil {
			list = append(list, p.Masked())
			continue
		}
		a, err := netip.ParseAddr(item)
		if err != nil {
			return nil, fmt.Errorf("%q must be an address or a network, such as 10.0.0.5 or 10.0.0.0/8", item)
		}
		list = append(list, netip.PrefixFrom(a, a.BitLen()))
	}
	return list, nil
}

func parseAdminKey(v string) (string, error) {
	if v == "" {
		return "", nil
	}
	if len(v) < account.MinAdminKey {
		return "", fmt.Errorf("has %d characters but needs at least %d; create one with: openssl rand -base64 32",
			len(v), account.MinAdminKey)
	}
	for i := range len(v) {
		// Other characters cannot be in an Authorization header, so such a key could never match.
		if v[i] <= ' ' || v[i] > '~' {
			return "", errors.New("may contain only visible ASCII characters, without spaces")
		}
	}
	return v, nil
}

// parseOwnerEmail and parseOwnerPassword find simple mistakes before the server creates the data directory. The
// engine checks the rest.
func parseOwnerEmail(v string) (string, error) {
	if before, after, _ := strings.Cut(v, "@"); v != "" && (before == "" || after == "") {
		return "", fmt.Errorf("%q must be an email address, such as jo@example.org", v)
	}
	return v, nil
}

func parseOwnerPassword(v string) (string, error) {
	if n := utf8.RuneCountInString(v); v != "" && n < account.MinPassword {
		return "", fmt.Errorf("has %d characters but needs at least %d; several words in a row are easy to remember", n,
			account.MinPassword)
	}
	return v, nil
}

func parsePositive(v string) (time.Duration, error) {
	d, err := parseDuration(v)
	if err == nil && d <= 0 {
		err = fmt.Errorf("%q must be greater than 0", v)
	}
	return d, err
}

func parseCount(v string) (int, error) {
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > 1000 {
		return 0, fmt.Errorf("%q must be a number from 1 to 1000", v)
	}
	return n, nil
}

func parseMailFrom(v string) (string, error) {
	if v == "" {
		return "", nil
	}
	if _, err := mail.ParseAddress(v); err != nil {
		return "", fmt.Errorf("%q must be an address, such as post@example.org or "+
			"\"Harbour Clinic <post@example.org>\"", v)
	}
	return v, nil
}

func parseDuration(v string) (time.Duration, error) {
	d, err := time.ParseDuration(v)
	if err == nil && d < 0 {
		return 0, fmt.Errorf("%q must not be negative; set a duration with a unit, such as 300s or 5m", v)
	}
	if err != nil {
		return 0, fmt.Errorf("%q must be a duration with a unit, such as 300s or 5m", v)
	}
	return d, nil
}
