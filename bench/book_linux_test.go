package bench

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"holdfast/cli/clitest"
	"holdfast/engine/clinic"
	"holdfast/engine/notice/noticetest"
	"holdfast/engine/record"
	"holdfast/store"
)

// BenchmarkBook compares the processor time that Holdfast uses for a booking with that of a minimal server. The minimal
// server uses the same HTTP package, the same SQLite driver, the same durability and a group commit, but it only writes
// one row for each booking. The servers are separate processes that take turns. In each turn, the same client books
// over 32 connections. With emails, a turn ends when the mail server has received every confirmation and the queue is
// empty. The mail server is part of the client. HOLDFAST_BENCH_BEFORE can name an earlier build of the program, which
// then also takes turns.
//
//	go test ./bench -run '^$' -bench 'BenchmarkBook$' -benchtime 1x
func BenchmarkBook(b *testing.B) {
	for _, email := range []bool{false, true} {
		b.Run(fmt.Sprintf("email=%t", email), func(b *testing.B) {
			const turns, each = 5, 4000
			servers := []*bookServer{startMinimal(b), startHoldfast(b, clitest.Program(b), email)}
			names := []string{"minimal", "server", "before"}
			if before := os.Getenv("HOLDFAST_BENCH_BEFORE"); before != "" {
				servers = append(servers, startHoldfast(b, before, email))
			}
			n := 0
			for b.Loop() {
				for turn := range turns + 1 { // the first turn fills caches and files
					for _, s := range servers {
						server, client := s.used(b), ownTime(b)
						s.book(b, 32, n, each)
						if turn > 0 {
							s.server += s.used(b) - server
							s.all += s.used(b) - server + ownTime(b) - client
						}
					}
					n += each
				}
			}
			for i, s := range servers {
				b.ReportMetric(float64(s.server.Microseconds())/float64(b.N*turns*each), names[i]+"-µs/booking")
				if i > 0 {
					b.ReportMetric(s.server.Seconds()/servers[0].server.Seconds(), names[i]+"/minimal")
					b.ReportMetric(s.all.Seconds()/servers[0].all.Seconds(), names[i]+"/minimal-with-client")
				}
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// bookServer is a server in a separate process.
type bookServer struct {
	url     string
	process *os.Process
	client  *http.Client
	path    string    // of the request that books
	status  int       // of the response to it
	key     string    // authorizes the other requests
	first   time.Time // the first start of a booking
	// waits for the work that the server does after its responses; nil if there is none
	settled     func(b *testing.B, booked int)
	booked      int
	patient     string        // the email address of each booking; empty if the server sends and stores no email
	server, all time.Duration // the processor time of the server, and of server and client together
}

const bookKey = "bench-admin-key-of-32-characters!"

// startHoldfast starts the program on an empty directory, with a clinic of 100 specialists whose slots are one minute
// long.
func startHoldfast(b *testing.B, program string, email bool) *bookServer {
	b.Helper()
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(clitest.Port(b)))
	args := []string{"serve", "--data", filepath.Join(b.TempDir(), "data"), "--listen", address, "--admin-key", bookKey,
		"--rate-limit", "off"}
	var accepted atomic.Int64
	if email {
		mail := noticetest.MailServer(b, func(string) string { accepted.Add(1); return "250 ok" })
		args = append(args, "--smtp-url", "smtp://"+mail, "--mail-from", "post@clinic.example")
	}
	s := startBook(b, "http://"+address, exec.Command(program, args...))
	f := clinic.File{Clinic: &clinic.FileClinic{Name: "Harbour Clinic", Timezone: "UTC"}}
	if email {
		f.Clinic.Settings = &clinic.Settings{ReminderHours: clinic.SetupReminderHours}
	}
	t := clinic.AppointmentTypeEntry{ID: "tiny", Name: "Vaccination", DurationMinutes: 1, HorizonDays: 365, Capacity: 1,
		HoldTTLSeconds: 1, MaxHoldSeconds: 900, HoldQuota: 100, Active: true}
	for i := range 100 {
		p := clinic.SpecialistEntry{ID: fmt.Sprintf("s%02d", i), Name: "Dr", Active: true}
		for day := range store.Weekday(7) {
			p.WeeklyHours = append(p.WeeklyHours, clinic.HoursEntry{Weekday: day, Start: 0, End: 24 * 60})
		}
		f.Specialists = append(f.Specialists, p)
		t.Specialists = append(t.Specialists, clinic.AssignmentEntry{SpecialistID: p.ID})
	}
	f.AppointmentTypes = []clinic.AppointmentTypeEntry{t}
	body, err := json.Marshal(f)
	if err != nil {
		b.Fatal(err)
	}
	if status, answer := s.ask(b, "POST", "/v1/import", body); status != http.StatusOK {
		b.Fatalf("import: %d %.300s", status, answer)
	}
	if email {
		s.patient = "rosa@example.org"
		s.settled = func(b *testing.B, booked int) { s.awaitEmails(b, &accepted, booked) }
	}
	return s
}

// awaitEmails waits until the mail server has accepted count emails and the server has recorded their delivery.
func (s *bookServer) awaitEmails(b *testing.B, accepted *atomic.Int64, count int) {
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if accepted.Load() >= int64(count) {
			_, answer := s.ask(b, "GET", "/v1/queue-status?kind=all&limit=1", nil)
			var queue struct{ Pending, Processing int }
			if err := json.Unmarshal(answer, &queue); err == nil && queue.Pending+queue.Processing == 0 {
				return
			}
		}
		if time.Now().After(deadline) {
			b.Fatalf("the mail server accepted %d emails of %d", accepted.Load(), count)
		}
	}
}

func (s *bookServer) ask(b *testing.B, method, path string, body []byte) (status int, answer []byte) {
	b.Helper()
	r, err := http.NewRequest(method, s.url+path, bytes.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.key)
	r.Header.Set("Content-Type", "application/json")
	got, err := s.client.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	defer got.Body.Close()
	answer, err = io.ReadAll(got.Body)
	if err != nil {
		b.Fatal(err)
	}
	return got.StatusCode, answer
}

// startBook starts a server and waits until it responds.
func startBook(b *testing.B, url string, cmd *exec.Cmd) *bookServer {
	b.Helper()
	cmd.Stderr = nil
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	s := &bookServer{url: url, process: cmd.Process,
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 128, DisableCompression: true}},
		path:   "/v1/appointment-types/tiny/book",
		status: http.StatusCreated,
		key:    bookKey,
		first:  time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 2)}
	b.Cleanup(s.client.CloseIdleConnections)
	until(b, url, func(context.Context) error {
		answer, err := s.client.Get(url + "/readyz")
		if err == nil {
			answer.Body.Close()
		}
		return err
	})
	return s
}

// book sends the bookings [first, first+count) over a number of connections, each with its own client, minute and key.
// It returns the time until the last response.
func (s *bookServer) book(b *testing.B, connections, first, count int) time.Duration {
	b.Helper()
	answered := together(connections, count, func(i int) {
		n := first + i
		at := s.first.Add(time.Duration(n/100) * time.Minute)
		body := fmt.Sprintf(`{"patient":{"name":"Rosa Winter","email":"%s","phone":"030 1234567"},`+
			`"slotStartDate":"%s","specialistId":"s%02d","clientId":"client-secret-%016d"}`,
			s.patient, at.Format(time.RFC3339), n%100, n)
		r, err := http.NewRequest("POST", s.url+s.path, strings.NewReader(body))
		if err != nil {
			b.Error(err)
			return
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", "booking-"+strconv.Itoa(n))
		answer, err := s.client.Do(r)
		if err != nil {
			b.Error(err)
			return
		}
		said, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || answer.StatusCode != s.status {
			b.Errorf("booking %d: %d %s %v", n, answer.StatusCode, said, err)
		}
	})
	s.booked += count
	if s.settled != nil {
		s.settled(b, s.booked)
	}
	return answered
}

// used returns the user and system time of the server's process.
func (s *bookServer) used(b *testing.B) time.Duration {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.process.Pid))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), ") ") // the name of the program may contain spaces
	fields := strings.Fields(rest)
	var ticks int
	for _, field := range fields[11:13] { // utime and stime, in hundredths of a second
		n, err := strconv.Atoi(field)
		if err != nil {
			b.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// ownTime returns the user and system time of this process.
func ownTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// minimalAt is the environment variable that makes this test binary act as the minimal server. Its value contains the
// address and the path of the database file.
const minimalAt = "HOLDFAST_BENCH_MINIMAL"

// TestMain runs the minimal server instead of the tests in the process that startMinimal starts.
func TestMain(m *testing.M) {
	if address, file, is := strings.Cut(os.Getenv(minimalAt), " "); is {
		if err := serveMinimal(address, file); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func startMinimal(b *testing.B) *bookServer {
	b.Helper()
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(clitest.Port(b)))
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), minimalAt+"="+address+" "+filepath.Join(b.TempDir(), "minimal.db"))
	return startBook(b, "http://"+address, cmd)
}

// minimalBooking is a booking that is waiting for its commit.
type minimalBooking struct {
	SlotStartDate, SpecialistID, ClientID string
	Patient                               struct{ Name, Email, Phone string }

	id       string
	start    time.Time
	answered chan error
}

// serveMinimal runs the minimal server. It only stores each booking durably, and refuses a second booking for the same
// time.
func serveMinimal(address, file string) error {
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(`CREATE TABLE bookings (id TEXT PRIMARY KEY, type TEXT NOT NULL, specialist TEXT NOT NULL,
		client TEXT NOT NULL, start INTEGER NOT NULL, name TEXT NOT NULL, email TEXT NOT NULL, phone TEXT NOT NULL,
		created INTEGER NOT NULL) WITHOUT ROWID;
		CREATE UNIQUE INDEX no_double_booking ON bookings (specialist, start)`); err != nil {
		return err
	}
	insert, err := db.Prepare(`INSERT INTO bookings VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`)
	if err != nil {
		return err
	}
	waiting := make(chan *minimalBooking, 1024)
	go commitMinimal(db, insert, waiting)
	http.HandleFunc("GET /readyz", func(http.ResponseWriter, *http.Request) {})
	http.HandleFunc("POST /v1/appointment-types/{id}/book", func(w http.ResponseWriter, r *http.Request) {
		m := &minimalBooking{id: record.NewID(), answered: make(chan error, 1)}
		err := json.NewDecoder(r.Body).Decode(m)
		if err == nil {
			m.start, err = time.Parse(time.RFC3339, m.SlotStartDate)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		waiting <- m
		if err := <-m.answered; err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(map[string]any{"id": m.id, "slotStartDate": m.SlotStartDate,
			"specialistId": m.SpecialistID, "patient": m.Patient})
	})
	return http.ListenAndServe(address, nil)
}

// commitMinimal writes all waiting bookings in one transaction.
func commitMinimal(db *sql.DB, insert *sql.Stmt, waiting chan *minimalBooking) {
	for first := range waiting {
		batch := []*minimalBooking{first}
		for len(waiting) > 0 {
			batch = append(batch, <-waiting)
		}
		tx, err := db.Begin()
		outcome := make([]error, len(batch))
		if err == nil {
			add := tx.Stmt(insert)
			for i, m := range batch {
				_, outcome[i] = add.Exec(m.id, "tiny", m.SpecialistID, m.ClientID, m.start.UnixMilli(), m.Patient.Name,
					m.Patient.Email, m.Patient.Phone, time.Now().UnixMilli())
			}
			err = tx.Commit()
		}
		for i, m := range batch {
			if err != nil {
				outcome[i] = err
			}
			m.answered <- outcome[i]
		}
	}
}
