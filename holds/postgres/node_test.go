package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"holdfast/holds"
)

// What several nodes on one database see of each other.

var (
	amal = holds.ClientID("client-amal-7c1f0a52d9").Owner()
	bela = holds.ClientID("client-bela-03be8842a6").Owner()
	noon = time.Date(2030, 5, 6, 12, 0, 0, 0, time.UTC)
)

// wish is a claim of half an hour from noon on, for a minute.
func wish(specialistID string, owner holds.Owner) holds.Claim {
	end := noon.Add(30 * time.Minute)
	return holds.Claim{
		Span: holds.Span{AppointmentTypeID: "checkup", SpecialistID: specialistID, SlotStart: noon, SlotEnd: end,
			BusyStart: noon, BusyEnd: end},
		Owner: owner, Seats: []int{0}, TTL: time.Minute, MaxLife: time.Minute,
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
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
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

func TestAHoldOfOneNodeIsInTheWayOnAnother(t *testing.T) {
	url := database(t)
	a, b := open(t, url, Options{}), open(t, url, Options{})
	w := watch(t, b)
	h, err := a.Claim(t.Context(), wish("ada", amal))
	if err != nil {
		t.Fatal(err)
	}
	var held *holds.HeldError
	if _, err := b.Claim(t.Context(), wish("ada", bela)); !errors.As(err, &held) || !held.Until.Equal(h.ExpiresAt) {
		t.Errorf("got %v, want held until %v", err, h.ExpiresAt)
	}
	if e := next(t, w, 1)[0]; e.Kind != holds.EventHold || e.HoldID != h.ID || e.Span != h.Span || !e.Owner.Is(amal) {
		t.Errorf("got %+v, want the hold %+v", e, h)
	}
	if list, err := b.List(t.Context()); err != nil || !slices.Equal(list, []holds.Hold{h}) {
		t.Errorf("got %+v, %v, want the hold", list, err)
	}
	again, err := b.Claim(t.Context(), wish("ada", amal))
	if err != nil || again.ID != h.ID {
		t.Errorf("its own client on another node: got %s, %v, want %s renewed", again.ID, err, h.ID)
	}
	if ok, err := b.Release(t.Context(), h.ID, amal, holds.ReasonReleased); !ok || err != nil {
		t.Errorf("released on another node: got %v, %v", ok, err)
	}
}

// TestRacersOnTwoNodesNeitherShareATimeNorDeadlock has clients race for times that overlap, each for several specialists at
// once, under a quota and with staff who displace: the locks are taken in one order.
func TestRacersOnTwoNodesNeitherShareATimeNorDeadlock(t *testing.T) {
	const clients, specialists, quota = 16, 4, 2
	url := database(t)
	nodes := []*Backend{open(t, url, Options{}), open(t, url, Options{})}
	var won atomic.Int32
	var all sync.WaitGroup
	for i := range clients * specialists {
		all.Go(func() {
			for n := range 10 {
				c := wish(fmt.Sprintf("specialist-%d", (i+n)%specialists), holds.ClientID(fmt.Sprintf("client-number-%04d", i%clients)).Owner())
				by := time.Duration(n%3) * 10 * time.Minute
				c.SlotStart, c.SlotEnd, c.BusyStart, c.BusyEnd = c.SlotStart.Add(by), c.SlotEnd.Add(by), c.BusyStart.Add(by), c.BusyEnd.Add(by)
				c.Quota, c.Displace = quota, i%8 == 0
				h, err := nodes[(i+n)%2].Claim(t.Context(), c)
				var held *holds.HeldError
				switch {
				case err == nil:
					won.Add(1)
					if n%3 == 0 {
						if _, err := nodes[n%2].Release(t.Context(), h.ID, c.Owner, holds.ReasonReleased); err != nil {
							t.Errorf("release: got %v", err)
						}
					}
				case !errors.As(err, &held) && !errors.Is(err, holds.ErrQuota):
					t.Errorf("got %v, want a hold, a HeldError or ErrQuota", err)
				}
			}
		})
	}
	all.Wait()
	list, err := nodes[0].List(t.Context())
	if err != nil || won.Load() < 10 {
		t.Fatalf("got %d claims that won, %v, want many", won.Load(), err)
	}
	of := map[holds.Owner]int{}
	for i := range list {
		of[list[i].Owner]++
		for j := range list[:i] {
			if list[i].Conflicts(&list[j].Span) {
				t.Errorf("holds %s and %s conflict", list[i].ID, list[j].ID)
			}
		}
	}
	for owner, n := range of {
		if n > quota {
			t.Errorf("%s has %d holds, want at most %d", owner, n, quota)
		}
	}
}

// TestALapseIsPublishedOnceHoweverManyNodesSweep has every node count what it hears.
func TestALapseIsPublishedOnceHoweverManyNodesSweep(t *testing.T) {
	const nodes, count = 4, 200
	url := database(t)
	var all []*Backend
	var watches []holds.Watch
	for range nodes {
		b := open(t, url, Options{})
		all, watches = append(all, b), append(watches, watch(t, b))
	}
	for i := range count {
		c := wish(fmt.Sprintf("specialist-%d", i), amal)
		c.TTL = 300 * time.Millisecond
		if _, err := all[i%nodes].Claim(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	for n, w := range watches {
		released := map[string]int{}
		for _, e := range next(t, w, 2*count) {
			if e.Kind == holds.EventRelease {
				released[e.HoldID]++
			}
		}
		if len(released) != count {
			t.Errorf("node %d heard of %d lapses, want %d", n, len(released), count)
		}
	}
	// Published after every lapse, and on every node.
	if _, err := all[0].Claim(t.Context(), wish("zoe", bela)); err != nil {
		t.Fatal(err)
	}
	for n, w := range watches {
		if e := next(t, w, 1)[0]; e.SpecialistID != "zoe" {
			t.Errorf("node %d heard %s of %s after the last lapse, want each lapse once", n, e.Kind, e.SpecialistID)
		}
	}
}

// TestADoubtPassesToAnotherNode: a pinned hold lapses, and the node that was given to ask about it hangs. Another one asks,
// and what the first says in the end is not published as well.
func TestADoubtPassesToAnotherNode(t *testing.T) {
	url := database(t)
	asked, answer := make(chan struct{}), make(chan struct{})
	resume := sync.OnceFunc(func() { close(answer) })
	a := open(t, url, Options{Booked: func(holds.Hold) bool {
		close(asked)
		<-answer
		return false
	}})
	c := wish("ada", amal)
	c.TTL = 100 * time.Millisecond
	h, err := a.Claim(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Pin(t.Context(), h.ID, amal, 200*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	defer resume() // or its backend could not be closed
	<-asked
	b := open(t, url, Options{Booked: func(h holds.Hold) bool { return h.Pinned && h.Owner == amal }})
	w := watch(t, b)
	if e := next(t, w, 1)[0]; e.Kind != holds.EventConfirm || e.HoldID != h.ID || !e.Owner.Is(amal) || e.Span != h.Span {
		t.Errorf("got %+v, want the booking confirmed by another node", e)
	}
	resume()
	for a.sweeper.Asking() { // until what it has to say is said
		runtime.Gosched()
	}
	if err := b.Publish(t.Context(), holds.Event{Kind: holds.EventPresence}); err != nil {
		t.Fatal(err)
	}
	if e := next(t, w, 1)[0]; e.Kind != holds.EventPresence {
		t.Errorf("got %s besides, want the end of the hold once", e.Kind)
	}
}

// TestPresenceAndSelectionsAreSharedAndBusyTimeIsNot: every node marks what it follows itself.
func TestPresenceAndSelectionsAreSharedAndBusyTimeIsNot(t *testing.T) {
	url := database(t)
	a, b := open(t, url, Options{}), open(t, url, Options{})
	ctx := t.Context()
	if changed, err := a.Online(ctx, "ada", 2); !changed || err != nil {
		t.Fatal(changed, err)
	}
	if changed, err := b.Online(ctx, "ada", 2); changed || err != nil {
		t.Errorf("on another node: got changed %v, %v, want not", changed, err)
	}
	if n, err := b.Load(ctx, "ada", 1); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if p, err := a.Present(ctx, "ada"); err != nil || !p.Online || p.Load != 1 || p.Max != 2 {
		t.Errorf("got %+v, %v, want ada online with a load of 1 of 2", p, err)
	}
	if _, err := a.Select(ctx, amal, wish("ada", amal).Span); err != nil {
		t.Fatal(err)
	}
	if list, err := b.Selected(ctx, noon, noon.Add(time.Hour), "ada"); err != nil || len(list) != 1 || list[0].Owner != amal {
		t.Errorf("got %+v, %v, want amal's selection", list, err)
	}
	if err := a.MarkBusy(ctx, "ada", noon, noon.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	for n, want := range map[*Backend]bool{a: true, b: false} {
		if busy, err := n.IsBusy(ctx, "ada", noon, noon.Add(5*time.Minute)); busy != want || err != nil {
			t.Errorf("got busy %v, %v, want %v", busy, err, want)
		}
	}
}

// TestNothingSecretIsInTheTables reads all of them: a client is only there as its owner.
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
	if err != nil || len(all) != 6 {
		t.Fatalf("got %d tables, %v, want 6", len(all), err)
	}
	for _, table := range all {
		if strings.Contains(table, string(secret)) {
			t.Errorf("the client is in %s", table)
		}
		if name, rest, _ := strings.Cut(table, " "); name != "holds_schema" && !strings.HasPrefix(rest, "u ") {
			t.Errorf("%s: want it unlogged", name)
		}
	}
}

// TestWhatComesFromTheFeedStaysOnItsNode: every node follows the feed, so a watcher would hear of it once for each.
func TestWhatComesFromTheFeedStaysOnItsNode(t *testing.T) {
	url := database(t)
	a, b := open(t, url, Options{}), open(t, url, Options{})
	here, there := watch(t, a), watch(t, b)
	for _, kind := range []holds.EventKind{holds.EventAppointment, holds.EventCancel, holds.EventConfirm} {
		if err := a.Publish(t.Context(), holds.Event{Kind: kind}); err != nil {
			t.Fatal(err)
		}
	}
	if got := next(t, here, 3); got[0].Kind != holds.EventAppointment || got[1].Kind != holds.EventCancel {
		t.Errorf("got %+v, want all three", got)
	}
	if e := next(t, there, 1)[0]; e.Kind != holds.EventConfirm {
		t.Errorf("got %s on the other node, want only the confirmation", e.Kind)
	}
}

// TestNodesThatStartTogetherMakeTheTablesOnce, and one of an older version leaves what a newer one made.
func TestNodesThatStartTogetherMakeTheTablesOnce(t *testing.T) {
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
	if err := c.QueryRow(t.Context(), `SELECT count(*), max(version) FROM holds_schema`).Scan(&rows, &newest); err != nil || rows != 1 || newest != version {
		t.Errorf("got %d versions, the newest %d, %v, want 1 and %d", rows, newest, err, version)
	}
	if _, err := c.Exec(t.Context(), `INSERT INTO holds_schema (version) VALUES ($1);`, version+1); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Exec(t.Context(), `CREATE OR REPLACE FUNCTION holds_renew(own text, ttl bigint) RETURNS boolean LANGUAGE sql AS 'SELECT true'`); err != nil {
		t.Fatal(err)
	}
	if ok, err := open(t, url, Options{}).Renew(t.Context(), amal); !ok || err != nil {
		t.Errorf("got %v, %v, want the newer program's function left alone", ok, err)
	}
}

// TestTheVersionIsThatOfTheText: whoever changes the text of sql/ says that it is another version, or no database would get it.
func TestTheVersionIsThatOfTheText(t *testing.T) {
	sum := sha256.New()
	for _, name := range files {
		text, err := sources.ReadFile("sql/" + name + ".sql")
		if err != nil {
			t.Fatal(err)
		}
		sum.Write(text)
	}
	const want = "2 425e54ef294631e6"
	if got := fmt.Sprintf("%d %s", version, hex.EncodeToString(sum.Sum(nil)[:8])); got != want {
		t.Errorf("got %s, want %s: count version up in schema.go and put the new sum here", got, want)
	}
}

// TestACapacityBeyondTheTablesIsTheLargest: the record keeps larger numbers than these tables.
func TestACapacityBeyondTheTablesIsTheLargest(t *testing.T) {
	b := open(t, database(t), Options{})
	const most = 1 << 40
	if err := b.Seed(t.Context(), []holds.Present{{SpecialistID: "ada", Online: true, Max: most, Load: most}}); err != nil {
		t.Fatal(err)
	}
	if err := b.SetLoads(t.Context(), map[string]int{"ada": 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Online(t.Context(), "ada", most); err != nil {
		t.Fatal(err)
	}
	if p, err := b.Present(t.Context(), "ada"); err != nil || p.Max != 1<<31-1 || p.Load != 1 {
		t.Errorf("got %+v, %v, want a capacity as large as there is", p, err)
	}
}
