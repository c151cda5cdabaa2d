package enginetest

import (
	"context"
	"io"
	"log/slog"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/message"
	"holdfast/engine/notice"
	"holdfast/engine/notice/noticetest"
	"holdfast/engine/presence"
	"holdfast/store"
)

// NoAddress returns an address that nothing listens on. A test can start a listener there later, because no other test
// uses its host.
func NoAddress(t *testing.T) string {
	t.Helper()
	host, _ := noticetest.MailPort()
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// MailBy returns an option to send email through the server at an address, and to write the engine's log to log.
func MailBy(t *testing.T, address string, log io.Writer) func(*engine.Options) {
	return func(o *engine.Options) {
		mailer, err := notice.NewMailer(notice.MailOptions{URL: "smtp://" + address})
		if err != nil {
			t.Fatal(err)
		}
		o.Notices.Mailer, o.Notices.From, o.Logger = mailer, "post@clinic.example",
			slog.New(slog.NewTextHandler(log, nil))
	}
}

// States returns the states of an appointment's deliveries, keyed by the name of the notice.
func (c *TestClinic) States(appointmentID string) map[string]string {
	c.T.Helper()
	list, err := c.Record.Deliveries(context.Background(), appointmentID)
	if err != nil {
		c.T.Fatal(err)
	}
	states := make(map[string]string)
	for _, d := range list {
		states[d.Notice] = d.State
	}
	return states
}

// HookReceiver starts a server that responds to webhooks with the statuses, one after the other, and then always with
// the last one. It records the types of those that get the last status. Each webhook arrives over its own connection,
// because the synctest bubble would wait for idle ones.
func HookReceiver(t *testing.T, statuses ...int) (url string, told func() []string) {
	t.Helper()
	var mu sync.Mutex
	var types []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Connection", "close")
		mu.Lock()
		defer mu.Unlock()
		w.WriteHeader(statuses[0])
		if len(statuses) > 1 {
			statuses = statuses[1:]
			return
		}
		_, kind, _ := strings.Cut(string(body), `"type":"`)
		kind, _, _ = strings.Cut(kind, `"`)
		types = append(types, kind)
	}))
	t.Cleanup(server.Close)
	return server.URL, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(types)
	}
}

// Part is one decoded part of a message.
type Part struct{ Kind, Method, Text string }

// Parts parses a message the way a mail program does and returns, in order, the parts that have no sub-parts.
func Parts(t *testing.T, raw string) (mail.Header, []Part) {
	t.Helper()
	m, err := mail.ReadMessage(strings.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	var list []Part
	var read func(contentType, encoding string, body io.Reader)
	read = func(contentType, encoding string, body io.Reader) {
		kind, params, err := mime.ParseMediaType(contentType)
		if err != nil {
			t.Fatalf("%q: %v", contentType, err)
		}
		if !strings.HasPrefix(kind, "multipart/") {
			if strings.EqualFold(encoding, "quoted-printable") {
				body = quotedprintable.NewReader(body)
			}
			text, err := io.ReadAll(body)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, Part{kind, params["method"], string(text)})
			return
		}
		all := multipart.NewReader(body, params["boundary"])
		for {
			p, err := all.NextRawPart()
			if err == io.EOF {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			read(p.Header.Get("Content-Type"), p.Header.Get("Content-Transfer-Encoding"), p)
		}
	}
	read(m.Header.Get("Content-Type"), m.Header.Get("Content-Transfer-Encoding"), m.Body)
	return m.Header, list
}

// Messages returns the raw emails about an appointment, keyed by notice.
func (c *TestClinic) Messages(folder, appointmentID string) map[string]string {
	c.T.Helper()
	list, err := c.Record.Deliveries(context.Background(), appointmentID)
	if err != nil {
		c.T.Fatal(err)
	}
	raw := make(map[string]string)
	for _, d := range list {
		if b, err := os.ReadFile(filepath.Join(folder, d.OperationID+".eml")); err == nil {
			raw[d.Notice] = string(b)
		}
	}
	return raw
}

// TexterTo returns a Texter that sends text messages through a fake gateway.
func TexterTo(t testing.TB, fake *noticetest.Gateway) *notice.Texter {
	t.Helper()
	x, err := notice.NewTexter(notice.TexterOptions{AllowPrivate: true,
		Given: &notice.Gateway{Method: "POST", URL: fake.URL, Body: "to={to}&text={text}"}})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// NoticeClinic opens a clinic that sends notices: emails are written to files in the folder, and webhooks can go to any
// address.
func NoticeClinic(t *testing.T, change ...func(*engine.Options)) (c *TestClinic, folder string) {
	t.Helper()
	return NoticeClinicOn(t, func(db store.Store) store.Store { return db }, change...)
}

// NoticeClinicOn is like NoticeClinic, with the database wrapped by around.
func NoticeClinicOn(t *testing.T, around func(store.Store) store.Store, change ...func(*engine.Options)) (c *TestClinic,
	folder string) {
	t.Helper()
	ctx := context.Background()
	db, queue := Database(t), Queue(t)
	folder = filepath.Join(t.TempDir(), "mail")
	mailer, err := notice.NewMailer(notice.MailOptions{Dir: folder})
	if err != nil {
		t.Fatal(err)
	}
	live := Holds(t, db)
	o := engine.Options{Store: around(db), Holds: live, Queue: queue, BaseURL: "https://book.example.org",
		QuickPasswords: true,
		Notices: message.Transport{
			Mailer: mailer, Hooks: notice.NewHooks(notice.HookOptions{AllowPrivate: true}),
			// specialists stay offline during days of virtual time
		}, Presence: presence.Options{Sweep: 100 * time.Hour, Mirror: 100 * time.Hour, Reconcile: 100 * time.Hour}}
	for _, with := range change {
		with(&o)
	}
	e, err := engine.New(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	Run(t, e.Run)
	c = &TestClinic{Engine: e, T: t, Store: db, Holds: live, Start: Noon(time.UTC, 4)}
	if _, err := e.Clinic.Import(ctx, "system", ClinicFile(map[string]int{"ada": 1})); err != nil {
		t.Fatal(err)
	}
	return c, folder
}

// Mails returns the decoded emails about an appointment, keyed by notice.
func (c *TestClinic) Mails(folder, appointmentID string) map[string]string {
	c.T.Helper()
	list, err := c.Record.Deliveries(context.Background(), appointmentID)
	if err != nil {
		c.T.Fatal(err)
	}
	texts := make(map[string]string)
	for _, d := range list {
		raw, err := os.ReadFile(filepath.Join(folder, d.OperationID+".eml"))
		if err == nil {
			// The random boundaries must not be decoded as quoted-printable text: boundary=7b would become a brace.
			masked := strings.ReplaceAll(string(raw), "boundary=", "boundary: ")
			text, _ := io.ReadAll(quotedprintable.NewReader(strings.NewReader(masked)))
			texts[d.Notice] = string(text)
		}
	}
	return texts
}

// BySMTP returns an option to send email through a server that accepts all messages.
func BySMTP(t *testing.T) func(*engine.Options) {
	return func(o *engine.Options) {
		mailer, err := notice.NewMailer(notice.MailOptions{URL: "smtp://" +
			noticetest.MailServer(t, func(string) string { return "250 ok" })})
		if err != nil {
			t.Fatal(err)
		}
		o.Notices.Mailer = mailer
	}
}

// Operations returns the notices in the outbox rows for an appointment or a request.
func (c *TestClinic) Operations(id string) (kinds string) {
	c.T.Helper()
	list, err := c.Record.Deliveries(context.Background(), id)
	if err != nil {
		c.T.Fatal(err)
	}
	for _, d := range list {
		kinds += d.Notice + " "
	}
	return kinds
}

// OffersToFiles makes an engine offer times that have become free even though its emails are only written to files.
func OffersToFiles(o *engine.Options) { o.OffersToFiles = true }
