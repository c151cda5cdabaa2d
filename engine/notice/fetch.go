package notice

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
	"time"
)

// The errors that Fetch returns, in addition to *FetchStatusError.
var (
	ErrFetchPrivate     = errors.New("the address points to a private network")
	ErrFetchInsecure    = errors.New("the server's certificate is not valid, or the address is not encrypted")
	ErrFetchUnreachable = errors.New("the server could not be reached, or did not respond in time")
	ErrFetchTooLarge    = errors.New("the response is too large")
)

// FetchStatusError reports a response whose status is neither 200 nor an expected 304.
type FetchStatusError struct{ Status int }

func (e *FetchStatusError) Error() string {
	return fmt.Sprintf("the server responded with status %d", e.Status)
}

// Fetched is the result of a call to Fetch.
type Fetched struct {
	Text        string
	IsUnchanged bool   // the text has not changed since the version that Tag and Modified identify; Text is empty
	Tag         string // the response's ETag
	Modified    string // the response's Last-Modified
}

// Fetcher reads text from addresses that users enter. It is safe for concurrent use.
type Fetcher struct {
	client       *http.Client
	allowPrivate bool
	most         int64
}

// FetchOptions configure a Fetcher.
type FetchOptions struct {
	// AllowPrivate allows addresses in loopback, private and link-local networks, and unencrypted connections. By
	// default, they are refused when the connection is made, even after a redirect, so that names that resolve to such
	// addresses are refused as well.
	AllowPrivate bool
	// Timeout is the time limit for a fetch. Default: 8 s, which is less than the time limit for a request that waits
	// for it.
	Timeout time.Duration
	// Most is the maximum uncompressed size of a response, in bytes. Default: 5 MiB.
	Most int64
}

// maxRedirects is the maximum number of redirects. Shared calendars often use one.
const maxRedirects = 3

// NewFetcher returns a Fetcher.
func NewFetcher(o FetchOptions) *Fetcher {
	if o.Timeout == 0 {
		o.Timeout = 8 * time.Second
	}
	if o.Most == 0 {
		o.Most = 5 << 20
	}
	dialer := &net.Dialer{Timeout: 5 * time.Second}
	if !o.AllowPrivate {
		dialer.Control = func(_, address string, _ syscall.RawConn) error { return refusePrivate(address) }
	}
	f := &Fetcher{allowPrivate: o.AllowPrivate, most: o.Most}
	f.client = &http.Client{
		Timeout: o.Timeout,
		Transport: &http.Transport{
			DialContext: dialer.DialContext, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 5 * time.Second,
			ResponseHeaderTimeout:  o.Timeout,
			MaxResponseHeaderBytes: 64 << 10, DisableKeepAlives: true, // the next fetch is 15 minutes away
		},
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return http.ErrUseLastResponse
			}
			r.Header.Del("Referer") // the previous address is a secret
			return f.check(r)
		},
	}
	return f
}

// AllowsPrivate reports whether addresses in private networks and unencrypted connections are allowed.
func (f *Fetcher) AllowsPrivate() bool { return f.allowPrivate }

// check refuses an address without a host, and an unencrypted one unless AllowPrivate is set. Errors: ErrFetchInsecure.
func (f *Fetcher) check(r *http.Request) error {
	if r.URL.Scheme != "https" && !(f.allowPrivate && r.URL.Scheme == "http") || r.URL.Host == "" {
		return ErrFetchInsecure
	}
	return nil
}

// Fetch reads the text at an address, unless it is still the version that tag and modified identify. Both can be empty.
// The error does not contain the address: ErrFetchPrivate, ErrFetchInsecure, ErrFetchUnreachable, ErrFetchTooLarge,
// *FetchStatusError.
func (f *Fetcher) Fetch(ctx context.Context, address, accept, tag, modified string) (Fetched, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return Fetched{}, ErrFetchUnreachable
	}
	if err := f.check(r); err != nil {
		return Fetched{}, err
	}
	r.Header.Set("Accept", accept)
	r.Header.Set("User-Agent", "Holdfast-Calendar/1")
	if tag != "" {
		r.Header.Set("If-None-Match", tag)
	}
	if modified != "" {
		r.Header.Set("If-Modified-Since", modified)
	}
	answer, err := f.client.Do(r)
	switch {
	case errors.Is(err, errPrivate):
		return Fetched{}, ErrFetchPrivate
	case errors.Is(err, ErrFetchInsecure), isTLS(err):
		return Fetched{}, ErrFetchInsecure
	case err != nil:
		return Fetched{}, ErrFetchUnreachable
	}
	defer answer.Body.Close()
	switch {
	case answer.StatusCode == http.StatusNotModified && (tag != "" || modified != ""):
		return Fetched{IsUnchanged: true, Tag: tag, Modified: modified}, nil
	case answer.StatusCode != http.StatusOK:
		return Fetched{}, &FetchStatusError{answer.StatusCode}
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, f.most+1))
	switch {
	case err != nil:
		return Fetched{}, ErrFetchUnreachable
	case int64(len(text)) > f.most:
		return Fetched{}, ErrFetchTooLarge
	}
	return Fetched{Text: string(text), Tag: short(answer.Header.Get("ETag")),
		Modified: short(answer.Header.Get("Last-Modified"))}, nil
}

// short returns s, or an empty string if s is too long to store.
func short(s string) string {
	if len(s) > 500 {
		return ""
	}
	return s
}
