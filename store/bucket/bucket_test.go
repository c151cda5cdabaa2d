package bucket_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
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

	"holdfast/store"
	"holdfast/store/bucket"
	"holdfast/store/bucket/buckettest"
)

// ofOwner returns the options with the access key of the bucket's owner.
func ofOwner(s *buckettest.Service) bucket.Options {
	return bucket.Options{Endpoint: s.URL, Bucket: buckettest.Name, AccessKey: buckettest.Access,
		SecretKey: buckettest.Secret, Pause: time.Millisecond}
}

func open(t *testing.T, o bucket.Options) *bucket.Bucket {
	t.Helper()
	b := bucket.New(o)
	t.Cleanup(b.Close)
	return b
}

func put(ctx context.Context, b *bucket.Bucket, key string, content []byte) error {
	sum := sha256.Sum256(content)
	return b.Put(ctx, key, bytes.NewReader(content), int64(len(content)), sum[:])
}

func get(t *testing.T, b *bucket.Bucket, key string) ([]byte, error) {
	t.Helper()
	var got bytes.Buffer
	err := b.Get(t.Context(), key, func() (io.Writer, error) { got.Reset(); return &got, nil })
	return got.Bytes(), err
}

// TestGetReturnsPutObject stores small and large objects, replaces one with another, and deletes them.
func TestGetReturnsPutObject(t *testing.T) {
	t.Parallel()
	b := open(t, ofOwner(buckettest.Start(t)))
	large := bytes.Repeat([]byte("0123456789abcdef"), 200_000) // large enough for Expect: 100-continue
	for key, content := range map[string][]byte{"one": []byte("1"), "in/here/two.step.age": []byte("22"),
		"large": large, "none": {}} {
		if err := put(t.Context(), b, key, content); err != nil {
			t.Fatalf("%s: %v", key, err)
		}
		if got, err := get(t, b, key); err != nil || !bytes.Equal(got, content) {
			t.Errorf("Get of %s returned %d bytes, %v; want %d", key, len(got), err, len(content))
		}
	}
	if err := put(t.Context(), b, "one", []byte("another")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "one")
	if err := b.GetFile(t.Context(), "one", path); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "another" {
		t.Errorf("Get of the other object returned %q, %v", got, err)
	}
	list, err := b.List(t.Context(), "in/")
	if err != nil || len(list) != 1 || list[0].Key != "in/here/two.step.age" || list[0].Size != 2 ||
		time.Since(list[0].Modified).Abs() > time.Minute {
		t.Errorf("listed is %+v, %v", list, err)
	}
	if err := b.Delete(t.Context(), "one", "large", "never-was"); err != nil {
		t.Error(err)
	}
	if _, err := get(t, b, "one"); !errors.Is(err, store.ErrNotFound) || !bucket.Refused(err) {
		t.Errorf("Get of a deleted object: %v, want ErrNotExist", err)
	}
}

// TestListReadsAllPages lists more objects than fit on one page. The service returns a thousand objects per page.
func TestListReadsAllPages(t *testing.T) {
	t.Parallel()
	s := buckettest.Start(t)
	b := open(t, ofOwner(s))
	dir := filepath.Join(s.Root, "many")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	const many = 2345
	for n := range many {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%06d", n)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list, err := b.List(t.Context(), "many/")
	if err != nil || len(list) != many || list[0].Key != "many/000000" ||
		list[many-1].Key != fmt.Sprintf("many/%06d", many-1) {
		t.Fatalf("the listing has %d objects, %v; want %d", len(list), err, many)
	}
	if err := put(t.Context(), b, "more/x/y", nil); err != nil {
		t.Fatal(err)
	}
	if got, err := b.Folders(t.Context(), ""); err != nil || !slices.Equal(got, []string{"many/", "more/"}) {
		t.Errorf("folders are %v, %v", got, err)
	}
	var keys []string
	for _, o := range list[:100] {
		keys = append(keys, o.Key)
	}
	if err := b.Delete(t.Context(), keys...); err != nil {
		t.Fatal(err)
	}
	if list, err := b.List(t.Context(), "many/"); err != nil || len(list) != many-len(keys) ||
		list[0].Key != "many/000100" {
		t.Errorf("after deleting %d, the listing has %d, %v", len(keys), len(list), err)
	}
}

// TestRefusalHasReason checks that the error of a refused call contains an explanation and no secret, and that Refused
// reports true.
func TestRefusalHasReason(t *testing.T) {
	t.Parallel()
	s := buckettest.Start(t)
	access, secret := s.User(t, "writer")
	s.Allow(t, map[string][]string{access: {"s3:PutObject", "s3:ListBucket"}})
	for name, c := range map[string]struct {
		change func(*bucket.Options)
		do     func(*bucket.Bucket) error
		want   error
		says   string
	}{
		"an unknown key": {func(o *bucket.Options) {
			o.AccessKey = "unknown"
		}, nil, bucket.ErrKey, "rejected the access key unkn…"},
		"another secret": {func(o *bucket.Options) {
			o.SecretKey = "something-else"
		}, nil, bucket.ErrKey, "the secret key does not match"},
		"no bucket": {func(o *bucket.Options) {
			o.Bucket = "elsewhere"
		}, nil, bucket.ErrNoBucket, "has no bucket elsewhere"},
		"another region": {func(o *bucket.Options) {
			o.Region = "eu-central-1"
		}, nil, bucket.ErrElsewhere, "not in the region eu-central-1"},
		"no right to read": {func(o *bucket.Options) {
			o.AccessKey, o.SecretKey = access, secret
		}, func(b *bucket.Bucket) error { _, err := get(t, b, "there"); return err }, bucket.ErrDenied, "has no permission to read"},
		"no right to erase": {func(o *bucket.Options) {
			o.AccessKey, o.SecretKey = access, secret
		}, func(b *bucket.Bucket) error { return b.Delete(t.Context(), "there") }, bucket.ErrDenied, "has no permission to delete"},
	} {
		o := ofOwner(s)
		if err := put(t.Context(), open(t, o), "there", []byte("x")); err != nil {
			t.Fatal(err)
		}
		c.change(&o)
		if c.do == nil {
			c.do = func(b *bucket.Bucket) error { return put(t.Context(), b, "there", []byte("x")) }
		}
		err := c.do(open(t, o))
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) || !bucket.Refused(err) {
			t.Errorf("%s: got %v (refused: %t), want %q", name, err, bucket.Refused(err), c.says)
		}
		if err != nil && strings.Contains(err.Error(), o.SecretKey) {
			t.Errorf("%s: the message contains the secret key: %v", name, err)
		}
	}
	o := ofOwner(s)
	o.AccessKey, o.SecretKey = access, secret
	b := open(t, o)
	if err := put(t.Context(), b, "mine", nil); err != nil {
		t.Errorf("with write access: %v", err)
	}
	if list, err := b.List(t.Context(), ""); err != nil || len(list) != 2 {
		t.Errorf("with list access: %v, %v", list, err)
	}
}

// TestWrongClockIsReported uses a fake service that rejects the time of the signature.
func TestWrongClockIsReported(t *testing.T) {
	t.Parallel()
	fake := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `<Error><Code>RequestTimeTooSkewed</Code><Message>The difference is too large.</Message></Error>`)
	}))
	defer fake.Close()
	err := put(t.Context(), open(t, bucket.Options{Endpoint: fake.URL, Bucket: "b", AccessKey: "a", SecretKey: "s"}),
		"k", nil)
	if !errors.Is(err, bucket.ErrClock) || !strings.Contains(err.Error(), "the clock of this machine") {
		t.Errorf("got %v", err)
	}
}

// between starts a proxy in front of a service. The proxy calls meddle for each request, with the number of the request
// from 1. It returns the options for the proxy.
func between(t *testing.T, s *buckettest.Service, meddle func(n int32,
	w http.ResponseWriter, r *http.Request, pass func())) bucket.Options {
	t.Helper()
	target, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	pass := httputil.NewSingleHostReverseProxy(target)
	var n atomic.Int32
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		meddle(n.Add(1), w, r, func() { pass.ServeHTTP(w, r) })
	}))
	t.Cleanup(proxy.Close)
	o := ofOwner(s)
	o.Endpoint = proxy.URL
	return o
}

// TestTemporaryErrorIsRetried checks that a call is retried if the service is too busy, a response is lost, or a
// response is incomplete.
func TestTemporaryErrorIsRetried(t *testing.T) {
	t.Parallel()
	s := buckettest.Start(t)
	content := bytes.Repeat([]byte("x"), 3<<20)
	if err := put(t.Context(), open(t, ofOwner(s)), "there", content); err != nil {
		t.Fatal(err)
	}
	drop := func() { panic(http.ErrAbortHandler) }
	for name, meddle := range map[string]func(n int32, w http.ResponseWriter, r *http.Request, pass func()){
		"busy twice": func(n int32, w http.ResponseWriter, _ *http.Request, pass func()) {
			if n > 2 {
				pass()
				return
			}
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, `<Error><Code>SlowDown</Code></Error>`)
		},
		"the connection breaks at once": func(n int32, _ http.ResponseWriter, _ *http.Request, pass func()) {
			if n == 1 {
				drop()
			}
			pass()
		},
		"the reply is lost": func(n int32, w http.ResponseWriter, r *http.Request, pass func()) {
			if n > 1 {
				pass()
				return
			}
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Length", "1000000")
			w.WriteHeader(http.StatusOK)
			_, _ = w.Write(content[:1000])
			drop()
		},
	} {
		var seen atomic.Int32
		o := between(t, s, func(n int32, w http.ResponseWriter, r *http.Request, pass func()) {
			seen.Store(n)
			meddle(n, w, r, pass)
		})
		if got, err := get(t, open(t, o), "there"); err != nil || !bytes.Equal(got, content) {
			t.Errorf("%s: got %d bytes, %v", name, len(got), err)
		}
		if seen.Load() < 2 {
			t.Errorf("%s: the server received %d requests", name, seen.Load())
		}
	}
	always := between(t, s, func(_ int32, w http.ResponseWriter, _ *http.Request,
		_ func()) {
		w.WriteHeader(http.StatusBadGateway)
	})
	if err := put(t.Context(), open(t, always), "there", content); !errors.Is(err, bucket.ErrUnreachable) ||
		bucket.Refused(err) {
		t.Errorf("a gateway that always answers 502: %v", err)
	}
}

// TestSeedRefusesChangedCopy checks that the service compares the received bytes with the signed checksum. So a client
// does not have to read them back.
func TestSeedRefusesChangedCopy(t *testing.T) {
	t.Parallel()
	s := buckettest.Start(t)
	var times atomic.Int32
	o := between(t, s, func(n int32, _ http.ResponseWriter, r *http.Request, pass func()) {
		times.Store(n)
		body, _ := io.ReadAll(r.Body)
		body[0] ^= 1
		r.Body = io.NopCloser(bytes.NewReader(body))
		pass()
	})
	err := put(t.Context(), open(t, o), "there", []byte("content"))
	if err == nil || !strings.Contains(err.Error(), "differs from the data that this server sent") || times.Load() != 3 {
		t.Errorf("after %d times: %v", times.Load(), err)
	}
	if _, err := get(t, open(t, ofOwner(s)), "there"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the object exists: %v", err)
	}
}

// TestDamagedObjectIsNotSent checks that Put sends nothing if the content differs from its digest.
func TestDamagedObjectIsNotSent(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	fake := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer fake.Close()
	b := open(t, bucket.Options{Endpoint: fake.URL, Bucket: "b", AccessKey: "a", SecretKey: "s"})
	sum := sha256.Sum256([]byte("content"))
	if err := b.Put(t.Context(), "k", strings.NewReader("c0ntent"), 7, sum[:]); !errors.Is(err, bucket.ErrNotSent) ||
		!bucket.Refused(err) || asked.Load() != 0 {
		t.Errorf("got %v after %d requests, want no request", err, asked.Load())
	}
}

// TestRefusalAfterLostTryIsUnknown checks that a call is not reported as refused if its first try was lost: the service
// may still apply that try after it has refused the second one.
func TestRefusalAfterLostTryIsUnknown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first, second int // 0: the connection breaks
		refused       bool
	}{
		"lost, then denied":  {0, http.StatusForbidden, false},
		"lost, then full":    {0, http.StatusInsufficientStorage, false},
		"500, then denied":   {http.StatusInternalServerError, http.StatusForbidden, false},
		"busy, then denied":  {http.StatusTooManyRequests, http.StatusForbidden, true},
		"busy, then full":    {http.StatusTooManyRequests, http.StatusInsufficientStorage, true},
		"denied at once":     {http.StatusForbidden, 0, true},
		"no room from start": {http.StatusInsufficientStorage, 0, true},
	} {
		var asked atomic.Int32
		fake := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			status := c.second
			if asked.Add(1) == 1 {
				status = c.first
			}
			if status == 0 {
				panic(http.ErrAbortHandler)
			}
			w.WriteHeader(status)
		}))
		err := put(t.Context(), open(t, bucket.Options{Endpoint: fake.URL,
			Bucket: "b", AccessKey: "a", SecretKey: "s", Pause: time.Millisecond}), "k", []byte("x"))
		if err == nil || bucket.Refused(err) != c.refused {
			t.Errorf("%s: refused is %t (%v), want %t", name, bucket.Refused(err), err, c.refused)
		}
		fake.Close()
	}
}

// TestHungServiceTimesOut uses a service that hangs before it reads, in the middle, and while it responds. A slow
// transfer that makes progress must not time out.
func TestHungServiceTimesOut(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	o := bucket.Options{Endpoint: "http://" + silent.Addr().String(), Bucket: "b", AccessKey: "a", SecretKey: "s",
		Patience: 50 * time.Millisecond, Pause: time.Millisecond}
	err = put(t.Context(), open(t, o), "k", make([]byte, 8<<20))
	if !errors.Is(err, bucket.ErrUnreachable) || bucket.Refused(err) ||
		!strings.Contains(err.Error(), "no data arrived for 50ms") {
		t.Errorf("got %v", err)
	}
	over := make(chan struct{})
	stuck := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-over
	}))
	defer stuck.Close()
	defer close(over)
	o.Endpoint = stuck.URL
	if _, err := get(t, open(t, o), "k"); !errors.Is(err, bucket.ErrUnreachable) {
		t.Errorf("cancelled during an answer: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	o.Patience = time.Hour
	called := errors.New("called off")
	cancel(called)
	if err := put(ctx, open(t, o), "k", nil); !errors.Is(err, called) {
		t.Errorf("cancelled before the request: %v", err)
	}
}

// TestUnreachableServerIsNamed checks that the error contains the server's name and no part of the request.
func TestUnreachableServerIsNamed(t *testing.T) {
	t.Parallel()
	const host = "127.0.0.1:1"
	o := bucket.Options{Endpoint: "http://" + host, Bucket: "b", AccessKey: "a", SecretKey: "s",
		Pause: time.Millisecond}
	if _, err := open(t, o).List(t.Context(), "p/"); !errors.Is(err, bucket.ErrUnreachable) ||
		!strings.Contains(err.Error(), host) || strings.Contains(err.Error(), "list-type") {
		t.Errorf("got %v", err)
	}
}
