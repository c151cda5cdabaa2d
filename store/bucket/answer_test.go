package bucket_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/store"
	"holdfast/store/bucket"
)

// TestInvalidListIsAnError checks that a well-formed page that is not a list, such as that of a captive portal, is an
// error.
func TestInvalidListIsAnError(t *testing.T) {
	t.Parallel()
	fake := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `<html><body/></html>`)
	}))
	defer fake.Close()
	b := open(t, bucket.Options{Endpoint: fake.URL, Bucket: "b", AccessKey: "a", SecretKey: "s",
		Pause: time.Millisecond})
	if list, err := b.List(t.Context(), ""); err == nil {
		t.Errorf("the listing is %v, want an error", list)
	}
}

// fullDisk is a writer that always returns store.ErrFull.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, store.ErrFull }

// TestFullDiskIsNotReportedAsNetworkError checks that Get returns the writer's error unchanged, after one download.
func TestFullDiskIsNotReportedAsNetworkError(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	fake := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = io.WriteString(w, "content")
	}))
	defer fake.Close()
	b := open(t, bucket.Options{Endpoint: fake.URL, Bucket: "b", AccessKey: "a", SecretKey: "s",
		Pause: time.Millisecond})
	err := b.Get(t.Context(), "k", func() (io.Writer, error) { return fullDisk{}, nil })
	if !errors.Is(err, store.ErrFull) || errors.Is(err, bucket.ErrUnreachable) || asked.Load() != 1 {
		t.Errorf("after %d downloads: %v, want one and the disk's error", asked.Load(), err)
	}
}
