package notice_test

import (
	"compress/gzip"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"holdfast/engine/notice"
)

// TestFetchReturnsText: the server reads text from an address that a user entered, within limits, but nothing from a
// private network.
func TestFetchReturnsText(t *testing.T) {
	t.Parallel()
	asked := make(chan *http.Request, 100)
	var here string
	mux := http.NewServeMux()
	mux.HandleFunc("/text", func(w http.ResponseWriter, r *http.Request) {
		asked <- r
		w.Header().Set("ETag", `"one"`)
		if r.Header.Get("If-None-Match") == `"one"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = w.Write([]byte("text"))
	})
	mux.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/text", http.StatusFound)
	})
	mux.HandleFunc("/circle", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/circle", http.StatusFound)
	})
	mux.HandleFunc("/elsewhere", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "gopher://"+here+"/text", http.StatusFound)
	})
	mux.HandleFunc("/bomb", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = z.Write(make([]byte, 1<<20))
		_ = z.Close()
	})
	mux.HandleFunc("/unasked", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotModified) })
	mux.HandleFunc("/cut", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = w.Write([]byte("half"))
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	here = strings.TrimPrefix(server.URL, "http://")
	f := notice.NewFetcher(notice.FetchOptions{AllowPrivate: true, Most: 1000})
	got, err := f.Fetch(t.Context(), server.URL+"/text", "text/calendar", "", "")
	if err != nil || got != (notice.Fetched{Text: "text", Tag: `"one"`}) {
		t.Fatalf("got %+v, %v", got, err)
	}
	if r := <-asked; r.Header.Get("Accept") != "text/calendar" {
		t.Errorf("asked for %s", r.Header.Get("Accept"))
	}
	if got, err := f.Fetch(t.Context(), server.URL+"/text", "", got.Tag, ""); err != nil || !got.IsUnchanged ||
		got.Tag != `"one"` {
		t.Errorf("again: %+v, %v", got, err)
	}
	<-asked
	if got, err := f.Fetch(t.Context(), server.URL+"/moved", "", "", ""); err != nil || got.Text != "text" {
		t.Errorf("after the redirect: %+v, %v", got, err)
	}
	if r := <-asked; r.Header.Get("Referer") != "" {
		t.Errorf("the other server received the previous address: %s", r.Header.Get("Referer"))
	}
	for path, want := range map[string]error{
		server.URL + "/bomb": notice.ErrFetchTooLarge, server.URL + "/elsewhere": notice.ErrFetchInsecure, server.URL +
			"/cut": notice.ErrFetchUnreachable,
		"http://127.0.0.1:1/": notice.ErrFetchUnreachable, "file:///etc/passwd": notice.ErrFetchInsecure,
		"https://": notice.ErrFetchInsecure,
	} {
		if got, err := f.Fetch(t.Context(), path, "", "", ""); !errors.Is(err, want) || got.Text != "" {
			t.Errorf("%s: got %+v, %v, want %v", path, got, err, want)
		}
	}
	for path, want := range map[string]int{"/none": 404, "/circle": 302, "/unasked": 304} {
		var status *notice.FetchStatusError
		if _, err := f.Fetch(t.Context(), server.URL+path, "", "", ""); !errors.As(err, &status) ||
			status.Status != want {
			t.Errorf("%s: got %v, want %d", path, err, want)
		}
	}
}

// TestFetchRefusesPrivateAddress: by default, no address can lead into a private network, directly or by name, and the
// server does not use unencrypted connections.
func TestFetchRefusesPrivateAddress(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a private server received a request") }))
	t.Cleanup(server.Close)
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	f := notice.NewFetcher(notice.FetchOptions{})
	for address, want := range map[string]error{
		server.URL: notice.ErrFetchPrivate, "https://localhost:" + port: notice.ErrFetchPrivate, "https://[::1]:" +
			port: notice.ErrFetchPrivate,
		"https://[::ffff:127.0.0.1]:" + port: notice.ErrFetchPrivate, "http://127.0.0.1:" +
			port: notice.ErrFetchInsecure,
	} {
		if _, err := f.Fetch(t.Context(), address, "", "", ""); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", address, err, want)
		}
	}
}
