package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"testing"
)

// asked sends a request, with a JSON body unless it is nil, and returns the response.
func asked(t *testing.T, method, url string, body any, header map[string]string) (status int, answer string) {
	t.Helper()
	var content io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		content = bytes.NewReader(b)
	}
	r, err := http.NewRequestWithContext(t.Context(), method, url, content)
	if err != nil {
		t.Fatal(err)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for name, value := range header {
		r.Header.Set(name, value)
	}
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	b, err := io.ReadAll(reply.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply.StatusCode, string(b)
}

// bearer returns the header for an API key, or nil if there is no key.
func bearer(key string) map[string]string {
	if key == "" {
		return nil
	}
	return map[string]string{"Authorization": "Bearer " + key}
}

func get(t *testing.T, url, key string) (status int, body string) {
	t.Helper()
	return asked(t, http.MethodGet, url, nil, bearer(key))
}

func posted(t *testing.T, url string, body any, header map[string]string) (status int, answer string) {
	t.Helper()
	return asked(t, http.MethodPost, url, body, header)
}

// insisted posts a request that is safe to repeat. It repeats it while the storage is unavailable, which a busy machine
// can be for a moment.
func insisted(t *testing.T, url string, body any, header map[string]string) (status int, answer string) {
	t.Helper()
	eventually(t, "the storage is available", func() bool {
		status, answer = posted(t, url, body, header)
		return status != http.StatusServiceUnavailable
	})
	return status, answer
}
