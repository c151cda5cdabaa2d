package backup

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
)

// stand is a proxy in front of a service. A test can set meddle to change how the proxy responds. If meddle is nil, the
// proxy passes every request on.
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

// inBucketOf returns a Follower that writes to a bucket behind a stand, and the key that its copies are sealed for. The
// Follower retries requests without a pause.
func inBucketOf(t *testing.T, st *stand, access, secret string, keep Keep) (*server, *Follower, *Key) {
	t.Helper()
	dir := clinicDir(t)
	key := sealing(t, dir)
	f := opened(t, dir, Plan{})
	k := f.newFollower(t, Plan{
		Destination: bucketScheme + buckettest.Name + "/copies", Keep: keep,
		Access: Access{Endpoint: st.URL, Region: "us-east-1", AccessKey: access, SecretKey: secret},
	})
	k.destination.(*bucketDestination).objects = bucket.New(bucket.Options{
		Endpoint: st.URL, Bucket: buckettest.Name, AccessKey: access, SecretKey: secret, Pause: time.Millisecond,
	})
	t.Cleanup(func() {
		if err := k.Close(); err != nil {
			t.Error(err)
		}
	})
	return f, k, key
}

// restoredNotes restores an incremental backup in a bucket with the owner's access, and returns the notes in it.
func restoredNotes(t *testing.T, s *buckettest.Service, path string, key *Key) ([]string, *Replayed) {
	t.Helper()
	dir, b, _, err := restored(t, path, key, accessTo(s.URL), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	return notes(t, dir), b.Replayed
}

// TestPutRepeatsIncrementAfterLostReply checks that an incremental backup is complete even if its first upload arrives
// after the later ones.
func TestPutRepeatsIncrementAfterLostReply(t *testing.T) {
	t.Parallel()
	s := buckettest.Start(t)
	st := standBefore(t, s)
	f, k, key := inBucketOf(t, st, buckettest.Access, buckettest.Secret, Keep{Days: 1})
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
	if err := k.follow(t.Context(), time.Now()); err == nil || k.chain == nil || k.chain.unknown == nil {
		t.Fatalf("an increment without a reply: %v", err)
	}
	f.note(t, "n2")
	st.set(nil)
	if err := k.follow(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	if k.chain.next != 3 || k.chain.unknown != nil {
		t.Errorf("the incremental backup has %d increments, and the upload in progress is %+v; want 3", k.chain.next, k.chain.unknown)
	}
	// Now the earlier request arrives.
	late := <-underWay
	late.URL.Scheme, late.URL.Host, late.RequestURI, late.Body = "http", strings.TrimPrefix(s.URL,
		"http://"), "", io.NopCloser(bytes.NewReader(late.body))
	answer, err := http.DefaultClient.Do(late.Request)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("the bucket refused a late upload: %s", answer.Status)
	}
	if got, r := restoredNotes(t, s, k.chain.path, key); !slices.Equal(got, []string{"n1", "n2"}) || r.Broken != nil {
		t.Errorf("restored appointments: %v, %+v", got, r)
	}
	if left, err := filepath.Glob(filepath.Join(f.Data, SpoolPattern)); err != nil || len(left) > 0 {
		t.Errorf("remaining in the data directory: %v", left)
	}
}

// TestStartWaitsAfterLostReply checks that after a lost reply, the Follower waits for Retry before it starts again, and
// uses the next number.
func TestStartWaitsAfterLostReply(t *testing.T) {
	t.Parallel()
	s := buckettest.Start(t)
	st := standBefore(t, s)
	f, k, key := inBucketOf(t, st, buckettest.Access, buckettest.Secret, Keep{Days: 1})
	st.set(func(_ http.ResponseWriter, r *http.Request, pass func()) {
		if r.Method == http.MethodPut {
			panic(http.ErrAbortHandler)
		}
		pass()
	})
	if err := k.follow(t.Context(), time.Now()); err == nil {
		t.Fatal("the first upload returned no error although its reply was lost")
	}
	st.set(nil)
	f.note(t, "n1")
	if err := k.follow(t.Context(), time.Now()); !errors.Is(err, errUnknown) || k.number != 1 {
		t.Errorf("a minute later: incremental backup %d, %v; want no second upload of the whole database yet",
			k.number, err)
	}
	if err := k.follow(t.Context(), time.Now().Add(Retry)); err != nil {
		t.Fatal(err)
	}
	if k.number != 2 || k.chain.set != incrementalName(2, k.mark) {
		t.Errorf("the incremental backup is %s, want the second", k.chain.set)
	}
	if got, _ := restoredNotes(t, s, k.chain.path, key); !slices.Equal(got, []string{"n1"}) {
		t.Errorf("restored appointments: %v", got)
	}
}

// TestChainContinuesAfterUnreachableBucket checks that the Follower does not treat an unreachable bucket as if its
// increments were deleted.
func TestChainContinuesAfterUnreachableBucket(t *testing.T) {
	t.Parallel()
	s := buckettest.Start(t)
	st := standBefore(t, s)
	f, k, key := inBucketOf(t, st, buckettest.Access, buckettest.Secret, Keep{Days: 1})
	now := time.Now()
	k.Run(t.Context(), now)
	for name, meddle := range map[string]func(http.ResponseWriter, *http.Request, func()){
		"broken": func(http.ResponseWriter, *http.Request, func()) { panic(http.ErrAbortHandler) },
		"denied": func(w http.ResponseWriter, _ *http.Request, _ func()) { w.WriteHeader(http.StatusForbidden) },
		"busy": func(w http.ResponseWriter, _ *http.Request,
			_ func()) {
			w.WriteHeader(http.StatusServiceUnavailable)
		},
	} {
		st.set(meddle)
		f.note(t, name)
		k.Run(t.Context(), now)
		if k.chain == nil || k.chain.unknown != nil {
			t.Fatalf("%s: the server abandoned the incremental backup", name)
		}
	}
	if n := strings.Count(f.log.String(), "incremental backup failed"); n != 1 {
		t.Errorf("the log has the message %d times, want once", n)
	}
	st.set(nil)
	k.Run(t.Context(), now)
	contains(t, "the log", f.log.String(), "incremental backup resumed")
	if got, _ := restoredNotes(t, s, k.chain.path, key); len(got) != 3 || k.number != 1 || k.chain.next != 2 {
		t.Errorf("restored %v from incremental backup %d with %d increments; want three from one with two", got,
			k.number, k.chain.next)
	}
	// If a person deletes the incremental backup, the Follower starts another.
	if err := os.RemoveAll(filepath.Join(s.Root, "copies", k.chain.set)); err != nil {
		t.Fatal(err)
	}
	k.Run(t.Context(), now)
	if k.chain == nil || k.chain.next != 1 {
		t.Errorf("after the deletion: %+v, want a new one", k.chain)
	}
}

// TestWriteOnlyKeySuffices checks that the server can make copies with a key that can neither read nor delete objects.
// Such a key is useless to a thief. Expired copies are kept, and the log reports this once.
func TestWriteOnlyKeySuffices(t *testing.T) {
	t.Parallel()
	s := buckettest.Start(t)
	access, secret := s.User(t, "clinic")
	s.Allow(t, map[string][]string{access: {"s3:PutObject", "s3:ListBucket"}})
	f, k, key := inBucketOf(t, standBefore(t, s), access, secret, Keep{Days: 1})
	for n := range 6 {
		f.note(t, "n"+string(rune('0'+n)))
		k.Run(t.Context(), time.Now())
		if k.chain == nil {
			t.Fatalf("the log has no new incremental backup: %s", f.log)
		}
		k.chain.since = k.chain.first + maxGrowth + 1
	}
	old := time.Now().AddDate(0, 0, -30)
	for n := range 3 {
		if err := os.Chtimes(filepath.Join(s.Root, "copies", incrementalName(n+1, k.mark), incrementName(0, true)), old,
			old); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		f.note(t, "n"+string(rune('6'+k.number-6)))
		k.Run(t.Context(), time.Now())
		k.chain.since = k.chain.first + maxGrowth + 1
	}
	if said := f.log.String(); strings.Count(said, "access denied") != 1 || strings.Contains(said, "level=ERROR") {
		t.Errorf("the log is %s", said)
	}
	if got, _ := restoredNotes(t, s, k.chain.path, key); len(got) != 8 {
		t.Errorf("restored appointments: %v", got)
	}
	f.Plan.Daily = true
	b := f.Daily()
	b.CheckDestination(t.Context())
	for n := range 2 {
		if err := b.run(t.Context(), time.Now().AddDate(0, 0, n)); err != nil {
			t.Errorf("night %d: %v", n, err)
		}
	}
	if all, err := b.destination.backups(t.Context()); err != nil || len(all) != 2 {
		t.Errorf("the bucket has %+v, %v; want both", all, err)
	}
}

// TestStopCancelsHungRequest checks that the end of the context cancels a request that hangs, even if Patience is long.
func TestStopCancelsHungRequest(t *testing.T) {
	t.Parallel()
	st := standBefore(t, buckettest.Start(t))
	over, reached := make(chan struct{}), make(chan struct{}, 100)
	t.Cleanup(func() { close(over) })
	_, k, _ := inBucketOf(t, st, buckettest.Access, buckettest.Secret, Keep{Days: 1})
	k.destination.(*bucketDestination).objects = bucket.New(bucket.Options{
		Endpoint: st.URL, Bucket: buckettest.Name, AccessKey: buckettest.Access, SecretKey: buckettest.Secret,
		Patience: time.Hour,
	})
	for _, method := range []string{http.MethodGet, http.MethodPut} { // one for reading, and one for sending
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
			t.Errorf("%s: got %v, want context.Canceled", method, err)
		}
	}
}

// TestUnusableBucketIsLoggedAtStart checks that the server logs an unusable bucket, and what to do about it, when it
// starts.
func TestUnusableBucketIsLoggedAtStart(t *testing.T) {
	t.Parallel()
	s := buckettest.Start(t)
	dir := clinicDir(t)
	sealing(t, dir)
	f := opened(t, dir, Plan{})
	name, good := bucketScheme+buckettest.Name, accessTo(s.URL)
	wrongSecret, wrongRegion := good, good
	wrongSecret.SecretKey, wrongRegion.Region = "another-secret", "eu-central-1"
	for what, c := range map[string]struct {
		name   string
		access Access
		says   string
	}{
		"another secret": {name, wrongSecret, "See --backup-s3-access-key"},
		"no bucket":      {bucketScheme + "another-one", good, "choose another bucket with --backup-to"},
		"another region": {name, wrongRegion, "See --backup-s3-region"},
	} {
		f.Plan = Plan{Daily: true, Destination: c.name, Access: c.access}
		before := len(f.log.String())
		f.Daily().CheckDestination(t.Context())
		if text := f.log.String()[before:]; !strings.Contains(text, c.says) ||
			strings.Contains(text, "another-secret") {
			t.Errorf("%s: the log has %q, want %q", what, text, c.says)
		}
	}
}

// TestNewerReportsFailedListing checks that Newer returns an error if it cannot list the copies. Otherwise the operator
// would use the old copy.
func TestNewerReportsFailedListing(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	b := &Opened{options: OpenOptions{Path: "s3://clinic/backup-20261101-020000", Data: t.TempDir(),
		Access: accessTo("http://127.0.0.1:1")}}
	if newer, err := b.Newer(ended, "1f2e3d4c"); err == nil || len(newer) > 0 {
		t.Errorf("got %v, %v; want an error", newer, err)
	}
}
