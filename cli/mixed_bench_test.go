package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
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

	"holdfast/engine/clinic"
	"holdfast/engine/notice/noticetest"
	"holdfast/store"
)

// BenchmarkMixedLoad simulates a busy clinic of 100 specialists: visitors book and cancel, pages list a week of all
// specialists, agents find, hold and book for callers, every change sends an email and a webhook, and streams are open.
// It reports the maximum memory and disk space of the server, which should not depend on the length of the run. A run
// takes ten seconds, or ten minutes with HOLDFAST_BENCH_FULL. HOLDFAST_SOAK=24h runs it for that time, and logs every
// minute how much memory and disk space the server uses.
func BenchmarkMixedLoad(b *testing.B) {
	length := 10 * time.Second
	if os.Getenv("HOLDFAST_BENCH_FULL") != "" {
		length = 10 * time.Minute
	}
	m := newMixedLoad(b)
	if text := os.Getenv("HOLDFAST_SOAK"); text != "" {
		var err error
		if length, err = time.ParseDuration(text); err != nil {
			b.Fatalf("HOLDFAST_SOAK: %v", err)
		}
		m.logEvery = time.Minute
	}
	for b.Loop() {
		m.run(length)
	}
	for name, value := range m.most {
		b.ReportMetric(value, name)
	}
	b.ReportMetric(float64(m.booked.Load())/b.Elapsed().Seconds(), "bookings/s")
	b.ReportMetric(float64(m.booked.Load()), "bookings")
	b.ReportMetric(0, "ns/op")
}

type mixedLoad struct {
	b        *testing.B
	dir, url string
	agentKey string
	client   *http.Client
	server   *exec.Cmd
	first    time.Time // the first day of the bookings
	booked   atomic.Int64
	visitor  atomic.Int64
	most     map[string]float64
	logEvery time.Duration // 0: never
	logged   time.Time
}

const mixedSpecialists = 100

func newMixedLoad(b *testing.B) *mixedLoad {
	b.Helper()
	hooks := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
	}))
	b.Cleanup(hooks.Close)
	mail := noticetest.MailServer(b, func(string) string { return "250 ok" })
	m := &mixedLoad{
		b: b, dir: filepath.Join(b.TempDir(), "data"), most: make(map[string]float64),
		client: &http.Client{Timeout: 20 * time.Second},
	}
	m.serve("--smtp-url", "smtp://"+mail, "--mail-from", "post@clinic.example", "--webhook-allow-private")
	f := clinic.File{Clinic: &clinic.FileClinic{Name: "Harbour Clinic", Timezone: "UTC"}}
	t := clinic.AppointmentTypeEntry{ID: "checkup", Name: "Check-up", DurationMinutes: 15, HorizonDays: 90, Capacity: 1,
		HoldTTLSeconds: 30, MaxHoldSeconds: 900, HoldQuota: 3, Active: true}
	for i := range mixedSpecialists {
		p := clinic.SpecialistEntry{ID: fmt.Sprintf("s%02d", i), Name: "Dr", Active: true}
		for day := range store.Weekday(7) {
			p.WeeklyHours = append(p.WeeklyHours, clinic.HoursEntry{Weekday: day, Start: 9 * 60, End: 17 * 60})
		}
		f.Specialists = append(f.Specialists, p)
		t.Specialists = append(t.Specialists, clinic.AssignmentEntry{SpecialistID: p.ID})
	}
	f.AppointmentTypes = []clinic.AppointmentTypeEntry{t}
	m.must("POST", "/v1/import", longEnough, f)
	m.must("PUT", "/v1/settings", longEnough, map[string]any{"webhooks": []map[string]any{{"url": hooks.URL}}})
	m.agentKey, _ = m.must("POST", "/v1/api-keys", longEnough,
		map[string]any{"name": "agent", "scope": "agent"})["key"].(string)
	return m
}

// run runs all clients for the given time, and records the server's maximum usage every second.
func (m *mixedLoad) run(length time.Duration) {
	var all sync.WaitGroup
	until := time.Now().Add(length)
	often := func(every time.Duration, do func()) {
		all.Go(func() {
			for next := time.Now(); next.Before(until); next = next.Add(every) {
				time.Sleep(time.Until(next))
				do()
			}
		})
	}
	for range 2 {
		often(100*time.Millisecond, m.visit)
		often(100*time.Millisecond, m.list)
	}
	often(500*time.Millisecond, m.call)
	often(time.Second, m.look)
	all.Wait()
	m.look()
}

// visit simulates a visitor who books. Every second visitor cancels the booking.
func (m *mixedLoad) visit() {
	n := m.visitor.Add(1)
	at := m.first.AddDate(0, 0, rand.IntN(60)).Add(9*time.Hour + time.Duration(rand.IntN(32))*15*time.Minute)
	status, answer := m.send("POST", "/v1/appointment-types/checkup/book", "", map[string]any{
		"clientId": fmt.Sprintf("visitor-secret-%016d", n), "slotStartDate": at,
		"specialistId": fmt.Sprintf("s%02d", rand.IntN(mixedSpecialists)),
		"patient":      map[string]any{"name": "Rosa Winter", "email": "rosa@example.org", "phone": "030 1234567"},
	})
	if status != http.StatusCreated {
		return // the time is taken
	}
	m.booked.Add(1)
	if a, _ := answer["appointment"].(map[string]any); n%2 == 0 {
		m.must("POST", fmt.Sprint("/v1/appointments/", a["id"], "/cancel"), longEnough, map[string]any{})
	}
}

// list simulates a page that shows a week of all specialists.
func (m *mixedLoad) list() {
	from := store.DateOf(m.first).AddDays(rand.IntN(54))
	m.must("GET", "/v1/appointment-types/checkup/timeslots?from="+from.String()+"&to="+from.AddDays(6).String(), "",
		nil)
}

// call simulates a caller for whom an agent finds, holds and books a time.
func (m *mixedLoad) call() {
	n := m.visitor.Add(1)
	patient := m.must("POST", "/v1/agent/patients", m.agentKey, map[string]any{
		"firstName": "Rosa", "lastName": "Winter" + strconv.FormatInt(n, 36), "birthDate": "1990-01-02",
		"phone": fmt.Sprintf("030 %07d", n), "sessionId": strconv.FormatInt(n, 10),
	})
	day := store.DateOf(m.first).AddDays(rand.IntN(60))
	slots, _ := m.must("POST", "/v1/agent/slots", m.agentKey,
		map[string]any{"appointmentTypeId": "checkup", "from": day.String(), "days": 3, "count": 3})["slots"].([]any)
	if len(slots) == 0 {
		return
	}
	slot, _ := slots[rand.IntN(len(slots))].(map[string]any)
	status, _ := m.send("POST", "/v1/agent/appointments", m.agentKey, map[string]any{
		"patientGUID": patient["patientGUID"], "bookingAuthToken": patient["bookingAuthToken"],
		"bookingToken": slot["bookingToken"],
	})
	if status == http.StatusCreated || status == http.StatusOK {
		m.booked.Add(1)
	}
}

// look records the server's current usage.
func (m *mixedLoad) look() {
	usage := make(map[string]float64)
	note := func(name string, value float64) {
		usage[name], m.most[name] = value, max(m.most[name], value)
	}
	answer, err := m.client.Get(m.url + "/metrics")
	if err != nil {
		m.b.Error(err)
		return
	}
	defer answer.Body.Close()
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		name, text, _ := strings.Cut(lines.Text(), " ")
		value, _ := strconv.ParseFloat(text, 64)
		switch name {
		case "holdfast_heap_bytes":
			note("heap-MB", value/1e6)
		case "process_resident_memory_bytes":
			note("resident-MB", value/1e6)
		case "go_goroutines":
			note("goroutines", value)
		}
	}
	for file, name := range map[string]string{queueFile: "queue-MB", databaseFile + "-wal": "wal-MB",
		databaseFile: "db-MB"} {
		if info, err := os.Stat(filepath.Join(m.dir, file)); err == nil {
			note(name, float64(info.Size())/1e6)
		}
	}
	if m.logEvery > 0 && time.Since(m.logged) >= m.logEvery {
		m.logged = time.Now()
		text := fmt.Sprintf("%d bookings", m.booked.Load())
		for _, name := range slices.Sorted(maps.Keys(usage)) {
			text += fmt.Sprintf(", %.1f %s", usage[name], name)
		}
		m.b.Log(text)
	}
}

func (m *mixedLoad) must(method, path, key string, body any) map[string]any {
	status, answer := m.send(method, path, key, body)
	if status < 200 || status > 299 {
		m.b.Errorf("%s %s: got %d %.200v", method, path, status, answer)
	}
	return answer
}

func (m *mixedLoad) send(method, path, key string, body any) (int, map[string]any) {
	raw, err := json.Marshal(body)
	if err != nil {
		m.b.Error(err)
		return 0, nil
	}
	r, err := http.NewRequest(method, m.url+path, bytes.NewReader(raw))
	if err != nil {
		m.b.Error(err)
		return 0, nil
	}
	r.Header.Set("Content-Type", "application/json")
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	answer, err := m.client.Do(r)
	if err != nil {
		m.b.Error(err)
		return 0, nil
	}
	defer answer.Body.Close()
	var decoded map[string]any
	_ = json.NewDecoder(answer.Body).Decode(&decoded)
	return answer.StatusCode, decoded
}
