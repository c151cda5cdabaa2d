package upstream

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"syscall"
	"time"
)

// parameter is one element of Parameters. Their order follows the documentation.
type parameter struct{ name, value string }

// request is a GetDataRequest.
type request struct {
	XMLName    xml.Name `xml:"http://schemas.practica.ws/cloud9/partners/ GetDataRequest"`
	ClientID   string
	UserName   string
	Password   string
	Procedure  string
	Parameters parameters
}

type parameters []parameter

// MarshalXML leaves out parameters without a value, as the upstream expects.
func (p parameters) MarshalXML(e *xml.Encoder, start xml.StartElement) error {
	if err := e.EncodeToken(start); err != nil {
		return err
	}
	for _, each := range p {
		if each.value == "" {
			continue
		}
		if err := e.EncodeElement(each.value, xml.StartElement{Name: xml.Name{Local: each.name}}); err != nil {
			return err
		}
	}
	return e.EncodeToken(start.End())
}

// journey records how far a request got. The transport's hooks write it, and they may still run after the call has been
// abandoned.
type journey struct {
	asked     atomic.Bool // the transport has looked for a connection, so it calls our hooks
	connected atomic.Bool // the transport has a connection: from here on, bytes may have left
}

// call sends one procedure and returns the response if it is a clear success. Otherwise the error is an *Error.
func (c *Client) call(ctx context.Context, procedure string, params parameters) (*answer, error) {
	fail := func(class Class, status int, detail string, cause error) error {
		return &Error{Procedure: procedure, Class: class, Status: status, Detail: detail, cause: cause}
	}
	if err := ctx.Err(); err != nil {
		return nil, fail(NotSent, 0, "the caller stopped waiting", err)
	}
	body, err := xml.Marshal(request{ClientID: c.clientID, UserName: c.user, Password: c.password, Procedure: procedure,
		Parameters: params})
	if err != nil {
		return nil, fail(Misconfigured, 0, "the request could not be written as XML", nil)
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	var way journey
	left := func() {
		if c.pacer != nil && procedure == setAppointment {
			c.pacer.Restart(time.Now())
		}
	}
	trace := &httptrace.ClientTrace{
		GetConn:      func(string) { way.asked.Store(true) },
		GotConn:      func(httptrace.GotConnInfo) { way.connected.Store(true) },
		WroteRequest: func(httptrace.WroteRequestInfo) { left() },
	}
	req, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, trace), http.MethodPost, c.url,
		bytes.NewReader(append([]byte(xml.Header), body...)))
	if err != nil {
		return nil, fail(Misconfigured, 0, "the address cannot be used", nil)
	}
	req.Header.Set("Content-Type", "application/xml")
	req.Header.Set("Accept", "application/xml, text/xml")
	req.Header.Set("User-Agent", "holdfast")
	// Restart the pacer's clock now, in case the transport calls no hooks; WroteRequest restarts it at the write.
	left()
	resp, err := c.http.Do(req)
	if err != nil {
		class, detail := lost(ctx, &way, err)
		return nil, fail(class, 0, detail, ended(ctx, err))
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, fail(Unknown, resp.StatusCode, "the answer was incomplete", ended(ctx, err))
	case len(text) > maxAnswer:
		return nil, fail(Unknown, resp.StatusCode, "the answer was larger than 1 MiB", nil)
	}
	a, verdict := judge(resp.StatusCode, text)
	if verdict.class != "" {
		return nil, &Error{Procedure: procedure, Class: verdict.class, Reason: verdict.reason, Status: resp.StatusCode,
			Detail: verdict.detail}
	}
	return a, nil
}

// lost classifies a call that got no response. It is NotSent only if no byte can have left: dialling or the TLS
// handshake failed, or the timeout expired before they finished.
func lost(ctx context.Context, way *journey, err error) (Class, string) {
	var op *net.OpError
	dialling := way.asked.Load() && !way.connected.Load() || errors.As(err, &op) && op.Op == "dial"
	timeout := ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) || isTimeout(err)
	if !dialling {
		switch {
		case errors.Is(ctx.Err(), context.Canceled):
			return Unknown, "cancelled before the answer"
		case timeout:
			return Unknown, "no answer in time"
		}
		return Unknown, "the connection was cut before the answer"
	}
	var certificate *tls.CertificateVerificationError
	var plain tls.RecordHeaderError
	var name *net.DNSError
	switch {
	case errors.As(err, &certificate):
		return Misconfigured, "its certificate is not valid"
	case errors.As(err, &plain), errors.Is(err, http.ErrSchemeMismatch):
		return Misconfigured, "it does not use TLS at this address"
	case errors.As(err, &name) && name.IsNotFound:
		return NotSent, "its host name was not found"
	case errors.Is(err, syscall.ECONNREFUSED):
		return NotSent, "the connection was refused"
	case errors.Is(ctx.Err(), context.Canceled):
		return NotSent, "cancelled before there was a connection"
	case timeout:
		return NotSent, "no connection in time"
	}
	return NotSent, "no connection"
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// ended returns the context's error if that ended the call. Any other cause can contain an address or a name.
func ended(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return context.DeadlineExceeded
	}
	return nil
}

// judge classifies a response that arrived. The XML takes precedence over the HTTP status, except that a success with
// an HTTP error status is Unknown.
func judge(status int, body []byte) (*answer, meaning) {
	a, err := parseAnswer(body)
	if err == nil {
		said, failed := a.refusal()
		switch {
		case failed && a.done():
			return nil, meaning{Unknown, "", "the answer was both Success and Error"}
		case failed:
			return nil, meaningOf(said)
		case status >= 200 && status < 300:
			return a, meaning{}
		}
	}
	switch {
	case err == nil && a.done():
		return nil, meaning{Unknown, "", fmt.Sprintf("it answered Success with HTTP status %d", status)}
	case status == http.StatusTooManyRequests, status >= 400 && rateLimit.Match(body[:min(len(body), 4096)]):
		return nil, meaning{RateLimited, "", "it temporarily accepts no writes"}
	case err == nil:
		return nil, meaning{Unknown, "", fmt.Sprintf("it answered Success with HTTP status %d", status)}
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusProxyAuthRequired:
		return nil, meaning{Misconfigured, "", fmt.Sprintf("it does not accept the credentials (HTTP status %d)",
			status)}
	case status >= 300 && status < 400:
		return nil, meaning{Misconfigured, "",
			fmt.Sprintf("it has a different address: it answered with a redirect (HTTP status %d)", status)}
	case status == http.StatusRequestTimeout, status >= 500:
		return nil, meaning{Unknown, "", fmt.Sprintf("it failed with HTTP status %d", status)}
	case status >= 400:
		return nil, meaning{Misconfigured, "", fmt.Sprintf("there is no such service at this address (HTTP status %d)",
			status)}
	}
	return nil, meaning{Unknown, "", err.Error()}
}
