package backup

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

	"filippo.io/age"

	"holdfast/store/bucket/buckettest"
)

// inBucket starts a service that runs until the test ends. It returns the name of a destination in its bucket, and the
// settings for connecting to it.
func inBucket(t *testing.T) (name string, access Access, s *buckettest.Service) {
	t.Helper()
	s = buckettest.Start(t)
	return bucketScheme + buckettest.Name + "/copies/berlin", accessTo(s.URL), s
}

// accessTo returns the settings for connecting to a service as the owner of the bucket.
func accessTo(endpoint string) Access {
	return Access{Endpoint: endpoint, Region: "us-east-1", AccessKey: buckettest.Access, SecretKey: buckettest.Secret}
}

// eachDestination runs a test with a destination of each kind.
func eachDestination(t *testing.T, test func(t *testing.T, open func() destination)) {
	t.Helper()
	t.Run("directory", func(t *testing.T) {
		t.Parallel()
		name := t.TempDir()
		test(t, func() destination { return directory(name) })
	})
	t.Run("bucket", func(t *testing.T) {
		t.Parallel()
		name, access, _ := inBucket(t)
		test(t, func() destination { return access.open(name, t.TempDir()) })
	})
}

// TestDestinationContract is the suite for both kinds of destination. A stored file must be complete, and must exist
// under its name until it is removed.
func TestDestinationContract(t *testing.T) {
	t.Parallel()
	eachDestination(t, func(t *testing.T, open func() destination) {
		p, ctx := open(), t.Context()
		dir, key := clinicDir(t), newKey(t)
		if names, err := p.sets(ctx); err != nil || len(names) > 0 {
			t.Errorf("before the first backup: %v, %v", names, err)
		}
		var want []string
		for _, made := range []string{"2026-01-03T03:00:00Z", "2026-01-02T03:00:00Z"} {
			set := ownName(at(t, made))
			from := filepath.Join(t.TempDir(), set)
			createBackup(t, dir, from)
			if err := p.copyBackup(ctx, from, set, key.identity.Recipient()); err != nil {
				t.Fatal(err)
			}
			want = append(want, set)
		}
		slices.Sort(want)
		all, err := p.backups(ctx)
		if err != nil || len(all) != 2 || all[0].name != want[0] || all[1].name != want[1] || !all[0].own ||
			all[0].bytes < 4096 {
			t.Fatalf("backups are %+v, %v; want %v", all, err, want)
		}

		content := []byte("a step")
		step := write(t, string(content))
		sum, made := sha256.Sum256(content), time.Now()
		first, second := incrementalName(7, "a"), incrementalName(8, "a")
		for _, set := range []string{second, first} {
			if err := p.begin(set); err != nil {
				t.Fatal(err)
			}
			for n := range 3 {
				if err := p.put(ctx, step, set, incrementName(n, true), sum[:], made); err != nil {
					t.Fatal(err)
				}
			}
			if err := p.finish(); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.put(ctx, step, first, incrementName(3, true), make([]byte, len(sum)), made); err == nil {
			t.Error("the uploaded content differs from the database")
		}
		trails, err := p.incrementals(ctx)
		if err != nil || len(trails) != 2 || trails[0].Number != 7 || trails[0].Steps < 3 || !trails[0].Sealed ||
			trails[1].Path != p.path(second) {
			t.Errorf("incremental backups are %+v, %v", trails, err)
		} else if since := trails[1].Last.Sub(made); since.Abs() > time.Minute ||
			trails[1].Bytes != 3*int64(len(content)) {
			t.Errorf("the second is of %s, %d bytes", trails[1].Last, trails[1].Bytes)
		}
		if there, err := p.has(ctx, second, incrementName(2, true), int64(len(content))); err != nil || !there {
			t.Errorf("the last increment: %t, %v", there, err)
		}
		for _, c := range []struct {
			file  string
			bytes int64
		}{{incrementName(3, true), 6}, {incrementName(2, true), 5}, {incrementName(2, false), 6}} {
			if there, err := p.has(ctx, second, c.file, c.bytes); err != nil || there {
				t.Errorf("%s of %d bytes: %t, %v; want that it is missing", c.file, c.bytes, there, err)
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
			t.Errorf("remaining files: %v, %v; want %v", names, err, left)
		}
		if all, err := p.backups(ctx); err != nil || len(all) != 1 {
			t.Errorf("remaining backups: %+v, %v", all, err)
		}
	})
}

// TestVerifyOfPostgreSQLSaysHow: verify cannot read a script of psql, and says how the backup can be verified.
func TestVerifyOfPostgreSQLSaysHow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, ScriptFile), []byte("SELECT 1;"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := Verify(t.Context(), dir, nil)
	if err == nil || !strings.Contains(err.Error(), "then run: holdfast verify") {
		t.Errorf("got %v, want how to verify the backup", err)
	}
}

// TestBackupsOfPostgreSQLHaveSize: the size of a backup is that of its database, whether the database is a file of
// SQLite or a script for psql, encrypted or not.
func TestBackupsOfPostgreSQLHaveSize(t *testing.T) {
	t.Parallel()
	eachDestination(t, func(t *testing.T, open func() destination) {
		const size = 5000
		p, from, key := open(), t.TempDir(), newKey(t)
		for name, n := range map[string]int{ScriptFile: size, KeysFile: 100} {
			if err := os.WriteFile(filepath.Join(from, name), make([]byte, n), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		recipients := []*age.X25519Recipient{key.identity.Recipient()}
		if _, plain := p.(directory); plain {
			recipients = append(recipients, nil)
		}
		for i, to := range recipients {
			set := ownName(at(t, "2026-01-02T03:00:00Z").AddDate(0, 0, i))
			if err := p.copyBackup(t.Context(), from, set, to); err != nil {
				t.Fatal(err)
			}
		}
		all, err := p.backups(t.Context())
		if err != nil || len(all) != len(recipients) {
			t.Fatalf("backups are %+v, %v; want %d", all, err, len(recipients))
		}
		for _, b := range all {
			if b.bytes < size || b.bytes > size+1000 {
				t.Errorf("%s has %d bytes, want about %d", b.name, b.bytes, size)
			}
		}
	})
}

// TestBucketListsNoPartialBackup checks that an incomplete backup is not listed, because its database is uploaded last.
func TestBucketListsNoPartialBackup(t *testing.T) {
	t.Parallel()
	name, access, s := inBucket(t)
	p, set := access.open(name, t.TempDir()), ownName(at(t, "2026-01-02T03:00:00Z"))
	from := filepath.Join(t.TempDir(), set)
	createBackup(t, clinicDir(t), from)
	if err := p.copyBackup(t.Context(), from, set, newKey(t).identity.Recipient()); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(s.Root, "copies", "berlin", set)
	database, err := os.Stat(filepath.Join(dir, DatabaseFile+sealedSuffix))
	if err != nil {
		t.Fatal(err)
	}
	if keys, err := os.Stat(filepath.Join(dir, KeysFile+sealedSuffix)); err != nil ||
		keys.ModTime().After(database.ModTime()) {
		t.Errorf("the keys were uploaded after the database (%v)", err)
	}
	if err := os.Remove(filepath.Join(dir, DatabaseFile+sealedSuffix)); err != nil {
		t.Fatal(err)
	}
	if all, err := access.open(name, t.TempDir()).backups(t.Context()); err != nil || len(all) > 0 {
		t.Errorf("without its database file, the bucket lists %+v, %v", all, err)
	}
	if left, _ := filepath.Glob(filepath.Join(p.spool, "*")); len(left) > 0 {
		t.Errorf("next to the database: %v", left)
	}
}

// TestDailyRepeatsDamagedCopy checks that Daily copies a backup again if the copy is damaged. Until then, the copy does
// not count as a backup, even though all of its files exist.
func TestDailyRepeatsDamagedCopy(t *testing.T) {
	t.Parallel()
	st := standBefore(t, buckettest.Start(t))
	f, _, _ := inBucketOf(t, st, buckettest.Access, buckettest.Secret, Keep{Days: 1})
	f.Plan.Daily = true
	k := f.Daily()
	now := time.Now()
	st.set(func(w http.ResponseWriter, r *http.Request, pass func()) {
		if r.Method == http.MethodGet && isDatabase(path.Base(r.URL.Path)) {
			_, _ = io.WriteString(w, "something else")
			return
		}
		pass()
	})
	for n := range 2 {
		if err := k.run(t.Context(), now); err == nil || !strings.Contains(err.Error(),
			"differs from the original when read back") {
			t.Errorf("try %d: %v", n+1, err)
		}
		if last, err := f.Last(); err == nil {
			t.Errorf("attempt %d: the last good backup is of %s", n+1, last)
		}
	}
	st.set(nil)
	if err := k.run(t.Context(), now); err != nil {
		t.Error(err)
	}
	if all, err := k.destination.backups(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("the bucket has %+v, %v; want the backup", all, err)
	}
}

func TestBucketGetsSealedFilesOnly(t *testing.T) {
	t.Parallel()
	name, access, s := inBucket(t)
	dir := clinicDir(t)
	f := opened(t, dir, Plan{})
	k := f.newFollower(t, Plan{Destination: name, Access: access, Keep: Keep{Days: 1}})
	defer k.Close()
	k.Run(t.Context(), time.Now())
	contains(t, "the log", f.log.String(), "holdfast backup-key")
	if left, _ := os.ReadDir(s.Root); len(left) > 0 {
		t.Errorf("the bucket has %v", left)
	}
	sealing(t, dir) // a running server uses a new key
	k.Run(t.Context(), time.Now())
	if at, _ := f.LastCopy(); at.IsZero() {
		t.Errorf("the copy is missing: %s", f.log)
	}
	err := filepath.WalkDir(s.Root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if !strings.HasPrefix(string(text), "age-encryption.org/") {
			t.Errorf("other users can read %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
