package openid

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const issuer = "https://id.clinic.example"

// slow is an issuer that takes a second for each response.
type slow struct {
	asked   atomic.Int64
	about   string // additional metadata of the issuer
	refuses atomic.Bool
}

func (s *slow) RoundTrip(r *http.Request) (*http.Response, error) {
	s.asked.Add(1)
	select {
	case <-time.After(time.Second):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	if s.refuses.Load() {
		return nil, errors.New("no connection")
	}
	said := `{"issuer":"https://` + r.URL.Host + `","authorization_endpoint":"https://` + r.URL.Host +
		`/authorize","token_endpoint":"https://id.clinic.example/token","jwks_uri":"https://id.clinic.example/keys"` +
		s.about + `}`
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(said)), Request: r}, nil
}

func (s *slow) client() *Client { return &Client{http: &http.Client{Transport: s}} }

// TestIssuerGetsOneRequestAtATime: concurrent sign-ins cause one request to the issuer, at first and again after an
// hour, even if one of them is cancelled. Each sign-in waits no longer than its own deadline.
func TestIssuerGetsOneRequestAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{}
		c := s.client()
		for hour := range int64(2) {
			var all sync.WaitGroup
			for i := range 20 {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if i == 7 {
					time.AfterFunc(time.Second/2, cancel)
				}
				all.Go(func() {
					began := time.Now()
					_, err := c.SignInURL(ctx, Login{Issuer: issuer}, Secrets{})
					if i == 7 && ctx.Err() != nil && err != nil && time.Since(began) == time.Second/2 {
						return // it was waiting for another sign-in's fetch, and stopped
					}
					if err != nil {
						t.Errorf("hour %d, sign-in %d: got %v", hour, i, err)
					}
				})
				if i == 0 {
					synctest.Wait() // it sends the request, and the others wait for it
				}
			}
			all.Wait()
			if got := s.asked.Load(); got != hour+1 {
				t.Errorf("hour %d: the issuer received %d requests in total, want %d", hour, got, hour+1)
			}
			time.Sleep(keptFor)
		}
		// If the caller disconnects, the others still get the response.
		c = s.client()
		gone, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second/2, cancel)
		var all sync.WaitGroup
		all.Go(func() { _, _ = c.SignInURL(gone, Login{Issuer: issuer}, Secrets{}) })
		synctest.Wait()
		s2, err := c.SignInURL(t.Context(), Login{Issuer: issuer}, Secrets{})
		if all.Wait(); err != nil || s2 == "" {
			t.Errorf("after the first caller was cancelled: got %v", err)
		}
		// Two issuers are called separately. If one does not respond, all of its callers get the error.
		s.refuses.Store(true)
		before := s.asked.Load()
		for _, other := range []string{"https://one.example", "https://two.example"} {
			for range 3 {
				all.Go(func() {
					if _, err := c.SignInURL(t.Context(), Login{Issuer: other}, Secrets{}); !errors.Is(err,
						ErrUnavailable) {
						t.Errorf("%s: got %v, want ErrUnavailable", other, err)
					}
				})
				synctest.Wait()
			}
		}
		if all.Wait(); s.asked.Load() != before+2 {
			t.Errorf("two issuers received %d requests, want two", s.asked.Load()-before)
		}
	})
}

// TestIssuerIsAskedAgain: the sign-in makes the issuer ask who the user is, so that one click at a shared desk does not
// sign in the previous user.
func TestIssuerIsAskedAgain(t *testing.T) {
	for _, c := range []struct{ issuer, about, want string }{
		{issuer, "", "login"},
		{issuer, `,"prompt_values_supported":["none","login"]`, "login"},
		{issuer, `,"prompt_values_supported":["none","select_account"]`, "select_account"},
		{issuer, `,"prompt_values_supported":["none"]`, ""},
		{google, "", "select_account"},
	} {
		synctest.Test(t, func(t *testing.T) {
			address, err := (&slow{about: c.about}).client().SignInURL(t.Context(),
				Login{Issuer: c.issuer, ClientID: "holdfast"}, Secrets{State: "s"})
			if err != nil {
				t.Fatal(err)
			}
			u, err := url.Parse(address)
			if err != nil {
				t.Fatal(err)
			}
			if q := u.Query(); q.Get("prompt") != c.want || q.Has("prompt") != (c.want != "") || q.Get("state") != "s" {
				t.Errorf("%s%s: redirected to %s, want the prompt %q", c.issuer, c.about, address, c.want)
			}
		})
	}
}
