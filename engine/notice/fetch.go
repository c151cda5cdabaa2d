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

// What a Fetcher answers besides the text.
var (
	ErrFetchPrivate     = errors.New("the address leads to a private network")
	ErrFetchInsecure    = errors.New("the certificate of the server is not valid, or the address does not encrypt")
	ErrFetchUnreachable = errors.New("the server could not be reached, or did not answer in time")
	ErrFetchTooLarge    = errors.New("the answer is too large")
)

// FetchStatusError is an answer that is no text.
type FetchStatusError struct{ Status int }

func (e *FetchStatusError) Error() string { return fmt.Sprintf("the server answered %d", e.Status) }

// Fetched is what an address has.
type Fetched struct {
	Text        string
	IsUnchanged bool   // since what Tag and Modified name; then there is no Text
	Tag         string // its ETag
	Modified    string // its Last-Modified
}

// Fetcher reads texts from addresses that people type. It is safe for concurrent use.
type Fetcher struct {
	client       *http.Client
	allowPrivate bool
	most         int64
}

// FetchOptions are how texts are read.
type FetchOptions struct {
	// AllowPrivate lets addresses lead to loopback, private and link-local networks, and without encryption. Default: refused at
	// the moment of the connection, each redirect's too, so that a name that resolves to one is refused as well.
	AllowPrivate bool
	// Timeout of one text. Default 8 s, which is less than a request may take that waits for it.
	Timeout time.Duration
	// Most is how large a text may be, unpacked. Default 5 MiB.
	Most int64
}

// maxRedirects is how often an address may lead on to another. Calendars that are shared often do, once.
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
			DialContext: dialer.DialContext, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 5 * time.Second, ResponseHeaderTimeout: o.Timeout,
			MaxResponseHeaderBytes: 64 << 10, DisableKeepAlives: true, // the next question is a quarter of an hour away
		},
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return http.ErrUseLastResponse
			}
			r.Header.Del("Referer") // the address before is a secret
			return f.check(r)
		},
	}
	return f
}

// AllowsPrivate reports whether addresses may lead into private networks, and without encryption.
func (f *Fetcher) AllowsPrivate() bool { return f.allowPrivate }

// check refuses a way that anybody on it could read.
func (f *Fetcher) check(r *http.Request) error {
	if r.URL.Scheme != "https" && !(f.allowPrivate && r.URL.Scheme == "http") || r.URL.Host == "" {
		return ErrFetchInsecure
	}
	return nil
}

// Fetch reads the text at an address, unless it is what tag and modified name; both may be empty. The error has nothing of the address
// in it: ErrFetchPrivate, ErrFetchInsecure, ErrFetchUnreachable, ErrFetchTooLarge, *FetchStatusError.
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
	return Fetched{Text: string(text), Tag: short(answer.Header.Get("ETag")), Modified: short(answer.Header.Get("Last-Modified"))}, nil
}

// short leaves out what is too long to be kept.
func short(s string) string {
	if len(s) > 500 {
		return ""
	}
	return s
}
