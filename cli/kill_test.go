package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/engine/upstream"
	"holdfast/engine/upstream/upstreamtest"
	"holdfast/store"
)

// HOLDFAST_KILLS sets the number of kills and removes the time limit. HOLDFAST_KILL_SEED sets the seed of their random
// moments.
//
// These tests kill a real server with kill -9 at random moments, again and again. Voice agents and web visitors book on
// the server, and its practice system loses responses. All acknowledged bookings exist, and none overlap. A repeat with
// the same key returns the same appointment. Upstream, each appointment exists once, or a person must review it.

const (
	killRounds = 12
	killTime   = 6 * time.Second // no more rounds after this time, if there were at least enough
	enough     = 4
)

// intent is one booking that a client wants. The client repeats it with the same key until there is a response.
type intent struct {
	agent      bool
	key        string // Idempotency-Key
	client     string
	start      time.Time
	patient    map[string]any
	tries      int
	lost       int // attempts without a response
	answered   bool
	booked     bool   // it was acknowledged
	id         string // id of the web appointment
	answerBody string
}

// killed is the state of the test: the data directory, the admin key and all bookings that clients want.
type killed struct {
	t       *testing.T
	dir     string
	key     string // admin key
	http    *http.Client
	args    []string
	tokens  map[string]any // tokens of the agents' patient
	mu      sync.Mutex
	random  *rand.Rand
	intents []*intent
	open    []*intent // sent, and without a response yet
}

func TestKillLosesNothingAndBooksNothingTwice(t *testing.T) {
	if testing.Short() {
		t.Skip("short run: no kills of the whole server")
	}
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) { killAgainAndAgain(t) })
	t.Run("PostgreSQL", func(t *testing.T) { killAgainAndAgain(t, "--database", postgresURL(t)) })
}

// killAgainAndAgain runs the test with the database that the flags name.
func killAgainAndAgain(t *testing.T, database ...string) {
	seed := uint64(numberOf(t, "HOLDFAST_KILL_SEED", 7))
	chances := rand.New(rand.NewPCG(seed, 1))
	fake := upstreamtest.New(upstreamtest.Options{Decide: func(c upstreamtest.Call) upstreamtest.Step {
		bad := []upstreamtest.Step{
			{Outcome: upstreamtest.LostApplied}, {Outcome: upstreamtest.LostNotApplied},
			{Outcome: upstreamtest.Half, Applied: true}, {Outcome: upstreamtest.Garbage},
			{Outcome: upstreamtest.ServerError, Applied: true}, {Outcome: upstreamtest.RateLimited},
		}
		if c.Procedure == "SetAppointment" && chances.IntN(5) == 0 {
			return bad[chances.IntN(len(bad))]
		}
		// slow, so that many kills happen during a call
		return upstreamtest.Step{Outcome: upstreamtest.Slow, Delay: 4 * time.Millisecond}
	}})
	practice := httptest.NewServer(fake)
	defer practice.Close()

	dir := filepath.Join(t.TempDir(), "data")
	file := filepath.Join(t.TempDir(), "clinic.json")
	writeJSON(t, file, openClinic(t))
	must(t, append([]string{"import", "--data", dir, file}, database...)...)
	k := &killed{
		t: t, dir: dir, key: longEnough, random: rand.New(rand.NewPCG(seed, 2)),
		http: &http.Client{Timeout: 10 * time.Second},
		args: append([]string{
			"serve", "--data", dir, "--listen", "127.0.0.1:0", "--rate-limit", "off", "--admin-key-file",
			write(t, longEnough), "--upstream-url", practice.URL + "/GetData.ashx", "--upstream-client-id", "c",
			"--upstream-user", "u", "--upstream-password", "p", "--upstream-spacing", "1ms", "--upstream-retry-delay",
			"1ms", "--upstream-timeout", "200ms", "--upstream-quarantine", "250ms", "--queue-backoff", "2ms",
			"--queue-max-attempts", "1000",
		}, database...),
	}
	s := started(t, k.args...)
	k.identify(s.base)
	rounds, least := 0, numberOf(t, "HOLDFAST_KILLS", enough)
	for end := time.Now().Add(killTime); rounds < least || rounds < killRounds && least == enough &&
		time.Now().Before(end); rounds++ {
		k.run(s, time.Duration(20+k.random.IntN(250))*time.Millisecond)
		s = started(t, k.args...)
	}

	// Clients without a response get one now. Clients with a response, and some others, repeat their request.
	for i, x := range k.intents {
		if !x.answered && !k.try(s.base, x) {
			t.Errorf("%s got no answer, although no test kills the server", x.key)
		}
		if x.booked && (x.tries > 1 || i%5 == 0) {
			first := *x
			if k.try(s.base, x); !x.agent && x.id != first.id {
				t.Errorf("%s booked the appointment %s, and its repeat returns %s", x.key, first.id, x.id)
			}
			if !x.booked {
				t.Errorf("%s was acknowledged, but its repeat is not: %s", x.key, x.answerBody)
			}
		}
	}
	eventually(t, "the queue is worked off", func() bool {
		status, body := get(t, s.base+"/v1/queue-status?limit=1", k.key)
		return status == 200 && strings.Contains(body, `"pending":0,"processing":0`)
	})
	k.check(s.base, fake, rounds)
	t.Logf("%d kills", rounds)
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := s.ended(t); code != 0 {
		t.Errorf("the last server ended with %d: %s", code, s.stderr)
	}
	contains(t, "verify", must(t, append([]string{"verify", "--data", dir}, database...)...), "intact")
}

// numberOf returns the number in the environment variable name, or the number ordinary if the variable is not set.
func numberOf(t *testing.T, name string, ordinary int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return ordinary
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s: %q is no number", name, text)
	}
	return n
}

// openClinic returns the clinic in testdata with a single chair, which exists upstream and never closes.
func openClinic(t *testing.T) clinic.File {
	f := knownUpstream(t)
	f.Specialists = f.Specialists[:1]
	f.Specialists[0].Timezone = "UTC"
	f.Specialists[0].WeeklyHours, f.Specialists[0].Overrides = nil, nil
	for day := range 7 {
		f.Specialists[0].WeeklyHours = append(f.Specialists[0].WeeklyHours,
			clinic.HoursEntry{Weekday: store.Weekday(day), End: 1440})
	}
	f.AppointmentTypes = f.AppointmentTypes[:1]
	kind := &f.AppointmentTypes[0]
	kind.CooldownMinutes, kind.MinNoticeMinutes, kind.HorizonDays, kind.DurationMinutes, kind.SlotStepMinutes = 0, 0,
		365, 30, 30
	kind.BufferBeforeMinutes, kind.BufferAfterMinutes, kind.Capacity = 0, 0, 1
	kind.Specialists = []clinic.AssignmentEntry{{SpecialistID: f.Specialists[0].ID, Priority: 1}}
	return f
}

func writeJSON(t *testing.T, path string, v any) {
	t.Helper()
	b, err := json.Marshal(v)
	if err == nil {
		err = os.WriteFile(path, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (k *killed) identify(base string) {
	eventually(k.t, "the patient has a token", func() bool { // on a busy machine, the first response can come too late
		k.tokens = postAgent(k.t, base, "/v1/agent/patients", map[string]any{"firstName": "Jane",
			"lastName": "Roe", "sessionId": "call"})
		return k.tokens["bookingAuthToken"] != nil
	})
}

// run lets five agents and a web visitor book until the process is killed at a random moment, and waits for its
// end.
func (k *killed) run(s *server, life time.Duration) {
	stop := make(chan struct{})
	var callers sync.WaitGroup
	for caller := range 6 {
		callers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if x := k.next(caller > 0); !k.try(s.base, x) {
					k.mu.Lock()
					k.open = append(k.open, x)
					k.mu.Unlock()
				}
			}
		})
	}
	time.AfterFunc(life, func() { _ = s.Process.Kill() })
	if code := s.ended(k.t); code != -1 {
		k.t.Errorf("the server stopped on its own with %d: %s", code, s.stderr)
	}
	close(stop)
	callers.Wait()
}

// next returns an intent that has no response yet, or a new one. A new intent sometimes wants the same time as another
// client.
func (k *killed) next(agent bool) *intent {
	k.mu.Lock()
	defer k.mu.Unlock()
	if n := len(k.open); n > 0 && k.random.IntN(2) == 0 {
		x := k.open[n-1]
		k.open = k.open[:n-1]
		return x
	}
	n := len(k.intents)
	slot := n
	if n > 10 && k.random.IntN(5) == 0 {
		slot = n - k.random.IntN(10)
	}
	x := &intent{
		agent: agent, key: fmt.Sprintf("intent-%d", n), client: fmt.Sprintf("a-client-secret-%06d", n),
		start:   enginetest.Noon(time.UTC, 2).Add(time.Duration(slot) * 30 * time.Minute),
		patient: map[string]any{"name": fmt.Sprintf("Patient %d", n), "phone": "030 1234567"},
	}
	k.intents = append(k.intents, x)
	return x
}

// try sends an intent, and reports whether there was a response.
func (k *killed) try(base string, x *intent) bool {
	path, body := "/v1/appointment-types/checkup/book", map[string]any{
		"clientId": x.client, "slotStartDate": x.start.Format(time.RFC3339), "patient": x.patient,
	}
	if x.agent {
		path, body = "/v1/agent/appointments", with(k.tokens, map[string]any{
			"startTime": upstream.FormatTime(x.start, time.UTC), "minutes": 30, "childName": x.key,
			"scheduleColumnGUID":  "66666666-7777-4888-8999-000000000000",
			"appointmentTypeGUID": "bbbbbbbb-cccc-4ddd-8eee-ffffffffffff",
		})
	}
	b, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	r, err := http.NewRequest(http.MethodPost, base+path, bytes.NewReader(b))
	if err != nil {
		panic(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", x.key)
	if x.agent {
		r.Header.Set("Authorization", "Bearer "+k.key)
	}
	x.tries++
	answer, err := k.http.Do(r)
	if err != nil {
		x.lost++ // whether it was booked is unknown
		return false
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode >= 500 {
		x.lost++
		return false
	}
	x.answered, x.answerBody = true, string(said)
	x.booked = answer.StatusCode < 300
	if x.booked && !x.agent {
		var made struct{ Appointment struct{ ID string } }
		if err := json.Unmarshal(said, &made); err != nil {
			k.t.Errorf("%s: %v in %s", x.key, err, said)
		}
		x.id = made.Appointment.ID
	}
	if answer.StatusCode != 200 && answer.StatusCode != 201 && answer.StatusCode != 202 && answer.StatusCode != 409 {
		k.t.Errorf("%s: got %d %s", x.key, answer.StatusCode, said)
	}
	return true
}

// here is an appointment in the server's list.
type here struct {
	ID, Status, Source, UpstreamState string
	SlotStartDate, SlotEndDate        time.Time
}

func (k *killed) all(base string) (list []here) {
	for cursor := ""; ; {
		var page struct {
			Appointments []here
			NextCursor   string
		}
		_, body := get(k.t, base+"/v1/appointments?limit=500&cursor="+cursor, k.key)
		if err := json.Unmarshal([]byte(body), &page); err != nil {
			k.t.Fatal(err)
		}
		list = append(list, page.Appointments...)
		if cursor = page.NextCursor; cursor == "" {
			return list
		}
	}
}

// check compares the acknowledged bookings with the server's list and with the upstream.
func (k *killed) check(base string, fake *upstreamtest.Server, rounds int) {
	t, list := k.t, k.all(base)
	slices.SortFunc(list, func(a, b here) int { return cmp.Compare(a.SlotStartDate.Unix(), b.SlotStartDate.Unix()) })
	byID, byStart := map[string]here{}, map[int64]here{}
	var before here
	for _, a := range list {
		if byID[a.ID] = a; a.Status != "confirmed" {
			continue
		}
		if before.SlotEndDate.After(a.SlotStartDate) {
			t.Errorf("%s and %s overlap", before.ID, a.ID)
		}
		before, byStart[a.SlotStartDate.Unix()] = a, a
	}
	agents, web, told := 0, 0, map[int64]bool{}
	for _, x := range k.intents {
		a, there := byStart[x.start.Unix()]
		switch {
		case !x.booked:
			continue
		case x.agent:
			agents++
			there = there && a.Source == "agent"
		default:
			web++
			there = there && a.ID == x.id
		}
		told[x.start.Unix()] = true
		if !there {
			t.Errorf("%s was acknowledged and is missing: %s", x.key, x.answerBody)
		}
	}
	for start, a := range byStart {
		if !told[start] {
			t.Errorf("%s of %s exists, but its client never got an answer, in spite of its repeats", a.ID, a.Source)
		}
	}
	upstreamAt, review := map[int64]int{}, 0
	for _, u := range fake.Appointments() {
		if !u.Cancelled {
			upstreamAt[u.Start.Unix()]++
		}
	}
	for start, a := range byStart {
		n := upstreamAt[start]
		delete(upstreamAt, start)
		switch {
		case a.UpstreamState == "needs_review" && n <= 1:
			review++
		case a.UpstreamState != "confirmed" || n != 1:
			t.Errorf("%s of %s is %s here, and the practice system has it %d times", a.ID, a.Source, a.UpstreamState, n)
		}
	}
	for start, n := range upstreamAt {
		t.Errorf("the practice system has %d at %s without an appointment here", n, time.Unix(start, 0).UTC())
	}
	again := 0
	for _, x := range k.intents {
		if x.lost > 0 {
			again++
		}
	}
	t.Logf("%d kills, %d wanted: %d by agents and %d on the web were acknowledged, %d appointments, %d without an answer at first, %d for review",
		rounds, len(k.intents), agents, web, len(byStart), again, review)
	if rounds < enough || agents == 0 || web == 0 {
		t.Error("too few operations for a useful test")
	}
}
