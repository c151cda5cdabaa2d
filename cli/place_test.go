package cli

import (
	"crypto/sha256"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/store/bucket/buckettest"
)

// inBucket is a place in a bucket of a service that runs until the test ends, and the flags that reach it.
func inBucket(t *testing.T) (name string, flags []string, s *buckettest.Service) {
	t.Helper()
	s = buckettest.Start(t)
	return bucketScheme + buckettest.Name + "/copies/berlin", reach(s.URL, buckettest.Access, buckettest.Secret), s
}

// reach are the flags that reach a service.
func reach(endpoint, access, secret string) []string {
	return []string{"--backup-s3-endpoint", endpoint, "--backup-s3-access-key", access, "--backup-s3-secret-key", secret}
}

// eachPlace runs a test with a place of each kind.
func eachPlace(t *testing.T, test func(t *testing.T, name string, flags []string)) {
	t.Helper()
	t.Run("directory", func(t *testing.T) {
		t.Parallel()
		test(t, t.TempDir(), nil)
	})
	t.Run("bucket", func(t *testing.T) {
		t.Parallel()
		name, flags, _ := inBucket(t)
		test(t, name, flags)
	})
}

// openPlace is the place that these flags lead to.
func openPlace(t *testing.T, name string, flags []string) place {
	t.Helper()
	cfg, _, err := resolved(t, nil, append([]string{"--backup-to", name}, flags...)...)
	if err != nil {
		t.Fatal(err)
	}
	return cfg.backups.place(t.TempDir())
}

// TestPlacesKeepTheSamePromises: what is put is there under its name, whole, and goes when it is deleted.
func TestPlacesKeepTheSamePromises(t *testing.T) {
	t.Parallel()
	eachPlace(t, func(t *testing.T, name string, flags []string) {
		p, ctx := openPlace(t, name, flags), t.Context()
		dir, key := clinicDir(t), sealingKey(t)
		if names, err := p.sets(ctx); err != nil || len(names) > 0 {
			t.Errorf("at first it has %v, %v", names, err)
		}
		var want []string
		for _, made := range []string{"2026-01-03T03:00:00Z", "2026-01-02T03:00:00Z"} {
			set := ownBackupName(at(t, made))
			from := filepath.Join(t.TempDir(), set)
			must(t, "backup", "--data", dir, "--to", from)
			if err := p.copyBackup(ctx, from, set, key.Recipient()); err != nil {
				t.Fatal(err)
			}
			want = append(want, set)
		}
		slices.Sort(want)
		all, err := p.backups(ctx)
		if err != nil || len(all) != 2 || all[0].name != want[0] || all[1].name != want[1] || !all[0].own || all[0].bytes < 4096 {
			t.Fatalf("backups are %+v, %v; want %v", all, err, want)
		}

		content := []byte("a step")
		step := write(t, string(content))
		sum, made := sha256.Sum256(content), time.Now()
		first, second := trailName(7, "a"), trailName(8, "a")
		for _, set := range []string{second, first} {
			if err := p.beginTrail(set); err != nil {
				t.Fatal(err)
			}
			for n := range 3 {
				if err := p.putStep(ctx, step, set, stepName(n, true), sum[:], made); err != nil {
					t.Fatal(err)
				}
			}
			if err := p.finish(); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.putStep(ctx, step, first, stepName(3, true), make([]byte, len(sum)), made); err == nil {
			t.Error("what is not what was read out of the database was put")
		}
		trails, err := p.trails(ctx)
		if err != nil || len(trails) != 2 || trails[0].number != 7 || trails[0].steps < 3 || !trails[0].sealed || trails[1].path != p.path(second) {
			t.Errorf("trails are %+v, %v", trails, err)
		} else if since := trails[1].last.Sub(made); since.Abs() > time.Minute || trails[1].bytes != 3*int64(len(content)) {
			t.Errorf("the second is of %s, %d bytes", trails[1].last, trails[1].bytes)
		}
		if there, err := p.hasStep(ctx, second, stepName(2, true), int64(len(content))); err != nil || !there {
			t.Errorf("the last step: %t, %v", there, err)
		}
		for _, c := range []struct {
			file  string
			bytes int64
		}{{stepName(3, true), 6}, {stepName(2, true), 5}, {stepName(2, false), 6}} {
			if there, err := p.hasStep(ctx, second, c.file, c.bytes); err != nil || there {
				t.Errorf("%s of %d bytes: %t, %v; want that it is not there", c.file, c.bytes, there, err)
			}
		}
		for _, set := range []string{first, want[0], "never-was"} {
			if err := p.remove(ctx, set); err != nil {
				t.Error(err)
			}
		}
		names, err := p.sets(ctx)
		slices.Sort(names)
		if left := []string{want[1], second}; err != nil || !slices.Equal(names, left) {
			t.Errorf("left are %v, %v; want %v", names, err, left)
		}
		if all, err := p.backups(ctx); err != nil || len(all) != 1 {
			t.Errorf("left are the backups %+v, %v", all, err)
		}
	})
}

// TestAHalfBackupInABucketIsNone: its database comes last.
func TestAHalfBackupInABucketIsNone(t *testing.T) {
	t.Parallel()
	name, flags, s := inBucket(t)
	p, set := openPlace(t, name, flags), ownBackupName(at(t, "2026-01-02T03:00:00Z"))
	from := filepath.Join(t.TempDir(), set)
	must(t, "backup", "--data", clinicDir(t), "--to", from)
	if err := p.copyBackup(t.Context(), from, set, sealingKey(t).Recipient()); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(s.Root, "copies", "berlin", set)
	database, err := os.Stat(filepath.Join(dir, databaseFile+sealedSuffix))
	if err != nil {
		t.Fatal(err)
	}
	if keys, err := os.Stat(filepath.Join(dir, secretFile+sealedSuffix)); err != nil || keys.ModTime().After(database.ModTime()) {
		t.Errorf("the keys came after the database (%v)", err)
	}
	if err := os.Remove(filepath.Join(dir, databaseFile+sealedSuffix)); err != nil {
		t.Fatal(err)
	}
	if all, err := openPlace(t, name, flags).backups(t.Context()); err != nil || len(all) > 0 {
		t.Errorf("without its database the bucket has %+v, %v", all, err)
	}
	if left, _ := filepath.Glob(filepath.Join(p.(*bucketPlace).spool, "*")); len(left) > 0 {
		t.Errorf("beside the database is left %v", left)
	}
}

// TestACopyThatReadsBackAsSomethingElseIsCopiedAgain, and is no backup until then, though all of it is there.
func TestACopyThatReadsBackAsSomethingElseIsCopiedAgain(t *testing.T) {
	t.Parallel()
	st := standBefore(t, buckettest.Start(t))
	f, trails, _ := inBucketOf(t, st, buckettest.Access, buckettest.Secret, backupKeep{days: 1})
	k := f.newBackupKeeper(trails.plan)
	k.plan.on = true
	now := time.Now()
	st.set(func(w http.ResponseWriter, r *http.Request, pass func()) {
		if r.Method == http.MethodGet && isDatabase(path.Base(r.URL.Path)) {
			_, _ = io.WriteString(w, "something else")
			return
		}
		pass()
	})
	for n := range 2 {
		if err := k.keep(t.Context(), now); err == nil || !strings.Contains(err.Error(), "reads back as something else") {
			t.Errorf("try %d: %v", n+1, err)
		}
		if last, err := k.lastGoodBackup(k.plan); err == nil {
			t.Errorf("try %d: the last good backup is of %s", n+1, last)
		}
	}
	st.set(nil)
	if err := k.keep(t.Context(), now); err != nil {
		t.Error(err)
	}
	if all, err := k.second.backups(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("the bucket has %+v, %v; want the backup", all, err)
	}
}

// TestABucketTakesNothingInTheClear, whatever else is as it should be.
func TestABucketTakesNothingInTheClear(t *testing.T) {
	t.Parallel()
	name, flags, s := inBucket(t)
	dir := clinicDir(t)
	f := following(t, dir, append(flags, "--backup-to", name, "--backup-every", "1s")...)
	eventually(t, "it is said", func() bool { return strings.Contains(f.log.String(), "holdfast backup-key") })
	if left, _ := os.ReadDir(s.Root); len(left) > 0 {
		t.Errorf("the bucket has %v", left)
	}
	must(t, "backup-key", "--data", dir) // a server that runs takes it up
	eventually(t, "a copy is there", func() bool { at, _ := f.engine.LastCopy(); return !at.IsZero() })
	f.stop()
	err := filepath.WalkDir(s.Root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if !strings.HasPrefix(string(text), "age-encryption.org/") {
			t.Errorf("%s can be read by anybody", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
