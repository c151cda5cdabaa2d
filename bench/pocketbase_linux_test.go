package bench

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"holdfast/cli/clitest"
)

// BenchmarkPocketBase compares the rate of bookings with the rate at which PocketBase stores plain records with the
// same fields and a unique index on specialist and start. The servers are separate processes that take turns with the
// same client. With emails, Holdfast sends a confirmation for each booking, and PocketBase sends nothing. A rate counts
// the time until the last response, or with "delivered" the time until the last email was sent and recorded.
// HOLDFAST_BENCH_POCKETBASE is the path of PocketBase's program (github.com/pocketbase/pocketbase/examples/base).
//
//	HOLDFAST_BENCH_POCKETBASE=/path/to/base go test ./bench -run '^$' -bench PocketBase -benchtime 1x
func BenchmarkPocketBase(b *testing.B) {
	program := os.Getenv("HOLDFAST_BENCH_POCKETBASE")
	if program == "" {
		b.Skip("SKIPPED: HOLDFAST_BENCH_POCKETBASE does not name a program")
	}
	for _, email := range []bool{false, true} {
		for _, connections := range []int{32, 128} {
			b.Run(fmt.Sprintf("email=%t/connections=%d", email, connections), func(b *testing.B) {
				const turns, each = 5, 4000
				records, bookings := startPocketBase(b, program), startHoldfast(b, clitest.Program(b), email)
				var stored, answered, delivered time.Duration
				n := 0
				for b.Loop() {
					for turn := range turns + 1 { // the first turn fills caches and files
						record := records.book(b, connections, n, each)
						began := time.Now()
						booking := bookings.book(b, connections, n, each)
						if turn > 0 {
							stored, answered, delivered = stored+record, answered+booking, delivered+time.Since(began)
						}
						n += each
					}
				}
				count := float64(b.N * turns * each)
				b.ReportMetric(count/stored.Seconds(), "records/s")
				b.ReportMetric(count/answered.Seconds(), "bookings/s")
				b.ReportMetric(stored.Seconds()/answered.Seconds(), "of-pocketbase")
				if email {
					b.ReportMetric(stored.Seconds()/delivered.Seconds(), "delivered-of-pocketbase")
				}
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// startPocketBase starts PocketBase on an empty directory, with a collection in which everyone may create bookings.
func startPocketBase(b *testing.B, program string) *bookServer {
	b.Helper()
	const email, password = "bench@clinic.example", "bench-password-1"
	dir := b.TempDir()
	out, err := exec.Command(program, "superuser", "upsert", email, password, "--dir", dir).CombinedOutput()
	if err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(clitest.Port(b)))
	s := startBook(b, "http://"+address, exec.Command(program, "serve", "--http", address, "--dir", dir))
	s.path, s.status = "/api/collections/bookings/records", http.StatusOK
	said := s.send(b, "/api/collections/_superusers/auth-with-password",
		map[string]any{"identity": email, "password": password})
	s.key, _ = said["token"].(string)
	text := func(name string) map[string]any { return map[string]any{"name": name, "type": "text"} }
	s.send(b, "/api/collections", map[string]any{"name": "bookings", "type": "base", "createRule": "",
		"fields": []any{text("slotStartDate"), text("specialistId"), text("clientId"),
			map[string]any{"name": "patient", "type": "json"}},
		"indexes": []string{"CREATE UNIQUE INDEX no_double_booking ON bookings (specialistId, slotStartDate)"}})
	return s
}

// send sends a request to PocketBase and returns its response.
func (s *bookServer) send(b *testing.B, path string, request map[string]any) (answer map[string]any) {
	b.Helper()
	body, err := json.Marshal(request)
	if err != nil {
		b.Fatal(err)
	}
	status, said := s.ask(b, "POST", path, body)
	if err := json.Unmarshal(said, &answer); err != nil || status != http.StatusOK {
		b.Fatalf("%s: %d %s %v", path, status, said, err)
	}
	return answer
}
