package postgres

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"holdfast/store"
)

// Backup implements store.Store. The copy is a psql script with one snapshot of the database. To restore it into an
// empty database, run psql -v ON_ERROR_STOP=1 -1 -f copy postgres://…
func (s *Store) Backup(ctx context.Context, path string) error {
	if err := s.reads.pool.open(ctx); err != nil {
		return err
	}
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%w: %s", store.ErrDuplicate, path)
	}
	partial := path + ".partial"
	if err := os.Remove(partial); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	f, err := os.OpenFile(partial, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	defer os.Remove(partial)
	w := bufio.NewWriter(f)
	err = s.server.with(ctx, func(ctx context.Context, c *conn) error { return dump(ctx, c, w) })
	if err = errors.Join(translate(err), w.Flush(), f.Sync(), f.Close()); err != nil {
		return err
	}
	// A link, unlike a rename, never replaces a file that another program has put there since.
	if err := os.Link(partial, path); errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: %s", store.ErrDuplicate, path)
	} else if err != nil {
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	if runtime.GOOS == "windows" { // Windows has no call to sync a directory and needs none
		return nil
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// tables lists all tables except those that are rebuilt: the queue from the outbox, appointment_resources by triggers,
// and the index of people by the server. Each table comes after those that it references.
var tables = []string{
	"schema_versions", "meta", "clinic", "specialists", "appointment_types", "assignments", "weekly_hours", "overrides",
	"override_windows", "blocks", "closures", "busy_calendars", "specialist_pictures", "appointments", "undo_states",
	"idempotency_records", "outbox", "audit_entries", "audit_erasures", "audit_head", "deliveries", "nonce_uses",
	"agent_sessions", "person_notes", "person_links", "booking_requests", "waitlist_entries", "waitlist_offers",
	"tallies", "api_keys", "users", "sign_ins", "setup_token", "sessions", "presence", "presence_log", "changes",
}

// counters lists the columns whose values the database generates, as table.column.
var counters = []string{
	"appointments.row_number", "idempotency_records.row_number", "audit_entries.row_number", "presence_log.seq",
	"changes.number",
}

func dump(ctx context.Context, c *conn, w io.Writer) error {
	known, err := store.ReadMigrations(migrations)
	if err != nil {
		return err
	}
	if err := c.script(ctx, `SET statement_timeout = 0; BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`); err != nil {
		return err
	}
	applied, err := oneOn(ctx, c, (*row).Int, `SELECT count(*) FROM schema_versions`)
	if err == nil && applied > len(known) {
		err = fmt.Errorf("%w: a newer program has changed the schema, so a node of that program must make the backup",
			store.ErrUnavailable)
	}
	if err != nil {
		return err
	}
	head := "-- Holdfast: one moment of its database, for an empty one.\nSET client_encoding = 'UTF8';\n"
	head += versionsTable + ";\n"
	for _, m := range known {
		head += m.Text
	}
	if _, err := io.WriteString(w, head+"DELETE FROM meta;\nDELETE FROM audit_head;\n"); err != nil {
		return err
	}
	for _, table := range tables {
		columns, err := oneOn(ctx, c, (*row).Text, `
			SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute
			WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped`, table)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "COPY %s (%s) FROM stdin;\n", table, columns); err != nil {
			return err
		}
		if _, err := c.pg.CopyTo(ctx, w, fmt.Sprintf("COPY %s (%s) TO STDOUT", table, columns)); err != nil {
			return err
		}
		if _, err := io.WriteString(w, "\\.\n"); err != nil {
			return err
		}
	}
	for _, counter := range counters {
		table, column, _ := strings.Cut(counter, ".")
		_, err := fmt.Fprintf(w,
			"SELECT setval(pg_get_serial_sequence('%s', '%s'), COALESCE((SELECT max(%s) FROM %s), 0) + 1, false);\n",
			table, column, column, table)
		if err != nil {
			return err
		}
	}
	return nil
}
