package cli

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/engine/person"
	"holdfast/store"
	"holdfast/store/postgres"
	"holdfast/store/sqlite"
)

// BenchmarkPeople fills and searches the index of people of a clinic with many past appointments (growOld), with SQLite
// and with PostgreSQL. Each person has had four appointments, and one in seven has the name of the first search.
func BenchmarkPeople(b *testing.B) {
	for _, n := range []int{10_000, 100_000, 1_000_000, 5_000_000} {
		if n > max(*mostAppointments, 10_000) {
			break
		}
		b.Run(fmt.Sprintf("sqlite/%d", n), func(b *testing.B) {
			dir := dirWith(b, 0, 5000)
			growOld(b, filepath.Join(dir, databaseFile), n-5000)
			db, err := sqlite.Open(b.Context(), sqlite.Options{Path: filepath.Join(dir, databaseFile)})
			if err != nil {
				b.Fatal(err)
			}
			defer db.Close()
			before := sizeOf(b, filepath.Join(dir, databaseFile))
			findOldPeople(b, db, n, true, func() {})
			b.ReportMetric(float64(sizeOf(b, filepath.Join(dir, databaseFile))-before)/float64(n), "B/appointment")
		})
		b.Run(fmt.Sprintf("postgres/%d", n), func(b *testing.B) {
			server := postgresServer(b)
			url := server.Create(b)
			db, err := postgres.Open(b.Context(), postgres.Options{URL: url})
			if err != nil {
				b.Fatal(err)
			}
			defer db.Close()
			fill(b, db, 0, 5000)
			run := func(statement string) {
				name := url[strings.LastIndex(url, "/")+1:]
				name, _, _ = strings.Cut(name, "?")
				if said, err := server.SQL(name, statement); err != nil {
					b.Error(err, said)
				}
			}
			growOldPostgres(b, run, n-5000)
			// The time of a statement is limited. The test server has no autovacuum, but without statistics, PostgreSQL
			// keeps the plans that it made when the index was empty.
			findOldPeople(b, db, n, n <= 100_000, func() { run("ANALYZE") })
		})
	}
}

// growOldPostgres is like growOld, without the triggers and foreign keys of the appointments.
func growOldPostgres(b *testing.B, run func(statement string), over int) {
	b.Helper()
	first := time.Now().UTC().Truncate(time.Hour).Add(-time.Duration((over+19)/20) * 15 * time.Minute)
	start := fmt.Sprintf("(%d + n / 20 * 900000)", first.UnixMilli())
	run(fmt.Sprintf(`SET session_replication_role = replica;
		INSERT INTO appointments (id, appointment_type_id, specialist_id, client_id, seat, overbook, overbook_reason, status, attendance,
			slot_start, slot_end, busy_start, busy_end, patient_name, patient_email, patient_phone, patient_birth_date, notes,
			patient_search, source, upstream_state, upstream_id, upstream_patient_id, manage_epoch, created_at, updated_at, cancel_reason, version)
		SELECT '01900000-0000-7000-9000-' || lpad(to_hex(n), 12, '0'), 'checkup', 's' || lpad((n %% 20)::text, 2, '0'), 'f' || lpad(to_hex(n), 31, '0'),
			0, false, '', 'confirmed', 'expected', %[1]s, %[1]s + 900000, %[1]s, %[1]s + 900000, name, email, phone, birth_date, '',
			lower(name) || E'\n' || email || E'\n' || replace(phone, ' ', ''), 'web', 'none', '', '', 0, %[1]s, %[1]s, '', 1
		FROM (SELECT n::bigint, (ARRAY['Rosa','Jürgen','María','Per','Zoë','Anna','Tom','Ida'])[p %% 8 + 1] || ' ' ||
				(ARRAY['Winter','Großmann','Lindqvist','Haddad','Brandt','Sand','Okafor'])[p %% 7 + 1] || chr(97 + p / 8 %% 26) || chr(97 + p / 208 %% 26) AS name,
				'p' || p || '@example.org' AS email, '030 ' || lpad(p::text, 7, '0') AS phone,
				(DATE '1940-01-01' + p %% 25000)::text AS birth_date
			FROM (SELECT n, n / 4 AS p FROM generate_series(0, %[2]d) AS n) AS numbered) AS named;
		ANALYZE appointments;`, start, over-1))
}

// findOldPeople indexes the people, and reports how long each search takes with the index. If scan is set, it also
// reports how long a search takes without it. While it fills the index and at the end, it calls analyze as an
// autovacuum would.
func findOldPeople(b *testing.B, db store.Store, n int, scan bool, analyze func()) {
	b.Helper()
	people := person.New(person.Options{Store: db})
	if scan {
		b.ReportMetric(median(3, search(b, people, "grosmann")), "scan-ms")
	}
	began := time.Now()
	done := make(chan struct{})
	var analyzing sync.WaitGroup
	analyzing.Go(func() {
		for ticks := time.Tick(10 * time.Second); ; {
			select {
			case <-ticks:
				analyze()
			case <-done:
				return
			}
		}
	})
	err := people.Index(b.Context(), 1)
	close(done)
	analyzing.Wait()
	if err != nil {
		b.Fatal(err)
	}
	indexed := time.Since(began)
	analyze()
	b.ReportMetric(indexed.Seconds(), "index-s")
	who := fmt.Sprint(n / 8)
	for _, x := range []struct{ unit, query string }{
		{"mistyped-ms", "grosmann"}, {"mistyped-pair-ms", "jurgen grosmannab"}, {"first-and-last-ms", "lena winter"}, {"email-ms", "p" + who + "@example.org"},
		{"phone-end-ms", who[max(0, len(who)-5):]}, {"phone-3-ms", "777"}, {"birth-ms", bornOn(n / 8)}, {"unknown-ms", "xyzzy"}, {"short-ms", "wi"},
	} {
		b.ReportMetric(median(5, search(b, people, x.query)), x.unit)
	}
	all, _, err := db.Appointments(b.Context(), store.AppointmentFilter{Limit: 1})
	if err != nil || len(all) == 0 {
		b.Fatal(all, err)
	}
	b.ReportMetric(median(5, func() time.Duration {
		began := time.Now()
		if h, err := people.History(b.Context(), all[0].ID, person.Viewer{}); err != nil || len(h.Past) == 0 {
			b.Fatal(h, err)
		}
		return time.Since(began)
	}), "card-ms")
	b.ReportMetric(0, "ns/op")
}

func search(b *testing.B, people *person.People, query string) func() time.Duration {
	return func() time.Duration {
		began := time.Now()
		if _, err := people.Find(b.Context(), query, "", 12); err != nil {
			b.Fatal(err)
		}
		return time.Since(began)
	}
}
