package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/holds"
	"holdfast/holds/holdstest"
)

// These tests cover how several nodes on one database interact.

var (
	amal = holds.ClientID("client-amal-7c1f0a52d9").Owner()
	bela = holds.ClientID("client-bela-03be8842a6").Owner()
	noon = time.Date(2030, 5, 6, 12, 0, 0, 0, time.UTC)
)

// wish returns a claim for half an hour from noon, with a TTL that is longer than a test on a busy machine.
func wish(specialistID string, owner holds.Owner) holds.Claim {
	end := noon.Add(30 * time.Minute)
	return holds.Claim{
		Span: holds.Span{AppointmentTypeID: "checkup", SpecialistID: specialistID, SlotStart: noon, SlotEnd: end,
			BusyStart: noon, BusyEnd: end},
		Owner: owner, Seats: []int{0}, TTL: 10 * time.Minute, MaxLife: time.Hour,
	}
}

func watch(t *testing.T, b holds.Backend) holds.Watch {
	t.Helper()
	w, err := b.Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}

// next returns the next n events of a watch.
func next(t *testing.T, w holds.Watch, n int) (got []holds.Event) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	for len(got) < n {
		batch, err := w.Next(ctx, nil)
		if err != nil {
			t.Fatalf("got %d events and %v, want %d", len(got), err, n)
		}
		got = append(got, batch...)
	}
	return got
}

// TestNodes runs the multi-node suite against every shared backend. Each node has its own busy time.
func TestNodes(t *testing.T) {
	holdstest.RunNodes(t, holdstest.Nodes{Server: func(t testing.TB) func(func(holds.Hold) bool) holds.Backend {
		url := database(t)
		rows := appointments(t, url)
		return func(booked func(holds.Hold) bool) holds.Backend {
			return &withAppointments{open(t, url, Options{Booked: booked}), rows}
		}
	}})
}

// TestNothingSecretIsInTheTables reads all tables: they identify a client only by its owner.
func TestNothingSecretIsInTheTables(t *testing.T) {
	const secret = holds.ClientID("client-canary-5d0c88aa41")
	url := database(t)
	b := open(t, url, Options{})
	ctx := t.Context()
	h, err := b.Claim(ctx, wish("ada", secret.Owner()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Select(ctx, secret.Owner(), wish("bob", amal).Span); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Release(ctx, h.ID, secret.Owner(), holds.ReasonReleased); err != nil {
		t.Fatal(err)
	}
	all, err := b.texts(ctx, `SELECT relname || ' ' || relpersistence::text || ' ' ||
		query_to_xml('SELECT * FROM ' || quote_ident(relname), true, true, '')::text, row_number() OVER (ORDER BY relname)
		FROM pg_class WHERE relkind = 'r' AND relname LIKE 'holds\_%'`)
	if err != nil || len(all) != 9 {
		t.Fatalf("got %d tables, %v, want 9", len(all), err)
	}
	for _, table := range all {
		if strings.Contains(table, string(secret)) {
			t.Errorf("the client is in %s", table)
		}
		if name, rest, _ := strings.Cut(table, " "); name != "holds_schema" && name != "holds_home" &&
			!strings.HasPrefix(rest, "u ") {
			t.Errorf("%s: want it unlogged", name)
		}
	}
}

// TestConcurrentStartsCreateTablesOnce: a node of an older version does not replace the functions of a newer one.
func TestConcurrentStartsCreateTablesOnce(t *testing.T) {
	url := database(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			b, err := Open(t.Context(), Options{URL: url, Timeout: patience})
			if err != nil {
				t.Error(err)
				return
			}
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	var rows, newest int
	if err := c.QueryRow(t.Context(), `SELECT count(*), max(version) FROM holds_schema`).Scan(&rows,
		&newest); err != nil || rows != 1 || newest != version {
		t.Errorf("got %d versions, the newest %d, %v, want 1 and %d", rows, newest, err, version)
	}
	if _, err := c.Exec(t.Context(), `INSERT INTO holds_schema (version) VALUES ($1);`, version+1); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Exec(t.Context(), `CREATE OR REPLACE FUNCTION holds_renew(own text, ttl bigint) RETURNS boolean LANGUAGE sql AS 'SELECT true'`); err != nil {
		t.Fatal(err)
	}
	if ok, err := open(t, url, Options{}).Renew(t.Context(), amal); !ok || err != nil {
		t.Errorf("got %v, %v, want the newer program's function unchanged", ok, err)
	}
}

// TestVersionMatchesText: a change to the files in sql/ needs a new version; otherwise existing databases would not get
// the change.
func TestVersionMatchesText(t *testing.T) {
	sum := sha256.New()
	for _, name := range files {
		text, err := sources.ReadFile("sql/" + name + ".sql")
		if err != nil {
			t.Fatal(err)
		}
		sum.Write(text)
	}
	const want = "11 862a6eb09fe74a97"
	if got := fmt.Sprintf("%d %s", version, hex.EncodeToString(sum.Sum(nil)[:8])); got != want {
		t.Errorf("got %s, want %s: increase version in schema.go and put the new checksum here", got, want)
	}
}

// TestCapacityIsCutToTable: the durable record can store larger numbers than these tables.
func TestCapacityIsCutToTable(t *testing.T) {
	b := open(t, database(t), Options{})
	const most = 1 << 40
	if err := b.Seed(t.Context(), []holds.Present{{SpecialistID: "ada", Online: true, Max: most,
		Load: most}}); err != nil {
		t.Fatal(err)
	}
	if err := b.SetLoads(t.Context(), map[string]int{"ada": 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Online(t.Context(), "ada", most); err != nil {
		t.Fatal(err)
	}
	if p, err := b.Present(t.Context(), "ada"); err != nil || p.Max != 1<<31-1 || p.Load != 1 {
		t.Errorf("got %+v, %v, want the largest possible capacity", p, err)
	}
}
