package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/store/bucket"
	"holdfast/store/bucket/buckettest"
	"holdfast/store/sqlite"
)

// TestANightlyCopyInABucketIsRestoredWithThePaper: the machine is gone, and what is left is the bucket, its key and what was printed.
func TestANightlyCopyInABucketIsRestoredWithThePaper(t *testing.T) {
	t.Parallel()
	name, flags, s := inBucket(t)
	dir := clinicDir(t)
	paper := write(t, must(t, "backup-key", "--data", dir))
	exported := must(t, "export", "--data", dir)
	f := following(t, dir, append(flags, "--backup-to", name, "--backup-every", "off", "--backup-keep", "1,0,0")...)
	cfg, _, err := resolved(t, nil, append(flags, "--data", dir, "--backup-to", name, "--backup-keep", "1,0,0")...)
	if err != nil {
		t.Fatal(err)
	}
	k := f.newBackupKeeper(cfg.backups)
	today := time.Now()
	var kept []backupAt
	for n := range 3 {
		if err := k.keep(t.Context(), today.AddDate(0, 0, n)); err != nil {
			t.Fatal(err)
		}
		if kept, err = k.second.backups(t.Context()); err != nil || len(kept) != 1 {
			t.Fatalf("after %d nights the bucket has %+v, %v; want the newest", n+1, kept, err)
		}
	}
	if last, err := k.engine.LastBackup(); err != nil || !last.Equal(kept[0].made) {
		t.Errorf("the last backup is of %s, %v; want %s", last, err, kept[0].made)
	}
	f.stop()

	lost := filepath.Join(t.TempDir(), "data")
	said := must(t, append([]string{"restore", "--data", lost, "--list", name}, flags...)...)
	path := name + "/" + kept[0].name
	contains(t, "the list", said, path)
	environ := []string{"HOLDFAST_BACKUP_S3_ENDPOINT=" + s.URL, "HOLDFAST_BACKUP_S3_ACCESS_KEY=" + buckettest.Access, "HOLDFAST_BACKUP_S3_SECRET_KEY_FILE=" + write(t, buckettest.Secret+"\n")}
	for what, c := range map[string]struct {
		args []string
		says string
	}{
		"without the paper":     {[]string{path}, "is sealed"},
		"with another":          {[]string{"--key", write(t, sealingKey(t).String()), path}, path + "/" + databaseFile + sealedSuffix + " was sealed for another key"},
		"of what is not there":  {[]string{"--key", paper, name + "/auto-20200101T000000.000Z"}, "there is nothing at " + name + "/auto-2020"},
		"of no bucket":          {[]string{"--key", paper, "s3://another-one/copies/auto-20200101T000000.000Z"}, "has no bucket another-one"},
		"of what no bucket has": {[]string{"--key", paper, "s3://x"}, "should be like s3://bucket"},
	} {
		got := command(t, environ, "", append([]string{"restore", "--data", lost}, c.args...)...)
		if got.code == 0 || !strings.Contains(got.stderr, c.says) || strings.Contains(got.stderr, buckettest.Secret) {
			t.Errorf("%s: exit code %d, %q; want %q", what, got.code, got.stderr, c.says)
		}
	}
	if got := command(t, nil, "", "restore", "--data", lost, path); got.code != 2 || !strings.Contains(got.stderr, "--backup-s3-access-key") {
		t.Errorf("without the bucket's key: exit code %d, %q", got.code, got.stderr)
	}
	if got := command(t, environ, "", "restore", "--data", lost, "--key", paper, path); got.code != 0 {
		t.Fatalf("restore: exit code %d, %s", got.code, got.stderr)
	}
	if got := must(t, "export", "--data", lost); got != exported {
		t.Error("what was restored is another clinic")
	}
	if left, err := filepath.Glob(filepath.Join(lost, ".*")); err != nil || len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

// stand is a server before a service, which a test lets do what it wants: nil passes everything on.
type stand struct {
	*httptest.Server
	meddle atomic.Pointer[func(w http.ResponseWriter, r *http.Request, pass func())]
}

func standBefore(t *testing.T, s *buckettest.Service) *stand {
	t.Helper()
	target, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	st, on := &stand{}, httputil.NewSingleHostReverseProxy(target)
	st.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		pass := func() { on.ServeHTTP(w, r) }
		if meddle := st.meddle.Load(); meddle != nil {
			(*meddle)(w, r, pass)
			return
		}
		pass()
	}))
	t.Cleanup(st.Close)
	return st
}

func (s *stand) set(meddle func(w http.ResponseWriter, r *http.Request, pass func())) {
	if meddle == nil {
		s.meddle.Store(nil)
		return
	}
	s.meddle.Store(&meddle)
}

// inBucketOf is a keeper of trails in a bucket behind a stand, whose key is in the data directory. It tries again at once.
func inBucketOf(t *testing.T, st *stand, access, secret string, keep backupKeep) (*follower, *trailKeeper, string) {
	t.Helper()
	dir := clinicDir(t)
	paper := write(t, must(t, "backup-key", "--data", dir))
	f := following(t, dir)
	f.copied.Store(new(time.Time))
	name := bucketScheme + buckettest.Name + "/copies"
	plan := backupPlan{second: name, keep: keep, every: time.Minute, s3: s3Config{endpoint: st.URL, region: "us-east-1", accessKey: access, secretKey: secret}}
	k := f.newTrailKeeper(f.store.(*sqlite.Store), plan)
	k.second.(*bucketPlace).objects = bucket.New(bucket.Options{
		Endpoint: st.URL, Bucket: buckettest.Name, AccessKey: access, SecretKey: secret, Pause: time.Millisecond,
	})
	t.Cleanup(func() {
		if err := k.pages.Close(); err != nil {
			t.Error(err)
		}
	})
	return f, k, paper
}

// restoredNotes restores a trail of a bucket with the owner's key, and returns the notes in it.
func restoredNotes(t *testing.T, s *buckettest.Service, path, paper string) ([]string, string) {
	t.Helper()
	fresh := filepath.Join(t.TempDir(), "data")
	said := must(t, append([]string{"restore", "--data", fresh, "--key", paper, path}, reach(s.URL, buckettest.Access, buckettest.Secret)...)...)
	return notes(t, fresh), said
}

// TestAStepWhoseReplyWasLostIsPutAsItWas: what was under way comes later than what was put after it, and the trail is whole all the same.
func TestAStepWhoseReplyWasLostIsPutAsItWas(t *testing.T) {
	t.Parallel()
	s := buckettest.Start(t)
	st := standBefore(t, s)
	f, k, paper := inBucketOf(t, st, buckettest.Access, buckettest.Secret, backupKeep{days: 1})
	if err := k.follow(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	f.note(t, "n1")
	type sent struct {
		*http.Request
		body []byte
	}
	underWay := make(chan sent, 100)
	st.set(func(w http.ResponseWriter, r *http.Request, pass func()) {
		if r.Method != http.MethodPut {
			pass()
			return
		}
		body, _ := io.ReadAll(r.Body)
		underWay <- sent{r.Clone(context.Background()), body}
		panic(http.ErrAbortHandler)
	})
	if err := k.follow(t.Context(), time.Now()); err == nil || k.trail == nil || k.trail.unsure == nil {
		t.Fatalf("a step without a reply: %v", err)
	}
	f.note(t, "n2")
	st.set(nil)
	if err := k.follow(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	if k.trail.next != 3 || k.trail.unsure != nil {
		t.Errorf("the trail has %d steps, and %+v under way; want 3", k.trail.next, k.trail.unsure)
	}
	// Now what was sent first arrives.
	late := <-underWay
	late.URL.Scheme, late.URL.Host, late.RequestURI, late.Body = "http", strings.TrimPrefix(s.URL, "http://"), "", io.NopCloser(bytes.NewReader(late.body))
	answer, err := http.DefaultClient.Do(late.Request)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("what was late was refused: %s", answer.Status)
	}
	if got, said := restoredNotes(t, s, k.trail.path, paper); !slices.Equal(got, []string{"n1", "n2"}) || strings.Contains(said, "NOT") {
		t.Errorf("restored are %v, and it says %q", got, said)
	}
	if left, err := filepath.Glob(filepath.Join(f.dir.path, spoolFile)); err != nil || len(left) > 0 {
		t.Errorf("left in the data directory is %v", left)
	}
}

// TestABeginningWhoseReplyWasLostIsNotPutAgain: the next trail has the next number.
func TestABeginningWhoseReplyWasLostIsNotPutAgain(t *testing.T) {
	t.Parallel()
	s := buckettest.Start(t)
	st := standBefore(t, s)
	f, k, paper := inBucketOf(t, st, buckettest.Access, buckettest.Secret, backupKeep{days: 1})
	st.set(func(_ http.ResponseWriter, r *http.Request, pass func()) {
		if r.Method == http.MethodPut {
			panic(http.ErrAbortHandler)
		}
		pass()
	})
	if err := k.follow(t.Context(), time.Now()); err == nil {
		t.Fatal("a trail was begun without a reply")
	}
	st.set(nil)
	f.note(t, "n1")
	if err := k.follow(t.Context(), time.Now()); !errors.Is(err, errUnsure) || k.number != 1 {
		t.Errorf("a minute later: trail %d, %v; want that the whole database is not sent again yet", k.number, err)
	}
	if err := k.follow(t.Context(), time.Now().Add(retryBackup)); err != nil {
		t.Fatal(err)
	}
	if k.number != 2 || k.trail.set != trailName(2, k.mark) {
		t.Errorf("the trail is %s, want the second", k.trail.set)
	}
	if got, _ := restoredNotes(t, s, k.trail.path, paper); !slices.Equal(got, []string{"n1"}) {
		t.Errorf("restored are %v", got)
	}
}

// TestABucketThatCannotBeReachedLosesNothing: the trail there is goes on when it is back, and is not taken for one that was deleted.
func TestABucketThatCannotBeReachedLosesNothing(t *testing.T) {
	t.Parallel()
	s := buckettest.Start(t)
	st := standBefore(t, s)
	f, k, paper := inBucketOf(t, st, buckettest.Access, buckettest.Secret, backupKeep{days: 1})
	now := time.Now()
	k.look(t.Context(), now)
	for name, meddle := range map[string]func(http.ResponseWriter, *http.Request, func()){
		"broken": func(http.ResponseWriter, *http.Request, func()) { panic(http.ErrAbortHandler) },
		"denied": func(w http.ResponseWriter, _ *http.Request, _ func()) { w.WriteHeader(http.StatusForbidden) },
		"busy":   func(w http.ResponseWriter, _ *http.Request, _ func()) { w.WriteHeader(http.StatusServiceUnavailable) },
	} {
		st.set(meddle)
		f.note(t, name)
		k.look(t.Context(), now)
		if k.trail == nil || k.trail.unsure != nil {
			t.Fatalf("%s: the trail was given up", name)
		}
	}
	if n := strings.Count(f.log.String(), "copy of changes failed"); n != 1 {
		t.Errorf("it was said %d times, want once", n)
	}
	st.set(nil)
	k.look(t.Context(), now)
	contains(t, "the log", f.log.String(), "copies to the backup destination resumed")
	if got, _ := restoredNotes(t, s, k.trail.path, paper); len(got) != 3 || k.number != 1 || k.trail.next != 2 {
		t.Errorf("restored are %v of trail %d with %d steps; want three of one with two", got, k.number, k.trail.next)
	}
	// What somebody has deleted is found out, and begun anew.
	if err := os.RemoveAll(filepath.Join(s.Root, "copies", k.trail.set)); err != nil {
		t.Fatal(err)
	}
	k.look(t.Context(), now)
	if k.trail == nil || k.trail.next != 1 {
		t.Errorf("after it was deleted there is %+v, want a new one", k.trail)
	}
}

// TestAKeyThatMayOnlyWriteIsEnough: it cannot read nor delete what is there, whoever has stolen it. What is past its days stays, and that is said once.
func TestAKeyThatMayOnlyWriteIsEnough(t *testing.T) {
	t.Parallel()
	s := buckettest.Start(t)
	access, secret := s.User(t, "clinic")
	s.Allow(t, map[string][]string{access: {"s3:PutObject", "s3:ListBucket"}})
	f, k, paper := inBucketOf(t, standBefore(t, s), access, secret, backupKeep{days: 1})
	for n := range 6 {
		f.note(t, "n"+string(rune('0'+n)))
		k.look(t.Context(), time.Now())
		if k.trail == nil {
			t.Fatalf("no trail was begun: %s", f.log)
		}
		k.trail.since = k.trail.first + maxSteps + 1
	}
	old := time.Now().AddDate(0, 0, -30)
	for n := range 3 {
		if err := os.Chtimes(filepath.Join(s.Root, "copies", trailName(n+1, k.mark), stepName(0, true)), old, old); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		f.note(t, "n"+string(rune('6'+k.number-6)))
		k.look(t.Context(), time.Now())
		k.trail.since = k.trail.first + maxSteps + 1
	}
	if said := f.log.String(); strings.Count(said, "no right to delete") != 1 || strings.Contains(said, "level=ERROR") {
		t.Errorf("the log says %s", said)
	}
	if got, _ := restoredNotes(t, s, k.trail.path, paper); len(got) != 8 {
		t.Errorf("restored are %v", got)
	}
	plan := k.plan
	b := f.newBackupKeeper(plan)
	b.tryOut(t.Context())
	for n := range 2 {
		if err := b.keep(t.Context(), time.Now().AddDate(0, 0, n)); err != nil {
			t.Errorf("night %d: %v", n, err)
		}
	}
	if all, err := b.second.backups(t.Context()); err != nil || len(all) != 2 {
		t.Errorf("the bucket has %+v, %v; want both", all, err)
	}
}

// TestABucketThatHangsHoldsUpNoStop: what is under way is called back, however patient it would be.
func TestABucketThatHangsHoldsUpNoStop(t *testing.T) {
	t.Parallel()
	st := standBefore(t, buckettest.Start(t))
	over, reached := make(chan struct{}), make(chan struct{}, 100)
	t.Cleanup(func() { close(over) })
	_, k, _ := inBucketOf(t, st, buckettest.Access, buckettest.Secret, backupKeep{days: 1})
	k.second.(*bucketPlace).objects = bucket.New(bucket.Options{
		Endpoint: st.URL, Bucket: buckettest.Name, AccessKey: buckettest.Access, SecretKey: buckettest.Secret, Patience: time.Hour,
	})
	for _, method := range []string{http.MethodGet, http.MethodPut} { // what asks, and what sends
		st.set(func(_ http.ResponseWriter, r *http.Request, pass func()) {
			if r.Method == method {
				reached <- struct{}{}
				<-over
			}
			pass()
		})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- k.follow(ctx, time.Now()) }()
		<-reached
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v, want that it was called off", method, err)
		}
	}
}

// TestWhatABucketRefusesIsSaidWithTheNextStep at the start, before the first night.
func TestWhatABucketRefusesIsSaidWithTheNextStep(t *testing.T) {
	t.Parallel()
	s := buckettest.Start(t)
	dir := clinicDir(t)
	must(t, "backup-key", "--data", dir)
	f := following(t, dir)
	name := bucketScheme + buckettest.Name
	for what, c := range map[string]struct {
		name  string
		flags []string
		says  string
	}{
		"another secret": {name, reach(s.URL, buckettest.Access, "another-secret"), "See --backup-s3-access-key"},
		"no bucket":      {bucketScheme + "another-one", reach(s.URL, buckettest.Access, buckettest.Secret), "name another with --backup-to"},
		"another region": {name, append(reach(s.URL, buckettest.Access, buckettest.Secret), "--backup-s3-region", "eu-central-1"), "See --backup-s3-region"},
	} {
		cfg, _, err := resolved(t, nil, append(c.flags, "--data", dir, "--backup-to", c.name)...)
		if err != nil {
			t.Fatal(err)
		}
		before := len(f.log.String())
		f.newBackupKeeper(cfg.backups).tryOut(t.Context())
		if said := f.log.String()[before:]; !strings.Contains(said, c.says) || strings.Contains(said, "another-secret") {
			t.Errorf("%s: the log says %q, want %q", what, said, c.says)
		}
	}
}

// TestWhatIsNewerInABucketIsNotPassedOver: what could not be listed is said, since a clinic would go on with the night's copy.
func TestWhatIsNewerInABucketIsNotPassedOver(t *testing.T) {
	t.Parallel()
	cfg, _, err := resolved(t, nil, append([]string{"--data", t.TempDir()}, reach("http://127.0.0.1:1", buckettest.Access, buckettest.Secret)...)...)
	if err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	var done restored
	done.newer, done.unlisted = cfg.newerTrails(gone, "s3://clinic/backup-20261101-020000", time.Now(), "1f2e3d4c")
	contains(t, "what restore says", done.words("it", "here"), "whether there are newer copies of the same database beside this one could not be found out: ")
}
