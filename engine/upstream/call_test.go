package upstream

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestRequests checks the exact bytes that are sent.
func TestRequests(t *testing.T) {
	ctx, zone := context.Background(), newYork(t)
	for file, call := range map[string]func(*Client) error{
		"request-set-appointment": func(c *Client) error { _, err := c.SetAppointment(ctx, wanted(t)); return err },
		"request-set-patient": func(c *Client) error {
			_, err := c.SetPatient(ctx, NewPatient{
				FirstName: "Zoë", LastName: "<O'Brien>", ProviderGUID: view, LocationGUID: column,
				BirthDate: time.Date(2015, 2, 3, 23, 0, 0, 0, zone), Phone: "5550100", Email: "zoe@example.org",
			})
			return err
		},
		"request-set-patient-short": func(c *Client) error {
			_, err := c.SetPatient(ctx, NewPatient{FirstName: "Zoë", LastName: "Nil"})
			return err
		},
		"request-set-patient-comment": func(c *Client) error {
			return c.SetPatientComment(ctx, patient, "Child: Max & Moritz | DOB: 02/03/2015")
		},
		"request-find-patients": func(c *Client) error {
			_, err := c.FindPatients(ctx, "Zoë", "<O'Brien>")
			return err
		},
		"request-patient-information": func(c *Client) error {
			_, err := c.PatientInformation(ctx, patient)
			return err
		},
		"request-cancel": func(c *Client) error {
			return c.SetAppointmentStatusCanceled(ctx, appointment)
		},
		"request-list": func(c *Client) error {
			_, err := c.GetAppointmentListByPatient(ctx, patient, zone)
			return err
		},
		"request-openings": func(c *Client) error {
			_, _, err := c.GetOnlineReservations(ctx, Openings{
				From: ten.Add(-3 * time.Hour), To: ten.Add(55 * time.Hour), Zone: zone, Morning: true,
				ScheduleViewGUIDs: []string{view, column}, AppointmentTypeGUIDs: []string{typ},
			})
			return err
		},
	} {
		t.Run(file, func(t *testing.T) {
			var got []byte
			var method, path, kind string
			server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				got, _ = io.ReadAll(r.Body)
				method, path, kind = r.Method, r.URL.Path, r.Header.Get("Content-Type")
			}))
			defer server.Close()
			_ = call(client(t, options(server.URL+"/GetData.ashx")))
			if want := testdata(t, file); !bytes.Equal(got, want) {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			if method != "POST" || path != "/GetData.ashx" || kind != "application/xml" {
				t.Errorf("got %s %s of %s, want POST /GetData.ashx of application/xml", method, path, kind)
			}
		})
	}
}

// TestIncompleteCallsAreNotSent: incomplete requests are not sent.
func TestIncompleteCallsAreNotSent(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("a request reached the server")
	}))
	defer server.Close()
	c, ctx, zone := client(t, options(server.URL)), context.Background(), newYork(t)
	without := func(change func(*NewAppointment)) func() error {
		return func() error {
			n := wanted(t)
			change(&n)
			_, err := c.SetAppointment(ctx, n)
			return err
		}
	}
	for name, call := range map[string]func() error{
		"no patient":                without(func(n *NewAppointment) { n.PatientGUID = "" }),
		"no view":                   without(func(n *NewAppointment) { n.ScheduleViewGUID = "" }),
		"no column":                 without(func(n *NewAppointment) { n.ScheduleColumnGUID = "" }),
		"no type":                   without(func(n *NewAppointment) { n.AppointmentTypeGUID = "" }),
		"no zone":                   without(func(n *NewAppointment) { n.Zone = nil }),
		"no start":                  without(func(n *NewAppointment) { n.Start = time.Time{} }),
		"no minutes":                without(func(n *NewAppointment) { n.Minutes = 0 }),
		"cancel nothing":            func() error { return c.SetAppointmentStatusCanceled(ctx, "") },
		"comment nothing":           func() error { return c.SetPatientComment(ctx, patient, "") },
		"comment without a patient": func() error { return c.SetPatientComment(ctx, "", "a note") },
		"list without a patient":    func() error { _, err := c.GetAppointmentListByPatient(ctx, "", zone); return err },
		"list in no zone":           func() error { _, err := c.GetAppointmentListByPatient(ctx, patient, nil); return err },
		"openings in no zone": func() error {
			_, _, err := c.GetOnlineReservations(ctx, Openings{From: ten, To: ten})
			return err
		},
		"openings backwards": func() error {
			_, _, err := c.GetOnlineReservations(ctx, Openings{From: ten, To: ten.Add(-1), Zone: zone})
			return err
		},
	} {
		if err := call(); ClassOf(err) != Misconfigured {
			t.Errorf("%s: got %v, want class %q", name, err, Misconfigured)
		}
	}
	if _, err := c.SetPatient(ctx, NewPatient{FirstName: "Zoë"}); ReasonOf(err) != Invalid {
		t.Errorf("a patient without a last name: got %v, want reason %q", err, Invalid)
	}
}

func TestNewExplainsErrors(t *testing.T) {
	good := options("https://pms.example/GetData.ashx")
	if _, err := New(good); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Options){
		"URL":          func(o *Options) { o.URL = "" },
		"address":      func(o *Options) { o.URL = "pms.example/GetData.ashx" },
		"endpoint":     func(o *Options) { o.URL = "ftp://pms.example" },
		"own options":  func(o *Options) { o.URL = "https://user:secret-word@pms.example/" },
		"expected the": func(o *Options) { o.URL = "http://%zz" },
		"client id":    func(o *Options) { o.ClientID = "" },
		"user":         func(o *Options) { o.User = "" },
		"password":     func(o *Options) { o.Password = "" },
		"timeout":      func(o *Options) { o.Timeout = -1 },
	} {
		o := good
		change(&o)
		_, err := New(o)
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v, want an error that names it", name, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret-word") {
			t.Errorf("the error contains the password: %v", err)
		}
	}
}

func TestCredentialsAreNotPrinted(t *testing.T) {
	o := options("https://pms.example/GetData.ashx")
	c := client(t, o)
	var out bytes.Buffer
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "options", o, "client", c)
	slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "options", o, "client", c)
	fmt.Fprintf(&out, "%v %+v %#v %v %+v %#v", o, o, o, c, c, c)
	for _, secret := range []string{o.ClientID, o.User, o.Password, `p\u003cw`} {
		if strings.Contains(out.String(), secret) {
			t.Errorf("%q is printed: %s", secret, out.String())
		}
	}
}

// TestClassOf: errors from other packages count as Unknown, because nothing is known about them.
func TestClassOf(t *testing.T) {
	wrapped := fmt.Errorf("booking: %w", &Error{Class: Refused, Reason: SlotTaken})
	for _, test := range []struct {
		err    error
		class  Class
		reason Reason
	}{
		{nil, "", ""},
		{io.EOF, Unknown, ""},
		{wrapped, Refused, SlotTaken},
		{&Error{Class: NotSent}, NotSent, ""},
	} {
		if ClassOf(test.err) != test.class || ReasonOf(test.err) != test.reason {
			t.Errorf("%v: got %q, %q; want %q, %q", test.err, ClassOf(test.err), ReasonOf(test.err), test.class,
				test.reason)
		}
	}
}

// TestClientRestartsTimer: the interval counts from the moment when SetAppointment is sent, no matter how long after
// its turn. Other calls do not restart it.
func TestClientRestartsTimer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	var since time.Time // the clock starts no earlier than this
	slowly := func(ctx context.Context, network, address string) (net.Conn, error) {
		<-time.After(20 * time.Millisecond)
		defer func() { since = time.Now() }()
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	for name, transport := range map[string]http.RoundTripper{
		"a network that takes its time": &http.Transport{DialContext: slowly, DisableKeepAlives: true},
		"a transport that reports nothing": trip(func(*http.Request) (*http.Response, error) {
			return nil, io.ErrUnexpectedEOF
		}),
	} {
		t.Run(name, func(t *testing.T) {
			p := NewPacer(time.Hour)
			o := options(server.URL)
			o.Pacer, o.HTTP = p, &http.Client{Transport: transport}
			c := client(t, o)
			_ = c.SetPatientComment(t.Context(), patient, "a note")
			if got := p.Line(); got != 0 {
				t.Errorf("after a note: got a queue of %v, want 0", got)
			}
			since = time.Now()
			_, _ = c.SetAppointment(t.Context(), wanted(t))
			if got, least := p.Line(), time.Hour-time.Since(since); got < least || got > time.Hour {
				t.Errorf("after a SetAppointment: got a queue of %v, want at least %v", got, least)
			}
		})
	}
}
