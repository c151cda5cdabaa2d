package postgrestest

import (
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Appointments writes appointments into a database that does not have the tables of the store. It writes only the
// columns that the live state reads.
type Appointments struct {
	server   *Server
	database string

	mu   sync.Mutex
	last int64 // the number of the last change
}

// Appointment is one row: a confirmed appointment without buffers.
type Appointment struct {
	ID, Specialist string
	Start, End     time.Time
}

// Appointments creates the tables in the database with this URL.
func (s *Server) Appointments(databaseURL string) (*Appointments, error) {
	u, err := url.Parse(databaseURL)
	if err != nil {
		return nil, err
	}
	a := &Appointments{server: s, database: strings.TrimPrefix(u.Path, "/")}
	_, err = s.SQL(a.database, `
		CREATE TABLE specialists (id text PRIMARY KEY, reach_before_ms bigint NOT NULL, reach_after_ms bigint NOT NULL);
		CREATE TABLE appointments (id text PRIMARY KEY, specialist_id text NOT NULL, appointment_type_id text NOT NULL DEFAULT 'checkup',
			seat bigint NOT NULL DEFAULT 0, overbook boolean NOT NULL DEFAULT false, status text NOT NULL DEFAULT 'confirmed',
			slot_start bigint NOT NULL, slot_end bigint NOT NULL, busy_start bigint NOT NULL, busy_end bigint NOT NULL)`)
	return a, err
}

// Change commits one change: freed is cancelled or moved, and taken is booked. Either can be zero. Several nodes may
// call Change for the same change, and only the first call commits it.
func (a *Appointments) Change(number int64, freed, taken Appointment) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if number <= a.last {
		return nil
	}
	a.last = number
	statement := fmt.Sprintf(`DELETE FROM appointments WHERE id IN ('%s', '%s');`, freed.ID, taken.ID)
	if taken.ID != "" {
		statement += fmt.Sprintf(`INSERT INTO specialists VALUES ('%s', 86400000, 86400000) ON CONFLICT DO NOTHING;
			INSERT INTO appointments (id, specialist_id, slot_start, slot_end, busy_start, busy_end)
			VALUES ('%s', '%[1]s', %[3]d, %[4]d, %[3]d, %[4]d);`, taken.Specialist, taken.ID, taken.Start.UnixMilli(), taken.End.UnixMilli())
	}
	_, err := a.server.SQL(a.database, statement)
	return err
}
