package cli

import (
	"cmp"
	"database/sql"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/store"
)

var mostAppointments = flag.Int("appointments", 10_000, "how many appointments BenchmarkCurveOfAppointments goes up to, by tens and at last five millions")

// BenchmarkCurveOfAppointments measures a clinic of twenty specialists with more and more past appointments. The number
// of future appointments stays at 5,000. The times for one caller, for 32 callers, for the desk and for backups should
// depend on future appointments, not on past ones.
func BenchmarkCurveOfAppointments(b *testing.B) {
	for _, n := range []int{10_000, 100_000, 1_000_000, 5_000_000} {
		if n > max(*mostAppointments, 10_000) {
			break
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			dir := dirWith(b, 0, 5000)
			growOld(b, filepath.Join(dir, databaseFile), n-5000)
			for b.Loop() {
				oldClinic(b, dir, n)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// growOld adds past appointments of 15 minutes for twenty specialists, with four appointments per patient, in one
// statement: booking five million would take too long. The triggers that check each row are disabled during the insert,
// so verify checks the rows after each point of the curve.
func growOld(b *testing.B, path string, over int) {
	b.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	run := func(text string, args ...any) {
		b.Helper()
		if _, err := db.ExecContext(b.Context(), text, args...); err != nil {
			b.Fatal(err)
		}
	}
	list := func(text string) (all []string) {
		b.Helper()
		rows, err := db.QueryContext(b.Context(), text)
		if err != nil {
			b.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			all = append(all, "")
			if err := rows.Scan(&all[len(all)-1]); err != nil {
				b.Fatal(err)
			}
		}
		if err := rows.Err(); err != nil {
			b.Fatal(err)
		}
		return all
	}
	said := map[string]string{
		"id": "printf('01900000-0000-7000-9000-%012x', c.n)", "client_id": "printf('f%031x', c.n)", "specialist_id": "printf('s%02d', c.n % 20)",
		"slot_start": "?1 + c.n / 20 * 900000", "slot_end": "?1 + c.n / 20 * 900000 + 900000",
		"patient_name": "name", "patient_email": "email", "patient_phone": "phone",
		"patient_birth_date": "birth_date", "patient_search": "lower(name) || char(10) || email || char(10) || replace(phone, ' ', '')",
	}
	said["busy_start"], said["busy_end"] = said["slot_start"], said["slot_end"]
	columns := list("SELECT name FROM pragma_table_info('appointments')")
	values := make([]string, len(columns))
	for i, column := range columns {
		values[i] = cmp.Or(said[column], "a."+column)
	}
	run("PRAGMA synchronous = OFF")
	run("PRAGMA cache_size = -200000")
	run("BEGIN")
	triggers := list("SELECT sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'appointments' ORDER BY rowid")
	for _, name := range list("SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'appointments'") {
		run("DROP TRIGGER " + name)
	}
	run(`CREATE TEMP TABLE patients (n INTEGER PRIMARY KEY, name, email, phone, birth_date)`)
	for n := range over/4 + 1 {
		p := patientNumber(n)
		run("INSERT INTO patients VALUES (?, ?, ?, ?, ?)", n, p.Name, p.Email, p.Phone, bornOn(n))
	}
	first := time.Now().UTC().Truncate(time.Hour).Add(-time.Duration((over+19)/20) * 15 * time.Minute)
	run(`WITH RECURSIVE c(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM c WHERE n + 1 < ?2)
		INSERT INTO appointments (`+strings.Join(columns, ", ")+`) SELECT `+strings.Join(values, ", ")+`
		FROM c CROSS JOIN patients ON patients.n = c.n / 4 CROSS JOIN (SELECT * FROM appointments LIMIT 1) AS a`, first.UnixMilli(), over)
	for _, text := range triggers {
		run(text)
	}
	run("COMMIT")
	run("PRAGMA wal_checkpoint(TRUNCATE)")
}

// bornOn returns the date of birth of patient n. About 1 in 25,000 patients has the same date.
func bornOn(n int) string {
	return time.Date(1940, time.January, 1+n%25_000, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
}

func oldClinic(b *testing.B, dir string, n int) {
	report := func(unit string, began time.Time) {
		b.ReportMetric(float64(time.Since(began).Microseconds())/1000, unit)
	}
	var starts []time.Duration
	for range 3 {
		starts = append(starts, startOnce(b, dir))
	}
	slices.Sort(starts)
	b.ReportMetric(float64(starts[1].Microseconds())/1000, "start-ms")
	b.ReportMetric(float64(sizeOf(b, filepath.Join(dir, databaseFile)))/float64(n), "B/appointment")

	m := &mixedLoad{b: b, dir: dir, client: &http.Client{Timeout: 2 * time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	stop := m.serve()
	b.ReportMetric(m.resident(), "started-MB")
	var booked atomic.Int64
	book := func() time.Duration {
		n := int(booked.Add(1))
		at := m.first.AddDate(0, 0, 3).Add(time.Duration(n/20) * 15 * time.Minute)
		began := time.Now()
		m.must("POST", "/v1/appointment-types/checkup/book", "", map[string]any{
			"clientId": fmt.Sprintf("visitor-secret-%016d", n), "slotStartDate": at, "specialistId": fmt.Sprintf("s%02d", n%20),
			"patient": map[string]any{"name": "Rosa Winter", "email": "rosa@example.org", "phone": "030 1234567"},
		})
		return time.Since(began)
	}
	book()
	b.ReportMetric(median(300, book), "book-1-ms")
	var all sync.WaitGroup
	took := make([]float64, 32)
	began := time.Now()
	for i := range took {
		all.Go(func() { took[i] = median(60, book) })
	}
	all.Wait()
	slices.Sort(took)
	b.ReportMetric(took[16], "book-32-ms")
	b.ReportMetric(32*60/time.Since(began).Seconds(), "book-32/s")

	day := store.DateOf(m.first).AddDays(-1)
	past := store.DateOf(m.first).AddDays(-2 - n/20/96/2)
	ask := func(method, path string, body any) func() time.Duration {
		return func() time.Duration {
			began := time.Now()
			if status, _ := m.send(method, path, longEnough, body); status != http.StatusOK {
				b.Logf("%s was answered %d after %s", path, status, time.Since(began))
			}
			return time.Since(began)
		}
	}
	get := func(path string) func() time.Duration { return ask("GET", path, nil) }
	b.ReportMetric(median(9, get(fmt.Sprintf("/v1/appointments?from=%s&to=%s&limit=500", day, day.AddDays(1)))), "day-ms")
	b.ReportMetric(median(9, get(fmt.Sprintf("/v1/appointments?from=%s&to=%s&limit=500", past, past.AddDays(1)))), "old-day-ms")
	b.ReportMetric(median(3, get("/v1/booked-online?since="+time.Now().Add(-time.Hour).UTC().Format(time.RFC3339))), "online-ms")
	b.ReportMetric(median(3, get("/v1/audit?limit=50")), "audit-ms")
	b.ReportMetric(median(3, get("/metrics")), "metrics-ms")
	search := func(path, q string) func() time.Duration { return ask("POST", path, map[string]any{"q": q}) }
	b.ReportMetric(median(3, search("/v1/people/search", "grosmann")), "people-ms")
	b.ReportMetric(median(3, search("/v1/appointments/search", "p7@example.org")), "search-ms")
	b.ReportMetric(median(3, get("/v1/appointments/01900000-0000-7000-8000-000000000007/history")), "person-ms")
	b.ReportMetric(m.resident(), "used-MB")
	began = time.Now()
	stop()
	report("stop-ms", began)

	to := filepath.Join(b.TempDir(), "backup")
	began = time.Now()
	runHere(b, "backup", "--data", dir, "--to", to)
	report("backup-ms", began)
	began = time.Now()
	runHere(b, "verify", to)
	report("verify-ms", began)
	if err := os.RemoveAll(to); err != nil {
		b.Fatal(err)
	}
}

// median calls once the given number of times, and returns the median duration in milliseconds.
func median(times int, once func() time.Duration) float64 {
	took := make([]time.Duration, times)
	for i := range took {
		took[i] = once()
	}
	slices.Sort(took)
	return float64(took[times/2].Microseconds()) / 1000
}

// serve starts a server on the directory, and returns a function that stops it. stop may be called twice.
func (m *mixedLoad) serve(flags ...string) (stop func()) {
	m.b.Helper()
	address := freeAddress(m.b)
	m.url, m.first = "http://"+address, time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 2)
	m.server = exec.Command(os.Args[0], append([]string{"serve", "--data", m.dir, "--listen", address, "--admin-key", longEnough, "--rate-limit", "off"}, flags...)...)
	m.server.Env = append(os.Environ(), asMain+"=1")
	if err := m.server.Start(); err != nil {
		m.b.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		_ = m.server.Process.Signal(os.Interrupt)
		_ = m.server.Wait()
	})
	m.b.Cleanup(stop)
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if answer, err := m.client.Get(m.url + "/readyz"); err == nil {
			answer.Body.Close()
			return stop
		} else if time.Since(began) > time.Minute {
			m.b.Fatal(err)
		}
	}
}

// resident returns the memory of the server in MB, or zero on systems without /proc.
func (m *mixedLoad) resident() float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", m.server.Process.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "RssAnon:")
	kb, _ := strconv.Atoi(strings.Fields(rest + " 0")[0])
	return float64(kb) / 1000
}
