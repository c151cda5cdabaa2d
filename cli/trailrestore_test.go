package cli

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

	"filippo.io/age"

	"holdfast/store/sqlite"
)

// oneTrail makes a trail of four steps, with the notes n0 to n3, sealed for key if it is not nil.
func oneTrail(t *testing.T, key *age.X25519Identity) string {
	t.Helper()
	dir, second := clinicDir(t), t.TempDir()
	if key != nil {
		if err := os.WriteFile(filepath.Join(dir, recipientFile), []byte(key.Recipient().String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f := following(t, dir)
	f.copied.Store(new(time.Time))
	k := f.newTrailKeeper(f.store.(*sqlite.Store), backupPlan{second: second, keep: backupKeep{days: 1}})
	defer k.pages.Close()
	for _, id := range []string{"n0", "n1", "n2", "n3"} {
		f.note(t, id)
		if err := k.follow(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	if k.trail.next != 4 {
		t.Fatalf("the trail has %d steps, want 4", k.trail.next)
	}
	f.stop()
	return k.trail.path
}

// followUp follows a trail into a new directory and checks the database there.
func followUp(t *testing.T, path string, key *age.X25519Identity) (followed, []string, error) {
	t.Helper()
	into := t.TempDir()
	f, err := followTrail(t.Context(), path, path, into, key, time.Time{})
	if err != nil {
		return f, nil, err
	}
	if _, err := sqlite.Verify(t.Context(), filepath.Join(into, databaseFile)); err != nil {
		t.Errorf("what was put together is not sound: %v", err)
	}
	return f, notes(t, into), nil
}

// TestATrailIsFollowedAsFarAsItIsWhole: what is missing, damaged, cut, mixed up or of another trail is named, and what was before is there.
func TestATrailIsFollowedAsFarAsItIsWhole(t *testing.T) {
	t.Parallel()
	key := sealingKey(t)
	whole, other := oneTrail(t, key), oneTrail(t, key)
	step := func(n int) string { return stepName(n, true) }
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
		steps  int               // that are followed
		says   string
	}{
		"nothing":                       {nil, 4, ""},
		"a step is missing":             {map[string][]byte{step(2): nil}, 2, step(2) + " is missing"},
		"the last is missing":           {map[string][]byte{step(3): nil}, 3, ""}, // who has made it knows; nobody else can
		"a byte in the middle is wrong": {map[string][]byte{step(2): flipped(second, len(second)/2)}, 2, step(2) + " is not whole"},
		"its last byte is wrong":        {map[string][]byte{step(2): flipped(second, len(second)-1)}, 2, step(2) + " is not whole"},
		"its end is missing":            {map[string][]byte{step(3): read(filepath.Join(whole, step(3)))[:len(second)-1]}, 3, step(3) + " is not whole"},
		"something follows it":          {map[string][]byte{step(2): append(bytes.Clone(second), 0)}, 2, step(2) + " is not whole"},
		"it is empty":                   {map[string][]byte{step(1): {}}, 1, step(1) + " is not whole"},
		"it is another step":            {map[string][]byte{step(2): read(filepath.Join(whole, step(1)))}, 2, "does not follow"},
		"it is of another trail":        {map[string][]byte{step(1): read(filepath.Join(other, step(1)))}, 1, "does not follow"},
		"half a step beside them":       {map[string][]byte{".step-123": second[:100], "000004.step.age.part": second}, 4, ""},
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
		if want := []string{"n0", "n1", "n2", "n3"}[:c.steps]; f.steps != c.steps || !slices.Equal(got, want) {
			t.Errorf("%s: %d steps with %v, want %d with %v", name, f.steps, got, c.steps, want)
		}
		if (f.broken == nil) != (c.says == "") || c.says != "" && !strings.Contains(f.words(), c.says) {
			t.Errorf("%s: it says %q, want %q", name, f.words(), c.says)
		}
	}
	for name, content := range map[string][]byte{"missing": nil, "damaged": flipped(read(filepath.Join(whole, step(0))), 3000)} {
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
			t.Errorf("the first step is %s: got %v, want an error that names it", name, err)
		}
	}
}

// TestACrashAtEachWriteOfAStep: a step that is being written has another name, so nobody takes it for one; and after a power cut that has left its
// name and not its content, whatever length that has, it is found out. No length of either is taken for the step.
func TestACrashAtEachWriteOfAStep(t *testing.T) {
	t.Parallel()
	path := oneTrail(t, nil)
	last := filepath.Join(path, stepName(3, false))
	content, err := os.ReadFile(last)
	if err != nil {
		t.Fatal(err)
	}
	file, err := sqlite.CreatePageFile(filepath.Join(t.TempDir(), databaseFile))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var end stepEnd
	var before stepHead
	for n := range 3 {
		step := filepath.Join(path, stepName(n, false))
		head, next, err := checkStep(step, nil, file.Sums, func(stepHead) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		if _, err := readStep(step, nil, func(stepHead) error { return nil }, file.Put); err != nil {
			t.Fatal(err)
		}
		before, end = head, next
	}
	check := func() error {
		_, _, err := checkStep(last, nil, file.Sums, func(head stepHead) error { return belongs(head, before, end, 3) })
		return err
	}
	if err := check(); err != nil {
		t.Fatalf("the whole step: %v", err)
	}
	if _, _, err := checkStep(last, nil, make(sqlite.PageSums, len(file.Sums)), func(stepHead) error { return nil }); err == nil {
		t.Error("a step is taken whose pages do not make the database that it was made of")
	}
	leave := func(content []byte) {
		if err := errors.Join(os.Remove(last), os.WriteFile(last, content, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for length := range content {
		leave(content[:length])
		if err := check(); err == nil {
			t.Errorf("%d of %d bytes are taken for the step", length, len(content))
		}
		torn := append(bytes.Clone(content[:length]), make([]byte, len(content)-length)...)
		leave(torn)
		if err := check(); err == nil && !bytes.Equal(torn, content) {
			t.Errorf("%d of %d bytes and zeros are taken for the step", length, len(content))
		}
	}
	if err := os.Remove(last); err != nil {
		t.Fatal(err)
	}
	for _, length := range []int{0, 1, len(content) / 2, len(content)} {
		if err := os.WriteFile(filepath.Join(path, ".step-1"), content[:length], 0o600); err != nil {
			t.Fatal(err)
		}
		if f, got, err := followUp(t, path, nil); err != nil || f.steps != 3 || len(got) != 3 || f.broken != nil {
			t.Errorf("with %d bytes under another name: %+v, %v, %v", length, f, got, err)
		}
	}
}

// TestAStepThatWasNotPutIsPutAgain: a disk that is full at whichever write, or gone before the name is given, changes nothing, and the next
// try has what the one before had.
func TestAStepThatWasNotPutIsPutAgain(t *testing.T) {
	t.Parallel()
	dir, second := clinicDir(t), t.TempDir()
	f := following(t, dir)
	f.copied.Store(new(time.Time))
	k := f.newTrailKeeper(f.store.(*sqlite.Store), backupPlan{second: second, keep: backupKeep{days: 1}})
	defer k.pages.Close()
	if err := k.follow(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	f.note(t, "n1")
	// A directory in the place of the step's name stands for every refusal: the step is written, and cannot be named.
	inTheWay := filepath.Join(k.trail.path, stepName(1, false))
	if err := os.MkdirAll(filepath.Join(inTheWay, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := k.follow(t.Context(), time.Now()); err == nil {
			t.Fatal("the step was put where it cannot be")
		}
	}
	if left, err := filepath.Glob(filepath.Join(k.trail.path, stepPartial)); err != nil || len(left) > 0 {
		t.Errorf("left is %v", left)
	}
	if left, err := filepath.Glob(filepath.Join(dir, spoolFile)); err != nil || len(left) > 0 {
		t.Errorf("left in the data directory is %v", left)
	}
	f.note(t, "n2")
	if err := os.RemoveAll(inTheWay); err != nil {
		t.Fatal(err)
	}
	if err := k.follow(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	if got, ids, err := followUp(t, k.trail.path, nil); err != nil || got.steps != 2 || !slices.Equal(ids, []string{"n1", "n2"}) {
		t.Errorf("followed are %+v with %v, %v; want two steps with both", got, ids, err)
	}
}

// TestARestoreThatIsCalledOffEnds, and leaves nothing in the clear.
func TestARestoreThatIsCalledOffEnds(t *testing.T) {
	t.Parallel()
	path, into := oneTrail(t, nil), t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if f, err := followTrail(ctx, path, path, into, nil, time.Time{}); !errors.Is(err, context.Canceled) || f.steps > 0 {
		t.Errorf("got %+v, %v, want that it was called off", f, err)
	}
	if _, _, _, err := (process{}).opened(ctx, config{data: into}, path, "", time.Time{}); !errors.Is(err, context.Canceled) {
		t.Errorf("opened says %v, want that it was called off", err)
	}
	if left, err := filepath.Glob(filepath.Join(into, unsealedDir)); err != nil || len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

// TestRestoreNamesTheTrailsThatAreNewer than what it has restored, which is the moment to notice that it was the wrong one.
func TestRestoreNamesTheTrailsThatAreNewer(t *testing.T) {
	t.Parallel()
	dir, second := clinicDir(t), t.TempDir()
	nightly := filepath.Join(second, ownBackupName(time.Now().Add(-12*time.Hour)))
	must(t, "backup", "--data", dir, "--to", nightly)
	snapshot := filepath.Join(second, "before.db")
	if err := copyFile(filepath.Join(nightly, databaseFile), snapshot); err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-100 * time.Hour)
	if err := os.Chtimes(snapshot, long, long); err != nil {
		t.Fatal(err)
	}
	f := following(t, dir)
	f.copied.Store(new(time.Time))
	for range 2 { // each is a trail of its own
		k := f.newTrailKeeper(f.store.(*sqlite.Store), backupPlan{second: second, keep: backupKeep{days: 1}})
		if err := errors.Join(k.follow(t.Context(), time.Now()), k.pages.Close()); err != nil {
			t.Fatal(err)
		}
	}
	f.stop()
	trails := trailsOf(t, second)
	if len(trails) != 2 {
		t.Fatalf("there are %+v, want two trails", trails)
	}
	foreign := filepath.Join(second, trailName(9, trailMark("another")))
	if err := os.CopyFS(foreign, os.DirFS(trails[1].path)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		backup string
		newer  []trailAt
	}{{nightly, trails}, {snapshot, trails}, {trails[0].path, trails[1:]}, {trails[1].path, nil}} {
		said := must(t, "restore", "--data", filepath.Join(t.TempDir(), "data"), c.backup)
		if strings.Contains(said, "NOT restored") != (len(c.newer) > 0) || strings.Contains(said, foreign) {
			t.Errorf("of %s it says %q", c.backup, said)
		}
		for _, newer := range c.newer {
			contains(t, "restore", said, "  "+newer.path+"  up to ")
		}
	}
}

// TestNothingIsFollowedInTheClearBesideSealedSteps, as nothing is copied.
func TestNothingIsFollowedInTheClearBesideSealedSteps(t *testing.T) {
	t.Parallel()
	sealed := oneTrail(t, sealingKey(t))
	f := following(t, clinicDir(t))
	k := f.newTrailKeeper(f.store.(*sqlite.Store), backupPlan{second: filepath.Dir(sealed), keep: backupKeep{days: 1}})
	defer k.pages.Close()
	if err := k.follow(t.Context(), time.Now()); err == nil || !strings.Contains(err.Error(), recipientFile) {
		t.Errorf("got %v, want an error that names %s", err, recipientFile)
	}
	if list := trailsOf(t, filepath.Dir(sealed)); len(list) != 1 {
		t.Errorf("there are %+v", list)
	}
}
