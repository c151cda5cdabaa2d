package backup

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/store/disk"
	"holdfast/store/sqlite"
)

// oneTrail creates an incremental backup of four increments, with the notes n0 to n3, sealed for
// key if it is not nil.
func oneTrail(t *testing.T, key *Key) string {
	t.Helper()
	dir, second := clinicDir(t), t.TempDir()
	if key != nil {
		if err := os.WriteFile(filepath.Join(dir, RecipientFile), []byte(key.identity.Recipient().String()),
			0o600); err != nil {
			t.Fatal(err)
		}
	}
	f := opened(t, dir, Plan{})
	k := f.newFollower(t, Plan{Destination: second, Keep: Keep{Days: 1}})
	defer k.Close()
	for _, id := range []string{"n0", "n1", "n2", "n3"} {
		f.note(t, id)
		if err := k.follow(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	if k.chain.next != 4 {
		t.Fatalf("the incremental backup has %d increments, want 4", k.chain.next)
	}
	f.stop()
	return k.chain.path
}

// followUp restores an incremental backup into a new directory, checks the database there and returns its notes.
func followUp(t *testing.T, path string, key *Key) (Replayed, []string, error) {
	t.Helper()
	into := t.TempDir()
	f, err := replay(t.Context(), path, path, into, key, time.Time{})
	if err != nil {
		return f, nil, err
	}
	if _, err := sqlite.Verify(t.Context(), filepath.Join(into, DatabaseFile)); err != nil {
		t.Errorf("the assembled database is damaged: %v", err)
	}
	return f, notes(t, into), nil
}

// TestReplayStopsAtDamage checks that replay restores everything before the first unusable increment, and names that
// increment. It can be missing, damaged, truncated, swapped or from another incremental backup.
func TestReplayStopsAtDamage(t *testing.T) {
	t.Parallel()
	key := newKey(t)
	whole, other := oneTrail(t, key), oneTrail(t, key)
	step := func(n int) string { return incrementName(n, true) }
	read := func(path string) []byte {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	flipped := func(b []byte, at int) []byte {
		b = bytes.Clone(b)
		b[at] ^= 1
		return b
	}
	second := read(filepath.Join(whole, step(2)))
	for name, c := range map[string]struct {
		change map[string][]byte // by step; nil deletes it
		steps  int               // number of restored increments
		says   string
	}{
		"nothing":           {nil, 4, ""},
		"a step is missing": {map[string][]byte{step(2): nil}, 2, step(2) + " is missing"},
		"the last is missing": {map[string][]byte{step(3): nil}, 3,
			""}, // no error: the files do not show how many there were
		"a byte in the middle is wrong": {map[string][]byte{step(2): flipped(second, len(second)/2)}, 2, step(2) +
			" is incomplete or damaged"},
		"its last byte is wrong": {map[string][]byte{step(2): flipped(second, len(second)-1)}, 2, step(2) +
			" is incomplete or damaged"},
		"its end is missing": {map[string][]byte{step(3): read(filepath.Join(whole,
			step(3)))[:len(second)-1]}, 3, step(3) + " is incomplete or damaged"},
		"something follows it": {map[string][]byte{step(2): append(bytes.Clone(second), 0)}, 2, step(2) +
			" is incomplete or damaged"},
		"it is empty": {map[string][]byte{step(1): {}}, 1, step(1) + " is incomplete or damaged"},
		"it is another step": {map[string][]byte{step(2): read(filepath.Join(whole, step(1)))}, 2,
			"does not follow"},
		"it is of another trail": {map[string][]byte{step(1): read(filepath.Join(other, step(1)))}, 1,
			"does not follow"},
		"half a step beside them": {map[string][]byte{".step-123": second[:100], "000004.step.age.part": second},
			4, ""},
	} {
		dir := filepath.Join(t.TempDir(), filepath.Base(whole))
		if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
			t.Fatal(err)
		}
		for file, content := range c.change {
			if content == nil {
				if err := os.Remove(filepath.Join(dir, file)); err != nil {
					t.Fatal(err)
				}
			} else if err := os.WriteFile(filepath.Join(dir, file), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		f, got, err := followUp(t, dir, key)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if want := []string{"n0", "n1", "n2", "n3"}[:c.steps]; f.Steps != c.steps || !slices.Equal(got, want) {
			t.Errorf("%s: %d increments with %v, want %d with %v", name, f.Steps, got, c.steps, want)
		}
		if (f.Broken == nil) != (c.says == "") || c.says != "" && !strings.Contains(f.Broken.Error(), c.says) {
			t.Errorf("%s: got %v, want %q", name, f.Broken, c.says)
		}
	}
	for name, content := range map[string][]byte{"missing": nil, "damaged": flipped(read(filepath.Join(whole, step(0))),
		3000)} {
		dir := filepath.Join(t.TempDir(), filepath.Base(whole))
		if err := errors.Join(os.CopyFS(dir, os.DirFS(whole)), os.Remove(filepath.Join(dir, step(0)))); err != nil {
			t.Fatal(err)
		}
		if content != nil {
			if err := os.WriteFile(filepath.Join(dir, step(0)), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, _, err := followUp(t, dir, key); err == nil || !strings.Contains(err.Error(), step(0)) {
			t.Errorf("the first increment is %s: got %v, want an error that names it", name, err)
		}
	}
}

// TestReplayRefusesTornIncrement checks that an increment is refused if a power cut left only a prefix of it, or zeros.
// replay ignores an increment that is still being written: that file has another name.
func TestReplayRefusesTornIncrement(t *testing.T) {
	t.Parallel()
	path := oneTrail(t, nil)
	last := filepath.Join(path, incrementName(3, false))
	content, err := os.ReadFile(last)
	if err != nil {
		t.Fatal(err)
	}
	file, err := sqlite.CreatePageFile(filepath.Join(t.TempDir(), DatabaseFile))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var end incrementEnd
	var before incrementHead
	for n := range 3 {
		step := filepath.Join(path, incrementName(n, false))
		head, next, err := checkIncrement(step, nil, file.Sums, func(incrementHead) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		if _, err := readIncrement(step, nil, func(incrementHead) error { return nil }, file.Put); err != nil {
			t.Fatal(err)
		}
		before, end = head, next
	}
	check := func() error {
		_, _, err := checkIncrement(last, nil, file.Sums, func(head incrementHead) error {
			return requireNext(head,
				before, end, 3)
		})
		return err
	}
	if err := check(); err != nil {
		t.Fatalf("the whole increment: %v", err)
	}
	if _, _, err := checkIncrement(last, nil, make(sqlite.PageSums, len(file.Sums)),
		func(incrementHead) error { return nil }); err == nil {
		t.Error("an increment was accepted although its pages belong to another database")
	}
	leave := func(content []byte) {
		if err := errors.Join(os.Remove(last), os.WriteFile(last, content, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for length := range content {
		leave(content[:length])
		if err := check(); err == nil {
			t.Errorf("%d of %d bytes were accepted as the increment", length, len(content))
		}
		torn := append(bytes.Clone(content[:length]), make([]byte, len(content)-length)...)
		leave(torn)
		if err := check(); err == nil && !bytes.Equal(torn, content) {
			t.Errorf("%d of %d bytes and zeros were accepted as the increment", length, len(content))
		}
	}
	if err := os.Remove(last); err != nil {
		t.Fatal(err)
	}
	for _, length := range []int{0, 1, len(content) / 2, len(content)} {
		if err := os.WriteFile(filepath.Join(path, ".step-1"), content[:length], 0o600); err != nil {
			t.Fatal(err)
		}
		if f, got, err := followUp(t, path, nil); err != nil || f.Steps != 3 || len(got) != 3 || f.Broken != nil {
			t.Errorf("with %d bytes and another name: %+v, %v, %v", length, f, got, err)
		}
	}
}

// TestFailedPutIsRepeated checks that after a failed write, the next increment also contains the changes of the failed
// one.
func TestFailedPutIsRepeated(t *testing.T) {
	t.Parallel()
	dir, second := clinicDir(t), t.TempDir()
	f := opened(t, dir, Plan{})
	k := f.newFollower(t, Plan{Destination: second, Keep: Keep{Days: 1}})
	defer k.Close()
	if err := k.follow(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	f.note(t, "n1")
	// A directory at the path of the increment makes put fail: the increment is written, but cannot get its name.
	inTheWay := filepath.Join(k.chain.path, incrementName(1, false))
	if err := os.MkdirAll(filepath.Join(inTheWay, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := k.follow(t.Context(), time.Now()); err == nil {
			t.Fatal("the increment was written to an impossible path")
		}
	}
	if left, err := filepath.Glob(filepath.Join(k.chain.path, incrementPartial)); err != nil || len(left) > 0 {
		t.Errorf("left is %v", left)
	}
	if left, err := filepath.Glob(filepath.Join(dir, SpoolPattern)); err != nil || len(left) > 0 {
		t.Errorf("remaining in the data directory: %v", left)
	}
	f.note(t, "n2")
	if err := os.RemoveAll(inTheWay); err != nil {
		t.Fatal(err)
	}
	if err := k.follow(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	if got, ids, err := followUp(t, k.chain.path, nil); err != nil || got.Steps != 2 ||
		!slices.Equal(ids, []string{"n1", "n2"}) {
		t.Errorf("incremental backups: %+v with %v, %v; want two increments with both", got, ids, err)
	}
}

// TestCancelledRestoreLeavesNothing checks that a cancelled restore leaves no data in plain text.
func TestCancelledRestoreLeavesNothing(t *testing.T) {
	t.Parallel()
	path, into := oneTrail(t, nil), t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if f, err := replay(ctx, path, path, into, nil, time.Time{}); !errors.Is(err, context.Canceled) || f.Steps > 0 {
		t.Errorf("got %+v, %v, want context.Canceled", f, err)
	}
	if _, err := Open(ctx, OpenOptions{Path: path, Data: into}); !errors.Is(err, context.Canceled) {
		t.Errorf("Open returned %v, want %v", err, context.Canceled)
	}
	if left, err := filepath.Glob(filepath.Join(into, OpenedPattern)); err != nil || len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

// TestNewerListsLaterIncrementals checks that Newer lists copies with later changes, so that an operator can notice
// that the restored copy was the wrong one.
func TestNewerListsLaterIncrementals(t *testing.T) {
	t.Parallel()
	dir, second := clinicDir(t), t.TempDir()
	nightly := filepath.Join(second, ownName(time.Now().Add(-12*time.Hour)))
	createBackup(t, dir, nightly)
	snapshot := filepath.Join(second, "before.db")
	if err := disk.Copy(filepath.Join(nightly, DatabaseFile), snapshot); err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-100 * time.Hour)
	if err := os.Chtimes(snapshot, long, long); err != nil {
		t.Fatal(err)
	}
	f := opened(t, dir, Plan{})
	for range 2 { // each is a separate incremental backup
		k := f.newFollower(t, Plan{Destination: second, Keep: Keep{Days: 1}})
		if err := errors.Join(k.follow(t.Context(), time.Now()), k.Close()); err != nil {
			t.Fatal(err)
		}
	}
	f.stop()
	trails := incrementalsOf(t, second)
	if len(trails) != 2 {
		t.Fatalf("incremental backups: %+v, want two", trails)
	}
	foreign := filepath.Join(second, incrementalName(9, markOf("another")))
	if err := os.CopyFS(foreign, os.DirFS(trails[1].Path)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		backup string
		newer  []Incremental
	}{{nightly, trails}, {snapshot, trails}, {trails[0].Path, trails[1:]}, {trails[1].Path, nil}} {
		_, b, done, err := restored(t, c.backup, nil, Access{}, time.Time{})
		if err != nil {
			t.Errorf("%s: %v", c.backup, err)
			continue
		}
		newer, err := b.Newer(t.Context(), done.Mark)
		if err != nil || !slices.Equal(newer, c.newer) {
			t.Errorf("newer than %s: %+v, %v; want %+v", c.backup, newer, err, c.newer)
		}
	}
}

func TestFollowerRefusesUnsealedNextToSealed(t *testing.T) {
	t.Parallel()
	sealed := oneTrail(t, newKey(t))
	f := opened(t, clinicDir(t), Plan{})
	k := f.newFollower(t, Plan{Destination: filepath.Dir(sealed), Keep: Keep{Days: 1}})
	defer k.Close()
	if err := k.follow(t.Context(), time.Now()); err == nil || !strings.Contains(err.Error(), RecipientFile) {
		t.Errorf("got %v, want an error that names %s", err, RecipientFile)
	}
	if list := incrementalsOf(t, filepath.Dir(sealed)); len(list) != 1 {
		t.Errorf("incremental backups: %+v", list)
	}
}
