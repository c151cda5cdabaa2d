package backup

import (
	"context"
	"errors"
	"fmt"
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

// notes returns the notes in a database, in order.
func notes(t *testing.T, dir string) (ids []string) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(dir, DatabaseFile)})
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

// incrementalsOf returns the incremental backups in a backup destination.
func incrementalsOf(t *testing.T, second string) []Incremental {
	t.Helper()
	list, err := incrementalsIn(second)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// put restores an incremental backup into a new directory and returns the directory.
func put(t *testing.T, path string, until time.Time) (Replayed, string) {
	t.Helper()
	into := t.TempDir()
	f, err := replay(t.Context(), path, path, into, nil, until)
	if err != nil {
		t.Fatal(err)
	}
	return f, into
}

// TestIncrementalIsRestoredWithKeyOnly restores a sealed incremental backup after the machine is lost.
func TestIncrementalIsRestoredWithKeyOnly(t *testing.T) {
	t.Parallel()
	dir, second := clinicDir(t), t.TempDir()
	key := sealing(t, dir)
	synctest.Test(t, func(t *testing.T) {
		f := following(t, dir, Plan{Destination: second, Every: time.Minute, Daily: true, At: 3 * time.Hour,
			Keep: Keep{Days: 7}})
		synctest.Wait()
		if at, kept := f.LastCopy(); !kept || !at.IsZero() {
			t.Errorf("at the start, the last copy is of %s, %t; want none", at, kept)
		}
		f.note(t, "n1")
		time.Sleep(90 * time.Second)
		for n := 2; n <= 4; n++ {
			f.note(t, fmt.Sprint("n", n))
			time.Sleep(time.Minute)
		}
		if at, _ := f.LastCopy(); time.Since(at) > time.Minute {
			t.Errorf("the last copy is %s old", time.Since(at))
		}
		before := incrementalsOf(t, second)
		time.Sleep(3 * time.Minute)
		after := incrementalsOf(t, second)
		if len(before) != 1 || before[0].Steps != 4 || len(after) != 1 || after[0].Steps != 4 {
			t.Errorf("with three changes there are %+v, and three minutes later %+v; want one incremental backup of "+
				"four increments", before, after)
		}
		if at, _ := f.LastCopy(); time.Since(at) > time.Minute {
			t.Errorf("without changes, the last copy is %s old", time.Since(at))
		}
		f.note(t, "n5") // the last increment contains it, because the server does not crash but stops
	})
	trails := incrementalsOf(t, second)
	if !trails[0].Sealed {
		t.Error("the increments are not encrypted")
	}
	for n := range trails[0].Steps {
		sealed, err := os.ReadFile(filepath.Join(trails[0].Path, incrementName(n, true)))
		if err != nil || !strings.HasPrefix(string(sealed), "age-encryption.org/") {
			t.Errorf("other users can read increment %d (%v)", n, err)
		}
	}
	list, err := List(t.Context(), dir, Access{}, []string{second})
	if err != nil || len(list) != 1 || list[0].Path != trails[0].Path ||
		!strings.Contains(list[0].Note, "5 increments") {
		t.Errorf("the list has %+v, %v", list, err)
	}
	path := trails[0].Path
	if _, _, _, err := restored(t, path, nil, Access{}, time.Time{}); err == nil ||
		!strings.Contains(err.Error(), "--key") {
		t.Errorf("without a key: %v", err)
	}
	if _, _, _, err := restored(t, path, newKey(t), Access{}, time.Time{}); err == nil ||
		!strings.Contains(err.Error(), "a different key") {
		t.Errorf("with another key: %v", err)
	}

	fresh, b, _, err := restored(t, path, key, Access{}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if r := b.Replayed; r.Steps != 5 || r.Broken != nil || !r.Last.Equal(at(t, "2000-01-01T00:07:30Z")) {
		t.Errorf("restored %+v, want 5 increments up to 00:07:30", r)
	}
	if got := notes(t, fresh); !slices.Equal(got, []string{"n1", "n2", "n3", "n4", "n5"}) {
		t.Errorf("restored appointments: %v", got)
	}
	for _, name := range []string{KeysFile, RecipientFile} {
		want, err := os.ReadFile(filepath.Join(dir, name))
		if got, _ := os.ReadFile(filepath.Join(fresh, name)); err != nil || string(got) != string(want) {
			t.Errorf("%s differs from the original (%v)", name, err)
		}
	}
	if left, err := filepath.Glob(filepath.Join(fresh, ".*")); err != nil || len(left) > 0 {
		t.Errorf("%v is left", left)
	}
	then, b, _, err := restored(t, path, key, Access{}, at(t, "2000-01-01T00:02:30Z"))
	if err != nil || !b.Replayed.Last.Equal(at(t, "2000-01-01T00:02:00Z")) {
		t.Fatalf("restored up to an instant: %+v, %v", b.Replayed, err)
	}
	if got := notes(t, then); !slices.Equal(got, []string{"n1", "n2"}) {
		t.Errorf("appointments restored up to an instant: %v", got)
	}
	if _, _, _, err := restored(t, path, key, Access{}, at(t, "1999-01-01T00:00:00Z")); err == nil {
		t.Error("Open accepted an instant before the first increment")
	}
}

// TestFollowerRecovers checks that the Follower recovers from a destination that is not mounted, a deleted incremental
// backup, an incremental backup from a different clock, and a restart of the server.
func TestFollowerRecovers(t *testing.T) {
	t.Parallel()
	dir, second := clinicDir(t), filepath.Join(t.TempDir(), "mounted")
	away := second + "-away"
	synctest.Test(t, func(t *testing.T) {
		f := following(t, dir, Plan{Destination: second, Every: time.Minute, Daily: true, At: 3 * time.Hour,
			Keep: Keep{Days: 7}})
		f.note(t, "n1")
		time.Sleep(5*time.Minute + time.Second)
		if n := strings.Count(f.log.String(), "incremental backup failed"); n != 1 {
			t.Errorf("the log has %d messages in five minutes that the backup destination is missing, want 1", n)
		}
		contains(t, "the log", f.log.String(), `copied_until="nothing yet"`)
		if err := os.Mkdir(second, 0o700); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		contains(t, "the log", f.log.String(), "incremental backup resumed")
		first := incrementalsOf(t, second)

		if err := os.Rename(second, away); err != nil {
			t.Fatal(err)
		}
		f.note(t, "n2")
		time.Sleep(2 * time.Minute)
		if at, _ := f.LastCopy(); time.Since(at) < 2*time.Minute {
			t.Errorf("without the backup destination, the last copy is %s old", time.Since(at))
		}
		if err := os.Rename(away, second); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if again := incrementalsOf(t, second); len(first) != 1 || len(again) != 1 ||
			again[0].Steps != first[0].Steps+1 {
			t.Errorf("the increments were %+v and are %+v after its return; want one more", first, again)
		}

		if err := os.RemoveAll(first[0].Path); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		fresh := incrementalsOf(t, second)
		if len(fresh) != 1 || fresh[0].Steps != 1 {
			t.Errorf("after the deletion: %+v, want a new incremental backup", fresh)
		}
		f.stop()

		// The incremental backup from a different clock has a later time but a smaller number.
		future := time.Now().Add(1000 * time.Hour)
		if err := os.Chtimes(filepath.Join(fresh[0].Path, incrementName(0, false)), future, future); err != nil {
			t.Fatal(err)
		}
		f = following(t, dir, Plan{Destination: second, Every: time.Minute, Daily: true, At: 3 * time.Hour,
			Keep: Keep{Days: 7}})
		f.note(t, "n3")
		time.Sleep(2 * time.Minute)
		list := incrementalsOf(t, second)
		if len(list) != 2 || list[1].Number != list[0].Number+1 {
			t.Fatalf("after a restart: %+v, want a second incremental backup", list)
		}
		if _, into := put(t, list[1].Path, time.Time{}); !slices.Equal(notes(t, into), []string{"n1", "n2", "n3"}) {
			t.Errorf("appointments in the newest: %v", notes(t, into))
		}
	})
}

// TestChainEndsDaily checks that the Follower starts a new chain every day and deletes the expired ones. It must not
// delete chains of another database.
func TestChainEndsDaily(t *testing.T) {
	clitest.OnlyInFull(t)
	t.Parallel()
	dir, second := clinicDir(t), t.TempDir()
	foreign := filepath.Join(second, incrementalName(1, markOf("another")))
	synctest.Test(t, func(t *testing.T) {
		if err := os.Mkdir(foreign, 0o700); err != nil {
			t.Fatal(err)
		}
		f := following(t, dir, Plan{Destination: second, Every: 30 * time.Minute, Daily: true, At: 3 * time.Hour,
			Keep: Keep{Days: 3}})
		for day := range 5 {
			f.note(t, fmt.Sprint("day", day))
			time.Sleep(24 * time.Hour)
		}
		list := incrementalsOf(t, second)
		// The last two ended on the same day. The newest three are all retained.
		if len(list) != 5 || list[0].Path != foreign {
			t.Fatalf("after five days there are %d incremental backups: %+v; want four and the other clinic's", len(list),
				list)
		}
		last := list[len(list)-1]
		if at := last.Begun.In(f.Zone()); at.Hour() != 3 || at.Minute() > 0 {
			t.Errorf("the last one began at %s, want 03:00", at)
		}
		if _, into := put(t, last.Path, time.Time{}); len(notes(t, into)) != 5 {
			t.Errorf("appointments in the newest: %v", notes(t, into))
		}
	})
}

// TestLargeChainIsFollowedByAnother checks that after maxGrowth, the Follower starts another chain with the whole
// database.
func TestLargeChainIsFollowedByAnother(t *testing.T) {
	t.Parallel()
	dir, second := clinicDir(t), t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		f := opened(t, dir, Plan{})
		k := f.newFollower(t, Plan{Destination: second, Every: time.Minute, Keep: Keep{Days: 1}})
		defer k.Close()
		look := func() {
			if err := k.follow(t.Context(), time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		look()
		f.note(t, "n1")
		k.chain.since = k.chain.first + maxGrowth
		look()
		if n := k.chain.next; n != 2 {
			t.Errorf("at the limit the incremental backup has %d increments, want 2", n)
		}
		f.note(t, "n2")
		look()
		if list := incrementalsOf(t, second); len(list) != 2 || list[1].Steps != 1 || list[0].Steps != 2 {
			t.Errorf("over the limit: %+v, want a second one", list)
		}
	})
}

// TestExpiredIncrementals checks which incremental backups are retained: all of the last three days, the newest of each
// day that the plan keeps, the newest three, and those that could not be listed completely.
func TestExpiredIncrementals(t *testing.T) {
	t.Parallel()
	day := func(n, hour int) time.Time { return time.Date(2026, 11, n, hour, 0, 0, 0, time.UTC) }
	trail := func(number, n, hour int) Incremental {
		return Incremental{Number: number, Mark: "a", Steps: 1, Last: day(n, hour), Newest: day(n, hour)}
	}
	other, unread, headless := trail(5, 1, 9), trail(10, 1, 9), Incremental{Number: 11, Mark: "a", More: 2,
		Newest: day(1, 9)}
	other.Mark, unread.Unread = "b", errors.New("input/output error")
	gap := trail(12, 1, 9)
	gap.Newest = day(6, 2)
	all := []Incremental{
		trail(1, 1, 9), trail(2, 5, 9), trail(3, 5, 23), {Number: 4, Mark: "a"}, other, trail(6, 6, 1), trail(7, 6,
			2), trail(8, 6, 3),
		{Number: 9, Mark: "a"}, unread, headless, gap, {Number: 13, Mark: "a",
			Unread: errors.New("input/output error")}, {Number: 14, Mark: "a"},
	}
	for _, c := range []struct {
		days int
		now  time.Time
		want []int
	}{
		{1, day(6, 4), []int{9, 4, 1}}, {3, day(6, 4), []int{9, 4, 1}}, {9, day(6, 4),
			[]int{9, 4}}, // nine days are retained, and 1 is the newest of the third day
		{1, day(8, 10), []int{9, 4, 2, 1}}, {1, day(9, 1), []int{9, 6, 4, 3, 2, 1}},
		{1, day(30, 1), []int{9, 6, 4, 3, 2, 1}}, {2, day(30, 1), []int{9, 6, 4, 3, 2, 1}}, {3, day(30, 1),
			[]int{9, 6, 4, 2, 1}}, {4, day(30, 1), []int{9, 6, 4, 2}},
	} {
		var got []int
		for _, gone := range (Keep{Days: c.days}).expiredIncrementals(all, "a", c.now, time.UTC) {
			got = append(got, gone.Number)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("from %d days on %s: %v are deleted, want %v", c.days, c.now.Format(time.DateTime), got, c.want)
		}
	}
}

// TestUnreadableIncrementalIsAnError checks that an incremental backup that cannot be read is not reported as empty.
func TestUnreadableIncrementalIsAnError(t *testing.T) {
	t.Parallel()
	noDirectory := write(t, "")
	if got := readIncremental(noDirectory); got.Unread == nil {
		t.Errorf("for an unreadable directory, the message is %+v", got)
	}
	if _, err := replay(t.Context(), noDirectory, noDirectory, t.TempDir(), nil, time.Time{}); err == nil ||
		!strings.Contains(err.Error(), "cannot be read") {
		t.Errorf("following it: %v, want an error", err)
	}
}

// TestFinishSkipsFailedStorage checks that Finish writes nothing after the storage has failed, because the changes that
// it reads may not be on the disk.
func TestFinishSkipsFailedStorage(t *testing.T) {
	t.Parallel()
	second := t.TempDir()
	f := opened(t, clinicDir(t), Plan{})
	k := f.newFollower(t, Plan{Destination: second, Keep: Keep{Days: 1}})
	defer k.Close()
	if err := k.follow(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	f.note(t, "n1")
	for _, c := range []struct {
		cause error
		steps int
	}{{errors.New("the disk is gone"), 1}, {nil, 2}} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(c.cause)
		k.Finish(ctx)
		if list := incrementalsOf(t, second); len(list) != 1 || list[0].Steps != c.steps {
			t.Errorf("stopped for %v: got %+v, want one incremental backup of %d increments", c.cause, list,
				c.steps)
		}
	}
}

// TestStartDeletesExpiredFirst checks that start first deletes expired chains. Otherwise a full destination would stay
// full.
func TestStartDeletesExpiredFirst(t *testing.T) {
	t.Parallel()
	second := t.TempDir()
	f := opened(t, clinicDir(t), Plan{})
	k := f.newFollower(t, Plan{Destination: second, Keep: Keep{Days: 1}})
	defer k.Close()
	for n := range 5 {
		dir := filepath.Join(second, incrementalName(n, k.mark))
		step := filepath.Join(dir, incrementName(0, false))
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(step, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		made := time.Now().AddDate(0, 0, n-20)
		if err := os.Chtimes(step, made, made); err != nil {
			t.Fatal(err)
		}
	}
	// A file at the path of the next incremental backup represents any reason why the chain cannot be started.
	inTheWay := filepath.Join(second, incrementalName(5, k.mark))
	if err := os.WriteFile(inTheWay, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	left := func() (numbers []int) {
		for _, each := range incrementalsOf(t, second) {
			numbers = append(numbers, each.Number)
		}
		return numbers
	}
	if err := k.follow(t.Context(), time.Now()); err == nil || !strings.Contains(err.Error(), inTheWay) {
		t.Errorf("got %v, want an error that names %s", err, inTheWay)
	}
	if got := left(); !slices.Equal(got, []int{2, 3, 4}) {
		t.Errorf("remaining: %v, want the three newest", got)
	}
	if err := os.Remove(inTheWay); err != nil {
		t.Fatal(err)
	}
	if err := k.follow(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	if got := left(); !slices.Equal(got, []int{3, 4, 5}) {
		t.Errorf("remaining: %v, want the new one and the previous two", got)
	}
}
