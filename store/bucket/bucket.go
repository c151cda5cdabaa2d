// Package bucket stores files as objects in a bucket of S3-compatible storage: put, get, list and delete.
//
// # Atomicity
//
// An object is either complete or missing. Put signs the SHA-256 of the content, and the service compares it before it
// responds. A caller that wants its own proof can read the object back. Objects cannot be renamed. So if several
// objects belong together, write last the object whose existence means that all of them exist.
//
// # Failures
//
// A call fails if no data has moved in either direction for Options.Patience. Its total time is not limited. The
// package retries a call at most twice if the service was busy or the connection broke. A Put that still fails may have
// taken effect, or may take effect later. So if you repeat it, send the same bytes or use another key (see Refused).
//
// # Limits
//
// There are no multipart uploads: an object has at most 5 GiB, the limit of one PUT. The signature code is from the AWS
// SDK (docs/decisions/0075-object-storage.md).
package bucket

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"holdfast/store"
)

const (
	// MaxObject is the maximum size of an object, in bytes.
	MaxObject = 5 << 30

	tries     = 3
	maxAnswer = 8 << 20 // maximum number of bytes read from a page of a list, or from an error
	atOnce    = 8       // concurrent deletes
	// size in bytes from which a Put sends Expect: 100-continue, so that the service can refuse it before the upload
	wantsAsked = 1 << 20
)

// Options names the bucket and the access key. A zero Endpoint, Region, Patience or Pause means the default.
type Options struct {
	// such as https://s3.example.net, with the bucket as the first part of the path; empty means the endpoint of AWS
	// for Region
	Endpoint  string
	Region    string // empty means us-east-1
	Bucket    string
	AccessKey string
	SecretKey string
	Patience  time.Duration // how long a call waits for data to move; zero means 30 s
	Pause     time.Duration // time before the second try, and twice as long before the third; zero means 1 s
}

// Bucket is one bucket. It is safe for concurrent use.
type Bucket struct {
	Options
	base   string // URL of the bucket, without a trailing slash
	signer *v4.Signer
	http   *http.Client
}

// Object describes one object in a list.
type Object struct {
	Key      string
	Size     int64
	Modified time.Time // time of the upload, by the service's clock
}

// New returns a Bucket. It makes no request.
func New(o Options) *Bucket {
	if o.Region == "" {
		o.Region = "us-east-1"
	}
	if o.Patience == 0 {
		o.Patience = 30 * time.Second
	}
	if o.Pause == 0 {
		o.Pause = time.Second
	}
	b := &Bucket{Options: o, base: strings.TrimSuffix(o.Endpoint, "/") + "/" + o.Bucket}
	switch {
	case o.Endpoint == "" && strings.Contains(o.Bucket, "."):
		// the certificate of AWS does not cover a bucket name with dots
		b.base = "https://s3." + o.Region + ".amazonaws.com/" + o.Bucket
	case o.Endpoint == "":
		b.base = "https://" + o.Bucket + ".s3." + o.Region + ".amazonaws.com"
	}
	b.signer = v4.NewSigner(func(s *v4.SignerOptions) { s.DisableURIPathEscaping = true })
	b.http = &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: atOnce,
			IdleConnTimeout: 20 * time.Second, TLSHandshakeTimeout: o.Patience, ExpectContinueTimeout: 2 * time.Second,
			DisableCompression: true,
		},
		// a signature is valid for one address
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return b
}

// Close closes the idle connections.
func (b *Bucket) Close() { b.http.CloseIdleConnections() }

// Put writes an object, or replaces an existing one. It sends nothing if the SHA-256 of the content differs from
// digest. Keys consist of letters, digits and "-_./".
//
// Errors: a *Error, ErrNotSent, store.ErrFull if there is no space for the object, or the cause of ctx.
func (b *Bucket) Put(ctx context.Context, key string, from io.ReaderAt, size int64, digest []byte) error {
	if size > MaxObject {
		return fmt.Errorf("%w: the file has %d MB, but one object can have at most %d MB "+
			"(%w)", store.ErrFull, size>>20, MaxObject>>20,
			ErrNotSent)
	}
	h, old := sha256.New(), md5.New()
	if _, err := io.Copy(io.MultiWriter(h, old), io.NewSectionReader(from, 0, size)); err != nil {
		return fmt.Errorf("%w (%w)", err, ErrNotSent)
	}
	sum := h.Sum(nil)
	if !bytes.Equal(sum, digest) {
		return fmt.Errorf("the local copy has changed since it was written; check the disk of this machine (%w)",
			ErrNotSent)
	}
	c := call{method: http.MethodPut, key: key, body: from, size: size, sum: hex.EncodeToString(sum),
		md5: base64.StdEncoding.EncodeToString(old.Sum(nil))}
	return b.do(ctx, c, func(io.Reader) error { return nil })
}

// Get reads an object. Each try reads the object from its start and calls begin, which returns a writer for it. If the
// writer returns an error, Get does not retry.
//
// Errors: a *Error, which wraps store.ErrNotFound if the object does not exist; the error from the writer; or the cause
// of ctx.
func (b *Bucket) Get(ctx context.Context, key string, begin func() (io.Writer, error)) error {
	return b.do(ctx, call{method: http.MethodGet, key: key}, func(answer io.Reader) error {
		to, err := begin()
		if err != nil {
			return &unwritten{err}
		}
		_, err = io.Copy(taking{to}, answer)
		return err
	})
}

// unwritten is an error from the writer that receives an object, for example because the disk is full. It separates
// such an error from network errors.
type unwritten struct{ error }

// taking marks the errors of a writer as unwritten.
type taking struct{ to io.Writer }

func (w taking) Write(p []byte) (int, error) {
	n, err := w.to.Write(p)
	if err != nil {
		err = &unwritten{err}
	}
	return n, err
}

// GetFile reads an object into a new file with mode 0600.
func (b *Bucket) GetFile(ctx context.Context, key, path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = b.Get(ctx, key, func() (io.Writer, error) {
		_, err := f.Seek(0, io.SeekStart)
		return f, errors.Join(err, f.Truncate(0))
	})
	return errors.Join(err, f.Close())
}

// listing is one page of a list of objects (ListObjectsV2).
type listing struct {
	XMLName  xml.Name `xml:"ListBucketResult"` // other well-formed XML is an error, not an empty list
	Contents []struct {
		Key          string
		Size         int64
		LastModified time.Time
	}
	CommonPrefixes []struct{ Prefix string }
	More           bool   `xml:"IsTruncated"`
	Next           string `xml:"NextContinuationToken"`
}

// List lists the objects whose keys begin with prefix, ordered by key. It returns all of them, or an error.
func (b *Bucket) List(ctx context.Context, prefix string) (all []Object, err error) {
	err = b.list(ctx, url.Values{"prefix": {prefix}}, func(page *listing) error {
		for _, c := range page.Contents {
			key, err := url.QueryUnescape(c.Key)
			if err != nil {
				return err
			}
			all = append(all, Object{Key: key, Size: c.Size, Modified: c.LastModified})
		}
		return nil
	})
	return all, err
}

// Folders lists the parts that follow prefix in the keys: the text up to and including the next slash. It returns each
// part once.
func (b *Bucket) Folders(ctx context.Context, prefix string) (all []string, err error) {
	err = b.list(ctx, url.Values{"prefix": {prefix}, "delimiter": {"/"}}, func(page *listing) error {
		for _, c := range page.CommonPrefixes {
			name, err := url.QueryUnescape(c.Prefix)
			if err != nil {
				return err
			}
			all = append(all, strings.TrimPrefix(name, prefix))
		}
		return nil
	})
	return all, err
}

func (b *Bucket) list(ctx context.Context, query url.Values, each func(*listing) error) error {
	query.Set("list-type", "2")
	query.Set("encoding-type", "url")
	for {
		var page listing
		err := b.do(ctx, call{method: http.MethodGet, query: query}, func(answer io.Reader) error {
			page = listing{}
			return xml.NewDecoder(io.LimitReader(answer, maxAnswer)).Decode(&page)
		})
		if err == nil {
			err = each(&page)
		}
		if err != nil || !page.More {
			return err
		}
		if page.Next == "" || page.Next == query.Get("continuation-token") {
			return &Error{Code: "Listing", words: b.Bucket + " returned a list of objects that does not end"}
		}
		query.Set("continuation-token", page.Next)
	}
}

// Delete deletes objects, several of them concurrently. It deletes the object of the first key last, so that this
// object exists as long as any of the others may exist. A missing object is not an error.
func (b *Bucket) Delete(ctx context.Context, keys ...string) error {
	for len(keys) > 1 {
		n := max(len(keys)-atOnce, 1)
		failed := make([]error, len(keys)-n)
		var all sync.WaitGroup
		for i, key := range keys[n:] {
			all.Go(func() { failed[i] = b.delete(ctx, key) })
		}
		all.Wait()
		if err := errors.Join(failed...); err != nil {
			return err
		}
		keys = keys[:n]
	}
	if len(keys) == 0 {
		return nil
	}
	return b.delete(ctx, keys[0])
}

func (b *Bucket) delete(ctx context.Context, key string) error {
	err := b.do(ctx, call{method: http.MethodDelete, key: key}, func(io.Reader) error { return nil })
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// call describes one request.
type call struct {
	method, key string
	query       url.Values
	body        io.ReaderAt // nil means none
	size        int64
	sum         string // SHA-256 of body in hexadecimal
	md5         string // MD5 of body in base64; a bucket with object lock requires it
}

// nothing is the SHA-256 of an empty body, in hexadecimal.
const nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// do makes a request and retries it after a retryable error. What read has read is valid only if do returns nil.
func (b *Bucket) do(ctx context.Context, c call, read func(io.Reader) error) (err error) {
	unsure := false
	for n := range tries {
		if n > 0 {
			pause := time.NewTimer(b.Pause << (n - 1))
			select {
			case <-ctx.Done():
			case <-pause.C:
			}
			pause.Stop()
		}
		if ctx.Err() != nil {
			return errors.Join(context.Cause(ctx), err)
		}
		err = b.once(ctx, c, read)
		var e *Error
		if err == nil || !errors.As(err, &e) {
			return err
		}
		if e.unsure = unsure; !e.mayPass() {
			return err
		}
		unsure = unsure || !e.isRefusal()
	}
	return err
}

var errSilent = errors.New("silence")

// once makes a request, without a retry.
func (b *Bucket) once(ended context.Context, c call, read func(io.Reader) error) error {
	ctx, cancel := context.WithCancelCause(ended)
	defer cancel(nil)
	watch := &watch{patience: b.Patience}
	watch.timer = time.AfterFunc(b.Patience, func() { cancel(errSilent) })
	defer watch.timer.Stop()

	address := b.base + "/" + c.key
	if len(c.query) > 0 {
		address += "?" + strings.ReplaceAll(c.query.Encode(), "+", "%20")
	}
	r, err := http.NewRequestWithContext(ctx, c.method, address, http.NoBody)
	if err != nil {
		return b.lost(err)
	}
	sum := nothing
	if c.body != nil {
		sum, r.ContentLength = c.sum, c.size
		r.Header.Set("Content-MD5", c.md5)
		if c.size > 0 {
			// each try has its own reader: an earlier try may still be reading
			r.Body = io.NopCloser(&watched{from: io.NewSectionReader(c.body, 0, c.size), watch: watch})
		}
		if c.size >= wantsAsked {
			r.Header.Set("Expect", "100-continue")
		}
	}
	r.Header.Set("X-Amz-Content-Sha256", sum)
	who := aws.Credentials{AccessKeyID: b.AccessKey, SecretAccessKey: b.SecretKey}
	if err := b.signer.SignHTTP(ctx, who, r, sum, "s3", b.Region, time.Now()); err != nil {
		return fmt.Errorf("the request was not signed: %w", err)
	}
	answer, err := b.http.Do(r)
	if err == nil {
		defer answer.Body.Close()
		body := &watched{from: answer.Body, watch: watch}
		if answer.StatusCode < http.StatusMultipleChoices {
			if err = read(body); err == nil {
				return nil
			}
		} else {
			return b.refused(c, answer, body)
		}
	}
	var here *unwritten
	switch {
	case errors.As(err, &here):
		return here.error
	case ended.Err() != nil:
		return context.Cause(ended)
	case context.Cause(ctx) == errSilent:
		return b.lost(fmt.Errorf("no data arrived for %s", b.Patience))
	}
	return b.lost(err)
}

// watch cancels a call if no data moves for the duration patience.
type watch struct {
	timer    *time.Timer
	patience time.Duration
}

// watched is a body whose reads restart the timer of a watch.
type watched struct {
	from  io.Reader
	watch *watch
}

func (w *watched) Read(p []byte) (n int, err error) {
	n, err = w.from.Read(p)
	w.watch.timer.Reset(w.watch.patience)
	return n, err
}

// refused converts an error response from the service to an *Error.
func (b *Bucket) refused(c call, answer *http.Response, body io.Reader) error {
	e := &Error{Status: answer.StatusCode}
	text, _ := io.ReadAll(io.LimitReader(body, maxAnswer))
	if err := xml.NewDecoder(bytes.NewReader(text)).Decode(e); err != nil || e.Code == "" {
		e.Code = "status " + strconv.Itoa(answer.StatusCode)
	}
	if e.Region == "" {
		e.Region = answer.Header.Get("X-Amz-Bucket-Region")
	}
	e.say(b, c)
	return e
}
