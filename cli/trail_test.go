package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/cli/clitest"
	"holdfast/store"
	"holdfast/store/sqlite"
)

// follower is a house whose trail is kept while the test sleeps.
type follower struct {
	*house
	log  *transcript
	stop func()
}

// following opens the clinic in a directory and keeps its trail. It stops with the test, or before.
func following(t *testing.T, dir string, args ...string) *follower {
	t.Helper()
	cfg, _, err := resolved(t, nil, append([]string{"--data", dir}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	f := &follower{log: &transcript{}}
	if f.house, err = openHouse(t.Context(), cfg, houseOptions{log: slog.New(slog.NewTextHandler(f.log, nil))}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	kept, running := make(chan struct{}), make(chan struct{})
	go func() { defer close(kept); f.keepTrail(ctx, cfg.backups) }()
	go func() { defer close(running); f.engine.Run(ctx) }()
	f.stop = func() {
		cancel()
		<-kept
		<-running
		if err := f.close(); err != nil {
			t.Error(err)
		}
		f.stop = func() {}
	}
	t.Cleanup(func() { f.stop() })
	return f
}

// note writes something that can be looked for in what was restored.
func (f *follower) note(t *testing.T, id string) {
	t.Helper()
	err := f.store.Write(t.Context(), func(tx store.Tx) error {
		return tx.AppendAudit(t.Context(), store.AuditEntry{ID: id, At: time.Now(), Actor: "system", Action: "test.noted"})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// notes are those in a database, in their order.
func notes(t *testing.T, dir string) (ids []string) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(dir, databaseFile)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	all, _, err := s.Audit(t.Context(), store.AuditFilter{Limit: 500})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if e.Action == "test.noted" {
			ids = append(ids, e.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// trailsOf are the trails in a backup destination.
func trailsOf(t *testing.T, second string) []trailAt {
	t.Helper()
	list, err := trailsIn(second)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// put follows a trail into a new directory.
func put(t *testing.T, path string, until time.Time) (followed, string) {
	t.Helper()
	into := t.TempDir()
	f, err := followTrail(t.Context(), path, path, into, nil, until)
	if err != nil {
		t.Fatal(err)
	}
	return f, into
}

// TestATrailIsRestoredWithNothingButThePaper lives through some minutes, and the machine is gone.
func TestATrailIsRestoredWithNothingButThePaper(t *testing.T) {
	t.Parallel()
	dir, second := clinicDir(t), t.TempDir()
	paper := write(t, must(t, "backup-key", "--data", dir))
	synctest.Test(t, func(t *testing.T) {
		f := following(t, dir, "--backup-to", second)
		synctest.Wait()
		if at, kept := f.engine.LastCopy(); !kept || !at.IsZero() {
			t.Errorf("at the start the last copy is of %s, %t; want none yet", at, kept)
		}
		f.note(t, "n1")
		time.Sleep(90 * time.Second)
		for n := 2; n <= 4; n++ {
			f.note(t, fmt.Sprint("n", n))
			time.Sleep(time.Minute)
		}
		if at, _ := f.engine.LastCopy(); time.Since(at) > time.Minute {
			t.Errorf("the last copy is %s old", time.Since(at))
		}
		before := trailsOf(t, second)
		time.Sleep(3 * time.Minute)
		after := trailsOf(t, second)
		if len(before) != 1 || before[0].steps != 4 || len(after) != 1 || after[0].steps != 4 {
			t.Errorf("with three changes there are %+v, and three minutes later %+v; want one trail of four steps", before, after)
		}
		if at, _ := f.engine.LastCopy(); time.Since(at) > time.Minute {
			t.Errorf("where nothing changes the last copy is %s old", time.Since(at))
		}
		f.note(t, "n5") // which the last step has, since the server stops and does not die
	})
	trails := trailsOf(t, second)
	if !trails[0].sealed {
		t.Error("the steps are not sealed")
	}
	for n := range trails[0].steps {
		sealed, err := os.ReadFile(filepath.Join(trails[0].path, stepName(n, true)))
		if err != nil || !strings.HasPrefix(string(sealed), "age-encryption.org/") {
			t.Errorf("step %d can be read by anybody (%v)", n, err)
		}
	}
	contains(t, "the list", must(t, "restore", "--data", dir, "--list", second), trails[0].path, "5 steps")
	if got := command(t, nil, "", "restore", "--data", filepath.Join(t.TempDir(), "data"), trails[0].path); got.code != 1 || !strings.Contains(got.stderr, "--key") {
		t.Errorf("without a key: exit code %d, %q", got.code, got.stderr)
	}
	other := write(t, sealingKey(t).String())
	if got := command(t, nil, "", "restore", "--data", filepath.Join(t.TempDir(), "data"), "--key", other, trails[0].path); got.code != 1 || !strings.Contains(got.stderr, "another key") {
		t.Errorf("with another key: exit code %d, %q", got.code, got.stderr)
	}

	fresh := filepath.Join(t.TempDir(), "data")
	contains(t, "restore", must(t, "restore", "--data", fresh, "--key", paper, trails[0].path), "up to 2000-01-01T00:07:30Z", "5 steps")
	contains(t, "verify", must(t, "verify", "--data", fresh), "0 overlaps")
	if got := notes(t, fresh); !slices.Equal(got, []string{"n1", "n2", "n3", "n4", "n5"}) {
		t.Errorf("restored are %v", got)
	}
	for _, name := range []string{secretFile, recipientFile} {
		want, err := os.ReadFile(filepath.Join(dir, name))
		if got, _ := os.ReadFile(filepath.Join(fresh, name)); err != nil || string(got) != string(want) {
			t.Errorf("%s is another one than before (%v)", name, err)
		}
	}
	if left, err := filepath.Glob(filepath.Join(fresh, ".*")); err != nil || len(left) > 0 {
		t.Errorf("%v is left", left)
	}
	then := filepath.Join(t.TempDir(), "data")
	contains(t, "restore --until", must(t, "restore", "--data", then, "--key", paper, "--until", "2000-01-01T00:02:30Z", trails[0].path), "up to 2000-01-01T00:02:00Z")
	if got := notes(t, then); !slices.Equal(got, []string{"n1", "n2"}) {
		t.Errorf("restored up to then are %v", got)
	}
	for _, until := range []string{"yesterday", "1999-01-01T00:00:00Z"} {
		if got := command(t, nil, "", "restore", "--data", then, "--key", paper, "--until", until, trails[0].path); got.code == 0 {
			t.Errorf("--until %s is taken", until)
		}
	}
}

// TestWhatStandsInTheWayOfATrailIsSaidAndPasses: a backup destination that is not mounted, one whose trail was deleted, one that another clock has
// written, and a server that is started again.
func TestWhatStandsInTheWayOfATrailIsSaidAndPasses(t *testing.T) {
	t.Parallel()
	dir, second := clinicDir(t), filepath.Join(t.TempDir(), "mounted")
	away := second + "-away"
	synctest.Test(t, func(t *testing.T) {
		f := following(t, dir, "--backup-to", second)
		f.note(t, "n1")
		time.Sleep(5*time.Minute + time.Second)
		if n := strings.Count(f.log.String(), "copy of changes failed"); n != 1 {
			t.Errorf("in five minutes it was said %d times that the backup destination is not there, want once", n)
		}
		if err := os.Mkdir(second, 0o700); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		contains(t, "the log", f.log.String(), "copies to the backup destination resumed")
		first := trailsOf(t, second)

		if err := os.Rename(second, away); err != nil {
			t.Fatal(err)
		}
		f.note(t, "n2")
		time.Sleep(2 * time.Minute)
		if at, _ := f.engine.LastCopy(); time.Since(at) < 2*time.Minute {
			t.Errorf("while the backup destination is away the last copy is %s old", time.Since(at))
		}
		if err := os.Rename(away, second); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if again := trailsOf(t, second); len(first) != 1 || len(again) != 1 || again[0].steps != first[0].steps+1 {
			t.Errorf("there was %+v, and there is %+v when it is back; want one step more", first, again)
		}

		if err := os.RemoveAll(first[0].path); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		anew := trailsOf(t, second)
		if len(anew) != 1 || anew[0].steps != 1 {
			t.Errorf("after the trail was deleted there is %+v, want a new one", anew)
		}
		f.stop()

		// What another clock left behind has a later time and the smaller number.
		future := time.Now().Add(1000 * time.Hour)
		if err := os.Chtimes(filepath.Join(anew[0].path, stepName(0, false)), future, future); err != nil {
			t.Fatal(err)
		}
		f = following(t, dir, "--backup-to", second)
		f.note(t, "n3")
		time.Sleep(2 * time.Minute)
		list := trailsOf(t, second)
		if len(list) != 2 || list[1].number != list[0].number+1 {
			t.Fatalf("after a restart there are %+v, want the next trail", list)
		}
		if _, into := put(t, list[1].path, time.Time{}); !slices.Equal(notes(t, into), []string{"n1", "n2", "n3"}) {
			t.Errorf("in the newest are %v", notes(t, into))
		}
	})
}

// TestATrailEndsWithTheDay, and those that are not kept go; what is another database's stays.
func TestATrailEndsWithTheDay(t *testing.T) {
	clitest.OnlyInFull(t)
	t.Parallel()
	dir, second := clinicDir(t), t.TempDir()
	foreign := filepath.Join(second, trailName(1, trailMark("another")))
	synctest.Test(t, func(t *testing.T) {
		if err := os.Mkdir(foreign, 0o700); err != nil {
			t.Fatal(err)
		}
		f := following(t, dir, "--backup-to", second, "--backup-at", "03:00", "--backup-keep", "3,0,0", "--backup-every", "30m")
		for day := range 5 {
			f.note(t, fmt.Sprint("day", day))
			time.Sleep(24 * time.Hour)
		}
		list := trailsOf(t, second)
		// The last two have ended on one day, and of the three newest all stay.
		if len(list) != 5 || list[0].path != foreign {
			t.Fatalf("after five days there are %d trails: %+v; want four and the other's", len(list), list)
		}
		last := list[len(list)-1]
		if at := last.begun.In(f.engine.Clinic.Zone()); at.Hour() != 3 || at.Minute() > 0 {
			t.Errorf("the last was begun at %s, want at 03:00", at)
		}
		if _, into := put(t, last.path, time.Time{}); len(notes(t, into)) != 5 {
			t.Errorf("in the newest are %v", notes(t, into))
		}
	})
}

// TestATrailThatOutgrowsItsBeginningIsFollowedByAnother, which begins with the whole database.
func TestATrailThatOutgrowsItsBeginningIsFollowedByAnother(t *testing.T) {
	t.Parallel()
	dir, second := clinicDir(t), t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		f := following(t, dir)
		k := f.newTrailKeeper(f.store.(*sqlite.Store), backupPlan{second: second, every: time.Minute, keep: backupKeep{days: 1}})
		defer k.pages.Close()
		f.copied.Store(new(time.Time))
		look := func() {
			if err := k.follow(t.Context(), time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		look()
		f.note(t, "n1")
		k.trail.since = k.trail.first + maxSteps
		look()
		if n := k.trail.next; n != 2 {
			t.Errorf("at the limit the trail has %d steps, want 2", n)
		}
		f.note(t, "n2")
		look()
		if list := trailsOf(t, second); len(list) != 2 || list[1].steps != 1 || list[0].steps != 2 {
			t.Errorf("past it there are %+v, want another one", list)
		}
	})
}

// TestExpendableTrails: all of the last three days stay, the newest of each day that is kept, the newest few however old, and whatever could not be
// read or may be whole.
func TestExpendableTrails(t *testing.T) {
	t.Parallel()
	day := func(n, hour int) time.Time { return time.Date(2026, 11, n, hour, 0, 0, 0, time.UTC) }
	trail := func(number, n, hour int) trailAt {
		return trailAt{number: number, mark: "a", steps: 1, last: day(n, hour), newest: day(n, hour)}
	}
	other, unread, headless := trail(5, 1, 9), trail(10, 1, 9), trailAt{number: 11, mark: "a", more: 2, newest: day(1, 9)}
	other.mark, unread.unread = "b", errors.New("input/output error")
	gap := trail(12, 1, 9)
	gap.newest = day(6, 2)
	all := []trailAt{
		trail(1, 1, 9), trail(2, 5, 9), trail(3, 5, 23), {number: 4, mark: "a"}, other, trail(6, 6, 1), trail(7, 6, 2), trail(8, 6, 3),
		{number: 9, mark: "a"}, unread, headless, gap, {number: 13, mark: "a", unread: errors.New("input/output error")}, {number: 14, mark: "a"},
	}
	for _, c := range []struct {
		days int
		now  time.Time
		want []int
	}{
		{1, day(6, 4), []int{9, 4, 1}}, {3, day(6, 4), []int{9, 4, 1}}, {9, day(6, 4), []int{9, 4}}, // a day later than which all stay: the third
		{1, day(8, 10), []int{9, 4, 2, 1}}, {1, day(9, 1), []int{9, 6, 4, 3, 2, 1}},
		{1, day(30, 1), []int{9, 6, 4, 3, 2, 1}}, {2, day(30, 1), []int{9, 6, 4, 3, 2, 1}}, {3, day(30, 1), []int{9, 6, 4, 2, 1}}, {4, day(30, 1), []int{9, 6, 4, 2}},
	} {
		var got []int
		for _, gone := range (backupKeep{days: c.days}).expendableTrails(all, "a", c.now, time.UTC) {
			got = append(got, gone.number)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("of %d days on %s: %v go, want %v", c.days, c.now.Format(time.DateTime), got, c.want)
		}
	}
}

// TestATrailThatCannotBeReadSaysSo, and is not taken for one without steps.
func TestATrailThatCannotBeReadSaysSo(t *testing.T) {
	t.Parallel()
	noDirectory := write(t, "")
	if got := lookAtTrail(noDirectory); got.unread == nil {
		t.Errorf("of what cannot be listed it says %+v", got)
	}
	if _, err := followTrail(t.Context(), noDirectory, noDirectory, t.TempDir(), nil, time.Time{}); err == nil || !strings.Contains(err.Error(), "cannot be read") {
		t.Errorf("to follow it: %v, want that it cannot be read", err)
	}
}

// TestPostgresHasNoTrail, and the log says so by the flag's name.
func TestPostgresHasNoTrail(t *testing.T) {
	t.Parallel()
	second := t.TempDir()
	f := following(t, filepath.Join(t.TempDir(), "data"), "--database", postgresURL(t), "--backup-to", second, "--backup-every", "1s")
	eventually(t, "it is said", func() bool { return strings.Contains(f.log.String(), "--backup-every") })
	if at, kept := f.engine.LastCopy(); kept {
		t.Errorf("there is a copy of %s", at)
	}
	if list := trailsOf(t, second); len(list) != 0 {
		t.Errorf("there are %+v", list)
	}
}

// TestParseBackupEvery: off, or from a second to a day.
func TestParseBackupEvery(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{"off": 0, "1m": time.Minute, "1s": time.Second, "24h": 24 * time.Hour} {
		if got, err := parseBackupEvery(text); err != nil || got != want {
			t.Errorf("%s: got %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "0", "1", "-1m", "999ms", "25h", "often"} {
		if _, err := parseBackupEvery(text); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}
