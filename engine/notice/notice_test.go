package notice

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/engine/notice/noticetest"
)

// TestSignVector checks the example from the Standard Webhooks specification.
func TestSignVector(t *testing.T) {
	got, err := Sign("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0),
		[]byte(`{"test": 2432232314}`))
	if want := "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; err != nil || got != want {
		t.Errorf("signature %q (%v), want %q", got, err, want)
	}
	for _, bad := range []string{"", "whsec_", "whsec_!!", "whsec_c2hvcnQ=", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"} {
		if ValidWebhookSecret(bad) {
			t.Errorf("the invalid secret %q is accepted", bad)
		}
	}
	if !ValidWebhookSecret(NewWebhookSecret()) {
		t.Error("a new secret is refused")
	}
}

func TestPost(t *testing.T) {
	secret := NewWebhookSecret()
	var status int
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		want, _ := Sign(secret, r.Header.Get("webhook-id"), time.Unix(1700000000, 0), body)
		if r.Header.Get("webhook-signature") != want || r.Header.Get("webhook-timestamp") != "1700000000" {
			t.Errorf("signature %q over %q, want %q", r.Header.Get("webhook-signature"), body, want)
		}
		w.WriteHeader(status)
	}))
	defer server.Close()
	for _, x := range []struct {
		name           string
		status         int
		allow          bool
		fails, forGood bool
	}{
		{"accepted", 204, true, false, false},
		{"failing", 500, true, true, false},
		{"redirected", 302, true, true, false},
		{"gone", 410, true, true, true},
		{"private", 204, false, true, true},
	} {
		status = x.status
		_, err := NewHooks(HookOptions{AllowPrivate: x.allow}).Post(context.Background(), server.URL, []string{secret},
			"op-1", time.Unix(1700000000, 0), []byte(`{}`))
		if (err != nil) != x.fails || IsPermanent(err) != x.forGood {
			t.Errorf("%s: got %v (permanent %v), want failure %v, permanent %v", x.name, err, IsPermanent(err), x.fails,
				x.forGood)
		}
	}
}

func TestRetryAfterIsSecondsOrDate(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for header, want := range map[string]time.Duration{
		"": 0, "soon": 0, "-5": 0, "0": 0, "120": 2 * time.Minute, "7200": maxRetryAfter, "99999999999": 0,
		"Mon, 30 Nov 2026 12:05:00 GMT": 5 * time.Minute, "Mon, 30 Nov 2026 11:00:00 GMT": 0,
		"Tue, 01 Dec 2026 12:00:00 GMT": maxRetryAfter,
	} {
		if got := retryAfter(header, now); got != want {
			t.Errorf("Retry-After %q means %s, want %s", header, got, want)
		}
	}
}

func TestRefusePrivate(t *testing.T) {
	for address, refused := range map[string]bool{
		"127.0.0.1:80": true, "10.1.2.3:443": true, "192.168.0.1:443": true, "172.16.0.1:1": true,
		"169.254.169.254:80": true, "[::1]:80": true, "[fe80::1]:80": true, "[fd00::1]:80": true,
		"[::ffff:10.0.0.1]:80": true, "100.64.1.1:80": true, "0.0.0.0:80": true, "nonsense": true,
		"203.0.113.7:443": false, "[2001:db8::1]:443": false, "[::ffff:203.0.113.7]:443": false, "1.1.1.1:443": false,
		"223.255.255.255:1": false,
		// other special-purpose networks, and other notations for private addresses
		"0.1.2.3:80": true, "192.0.0.8:80": true, "198.18.0.1:80": true, "198.19.255.255:80": true,
		"240.0.0.1:80": true, "255.255.255.255:80": true, "224.0.0.1:80": true, "[ff02::1]:80": true,
		"[fec0::1]:80": true, "[100::1]:80": true, "[::]:80": true, "[::ffff:127.0.0.1]:80": true,
		"[::127.0.0.1]:80": true, "[::ffff:0:10.0.0.1]:80": true, "[64:ff9b::10.0.0.1]:80": true,
		"[64:ff9b::a9fe:a9fe]:80": true, "[64:ff9b:1::10.0.0.1]:80": true, "[2002:a00:1::1]:80": true,
		"[2002:7f00:1::]:80": true, "[2001:0:53aa:64c::1]:80": true, "[fe80::1%eth0]:80": true,
	} {
		if got := refusePrivate(address) != nil; got != refused {
			t.Errorf("%s: refused %v, want %v", address, got, refused)
		}
	}
}

func letter() Mail {
	return Mail{
		ID: "op-1700000000000-abc123", To: "lena@example.org", ToName: "Lena Vogt",
		From: mail.Address{Name: "Harbour Clinic", Address: "clinic@example.org"}, Subject: "Ihr Termin am 23. März",
		Text: "Grüße\nHarbour Clinic\n", Calendar: []byte("BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n"),
		CalendarMethod: "REQUEST", Language: "de", HTML: "<p>Grüße</p>",
	}
}

func TestMailWithoutAServerIsAFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mail")
	m, err := NewMailer(MailOptions{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // sending the same message twice writes one file
		if err := m.Send(context.Background(), letter()); err != nil {
			t.Fatal(err)
		}
	}
	files, _ := os.ReadDir(dir)
	if len(files) != 1 || files[0].Name() != "op-1700000000000-abc123.eml" {
		t.Fatalf("the folder contains %v, want one .eml named after the message", files)
	}
	raw, err := os.ReadFile(filepath.Join(dir, files[0].Name()))
	if err != nil {
		t.Fatal(err)
	}
	msg, err := mail.ReadMessage(strings.NewReader(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	for header, want := range map[string]string{"Auto-Submitted": "auto-generated",
		"Message-Id": "<op-1700000000000-abc123@example.org>", "Content-Language": "de", "User-Agent": "",
		"X-Mailer": ""} {
		if got := msg.Header.Get(header); got != want {
			t.Errorf("%s: %q, want %q", header, got, want)
		}
	}
	for _, want := range []string{"multipart/alternative", "text/plain", "text/html", "text/calendar; method=REQUEST",
		"application/ics"} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("the message misses %s:\n%s", want, raw)
		}
	}
}

func TestMailRefusesForgedHeaders(t *testing.T) {
	m, err := NewMailer(MailOptions{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	x := letter()
	x.To = "lena@example.org\r\nBcc: everybody@example.org"
	if err := m.Send(context.Background(), x); !IsPermanent(err) {
		t.Errorf("a line break in an address: got %v, want a permanent error", err)
	}
}

func TestMailBySMTP(t *testing.T) {
	for _, x := range []struct {
		name, reply    string
		fails, forGood bool
	}{
		{"accepted", "250 ok", false, false},
		{"mailbox busy", "450 4.2.1 busy", true, false},
		{"no such mailbox", "550 5.1.1 lena@example.org unknown", true, true},
	} {
		server := noticetest.MailServer(t, func(string) string { return x.reply })
		m, err := NewMailer(MailOptions{URL: "smtp://" + server, Timeout: 5 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		err = m.Send(context.Background(), letter())
		if (err != nil) != x.fails || IsPermanent(err) != x.forGood {
			t.Errorf("%s: got %v (permanent %v), want failure %v, permanent %v", x.name, err, IsPermanent(err), x.fails,
				x.forGood)
		}
		if err != nil && strings.Contains(err.Error(), "lena") {
			t.Errorf("%s: the error contains the recipient: %v", x.name, err)
		}
	}
	for _, bad := range []string{"http://mail.example.org", "smtp://", "smtp://host:port", "mail.example.org"} {
		if _, err := NewMailer(MailOptions{URL: bad}); err == nil {
			t.Errorf("the invalid SMTP address %q is accepted", bad)
		}
	}
}

// TestUnreachableIsNotRefused: unlike a server that refuses a message, an unreachable server only delays it.
func TestUnreachableIsNotRefused(t *testing.T) {
	const closed = "127.0.0.1:1"
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts connections and sends nothing
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	busy := noticetest.MailServer(t, func(string) string { return "450 4.2.1 busy" })
	failing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) }))
	defer failing.Close()
	encrypted := httptest.NewTLSServer(http.NotFoundHandler())
	encrypted.Config.ErrorLog = log.New(io.Discard, "", 0)
	defer encrypted.Close()
	const soon, patient = 2 * time.Second, 30 * time.Second // soon is long enough to connect on a busy machine
	byMail := func(url string, timeout time.Duration) error {
		m, err := NewMailer(MailOptions{URL: url, Timeout: timeout})
		if err != nil {
			t.Fatal(err)
		}
		return m.Send(context.Background(), letter())
	}
	byHook := func(url string, timeout time.Duration) error {
		hooks := NewHooks(HookOptions{AllowPrivate: true, Timeout: timeout})
		_, err := hooks.Post(context.Background(), url, []string{NewWebhookSecret()}, "op-1", time.Unix(1700000000, 0),
			[]byte(`{}`))
		return err
	}
	for _, x := range []struct {
		name  string
		err   error
		wants bool
	}{
		{"mail: closed listens", byMail("smtp://"+closed, patient), true},
		{"mail: closed listens, encrypted", byMail("smtps://"+closed, patient), true},
		{"mail: no such name", byMail("smtp://mail.invalid:25", patient), true},
		{"mail: accepts the connection and sends nothing", byMail("smtp://"+silent.Addr().String(), soon), true},
		{"mail: refuses the password", byMail("smtp://jo:secret@"+busy, patient), false},
		{"mail: busy", byMail("smtp://"+busy, patient), false},
		{"hook: closed listens", byHook("http://"+closed, patient), true},
		{"hook: no such name", byHook("https://hooks.invalid/", patient), true},
		{"hook: not found", byHook(failing.URL, patient), false},
		{"hook: accepts the connection and sends nothing", byHook("http://"+silent.Addr().String(), soon), false},
		{"hook: a certificate of closed known", byHook(encrypted.URL, patient), false},
	} {
		if x.err == nil || IsUnreachable(x.err) != x.wants {
			t.Errorf("%s: got %v (unreachable %v), want unreachable %v", x.name, x.err, IsUnreachable(x.err), x.wants)
		}
	}
}
