package noticetest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// Text is one message that a Gateway received.
type Text struct {
	To, Text string
	Header   http.Header
	Body     string
}

// Gateway is an SMS gateway for tests. It accepts forms and JSON with the fields to and text, in upper or lower case.
// Twilio's Body is the text. It does not send anything.
type Gateway struct {
	URL string

	mu     sync.Mutex
	texts  []Text
	answer func(Text) (status int, body string)
}

// NewGateway serves a gateway that accepts every message, until the test ends.
func NewGateway(t testing.TB) *Gateway {
	t.Helper()
	g := new(Gateway)
	server := httptest.NewServer(g)
	t.Cleanup(server.Close)
	g.URL = server.URL
	return g
}

// Answer sets the response to later messages. If the status is 0, the gateway closes the connection after it has
// received the message.
func (g *Gateway) Answer(answer func(Text) (status int, body string)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.answer = answer
}

// Texts returns the messages that have been received, oldest first.
func (g *Gateway) Texts() []Text {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]Text(nil), g.texts...)
}

// ServeHTTP receives one message.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	values := map[string]string{}
	if strings.Contains(r.Header.Get("Content-Type"), "json") {
		_ = json.Unmarshal(body, &values)
	} else {
		form, _ := url.ParseQuery(string(body))
		for _, from := range []url.Values{r.URL.Query(), form} {
			for name := range from {
				values[strings.ToLower(name)] = from.Get(name)
			}
		}
	}
	text := Text{To: values["to"], Text: values["text"] + values["body"], Header: r.Header, Body: string(body)}
	g.mu.Lock()
	g.texts = append(g.texts, text)
	answer := g.answer
	g.mu.Unlock()
	status, said := http.StatusOK, `{"success": "100"}`
	if answer != nil {
		status, said = answer(text)
	}
	if status == 0 {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Connection", "close") // otherwise a test's bubble would wait for the idle connection
	w.WriteHeader(status)
	_, _ = io.WriteString(w, said)
}
