package cli

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

// The server warns if patients' data can cross the network without TLS, and names the host but no password.
func TestDatabaseWithoutTLSIsWarnedAbout(t *testing.T) {
	for url, host := range map[string]string{
		"postgres://jo:canary@db.example.org/clinic":                                    "db.example.org",
		"postgres://jo:canary@db.example.org/clinic?sslmode=disable":                    "db.example.org",
		"postgres://jo:canary@db.example.org/clinic?sslmode=allow":                      "db.example.org",
		"postgres://jo:canary@192.0.2.7:5433/clinic?sslmode=prefer":                     "192.0.2.7",
		"postgres://jo:canary@127.0.0.1:5432,db.example.org:5432/clinic?sslmode=prefer": "db.example.org",
		"postgres://jo:canary@db.example.org/clinic?sslmode=require":                    "",
		"postgres://jo:canary@db.example.org/clinic?sslmode=verify-full":                "",
		"postgres://jo:canary@localhost/clinic":                                         "",
		"postgres://jo:canary@127.0.0.1/clinic?sslmode=disable":                         "",
		"postgres://jo:canary@[::1]/clinic":                                             "",
		"postgres:///clinic?host=/run/postgresql":                                       "",
	} {
		var log bytes.Buffer
		h := &house{log: slog.New(slog.NewTextHandler(&log, nil))}
		h.warnWithoutTLS(url)
		if got := log.String(); (got != "") != (host != "") || !strings.Contains(got, host) ||
			strings.Contains(got, "canary") {
			t.Errorf("%s: got %q, want the host %q", url, got, host)
		}
	}
}
