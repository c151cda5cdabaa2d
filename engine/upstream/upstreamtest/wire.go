package upstreamtest

import (
	"bytes"
	"context"
	"encoding/xml"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"holdfast/engine/upstream"
)

// request is a GetDataRequest. Its XML is defined again here, so that the fake does not share the client's mistakes.
type request struct {
	XMLName    xml.Name `xml:"http://schemas.practica.ws/cloud9/partners/ GetDataRequest"`
	ClientID   string
	UserName   string
	Password   string
	Procedure  string
	Parameters struct {
		All []struct {
			XMLName xml.Name
			Value   string `xml:",chardata"`
		} `xml:",any"`
	}
}

// value returns the first parameter that has one of these names, ignoring case, or an empty string.
func (r request) value(names ...string) string {
	for _, name := range names {
		for _, p := range r.Parameters.All {
			if strings.EqualFold(p.XMLName.Local, name) {
				return p.Value
			}
		}
	}
	return ""
}

// guid is like value, for a GUID in its canonical form.
func (r request) guid(names ...string) string { return upstream.CanonicalGUID(r.value(names...)) }

// wire is a response as it is sent.
type wire struct {
	status int
	kind   string // Content-Type
	body   []byte
	cut    int // the connection is cut after this many bytes; -1 means that it is not cut
}

// receive reads one request, executes it, and waits as long as the script requires. The error is ctx's error: the
// caller has disconnected.
func (s *Server) receive(ctx context.Context, method, kind string, body io.Reader) (wire, error) {
	if method != http.MethodPost || !strings.HasPrefix(kind, "application/xml") {
		return wire{status: http.StatusMethodNotAllowed, kind: "text/html",
			body: []byte("<html>POST application/xml</html>"), cut: -1}, nil
	}
	var r request
	text, err := io.ReadAll(io.LimitReader(body, 1<<20))
	if err != nil {
		return wire{}, err
	}
	if err := xml.Unmarshal(text, &r); err != nil {
		return wire{status: http.StatusBadRequest, kind: "text/html", body: []byte("<html>not a GetDataRequest</html>"),
			cut: -1}, nil
	}
	out := s.answer(r, time.Now())
	if out.delay > 0 {
		timer := time.NewTimer(out.delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return wire{}, ctx.Err()
		}
	}
	return out.wire(), nil
}

// wire converts a reply to bytes.
func (out reply) wire() wire {
	w := wire{status: http.StatusOK, kind: "application/xml; charset=utf-8", body: out.xml(), cut: -1}
	switch out.outcome {
	case LostApplied, LostNotApplied, Late:
		w.cut = 0
	case Half:
		w.cut = len(w.body) / 2
	case Garbage:
		w.body = []byte("\x00\xff<<GetDataResponse&Success")
	case WrongRoot:
		w.body = []byte(`<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><body>Success</body></html>`)
	case ServerError:
		w.status, w.kind, w.body = http.StatusInternalServerError, "text/plain", []byte("Runtime Error")
	}
	return w
}

func (out reply) xml() []byte {
	var b bytes.Buffer
	put := func(name, value string) {
		b.WriteString("<" + name + ">")
		_ = xml.EscapeText(&b, []byte(value))
		b.WriteString("</" + name + ">")
	}
	b.WriteString(xml.Header + `<GetDataResponse xmlns="http://schemas.practica.ws/cloud9/partners/">`)
	if out.message != "" {
		put("ResponseStatus", "Error")
		put("ErrorMessage", out.message)
	} else {
		put("ResponseStatus", "Success")
	}
	b.WriteString("<Records>")
	for _, record := range out.records {
		b.WriteString("<Record>")
		for _, f := range record {
			put(f.name, f.value)
		}
		b.WriteString("</Record>")
	}
	b.WriteString("</Records></GetDataResponse>")
	return b.Bytes()
}

// ServeHTTP responds over a network.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	out, err := s.receive(r.Context(), r.Method, r.Header.Get("Content-Type"), r.Body)
	if err != nil || out.cut == 0 {
		panic(http.ErrAbortHandler) // net/http then cuts the connection
	}
	w.Header().Set("Content-Type", out.kind)
	w.Header().Set("Content-Length", strconv.Itoa(len(out.body)))
	w.WriteHeader(out.status)
	if out.cut > 0 {
		_, _ = w.Write(out.body[:out.cut])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write(out.body)
}

// RoundTrip responds without a network, with the errors that a network would return.
func (s *Server) RoundTrip(r *http.Request) (*http.Response, error) {
	defer r.Body.Close()
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	out, err := s.receive(r.Context(), r.Method, r.Header.Get("Content-Type"), r.Body)
	if err != nil {
		return nil, err
	}
	if out.cut == 0 {
		return nil, io.ErrUnexpectedEOF
	}
	var body io.Reader = bytes.NewReader(out.body)
	if out.cut > 0 {
		body = io.MultiReader(bytes.NewReader(out.body[:out.cut]), broken{})
	}
	return &http.Response{
		StatusCode: out.status, Status: strconv.Itoa(out.status) + " " + http.StatusText(out.status),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        http.Header{"Content-Type": {out.kind}},
		ContentLength: int64(len(out.body)), Body: io.NopCloser(body), Request: r,
	}, nil
}

// broken is the body of a response whose connection was cut.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
