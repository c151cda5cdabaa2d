package notice_test

import (
	"net"
	"strings"
	"testing"
	"time"

	"holdfast/engine/notice"
	"holdfast/engine/notice/noticetest"
)

const awkward = "Tom & \"Jo\" = 100%\nüñ€ \\ {to}"

// TestPresetsSendTextsUnchanged: awkward text must arrive unchanged in each wire format, with the account's
// credentials.
func TestPresetsSendTextsUnchanged(t *testing.T) {
	for name, address := range map[string]string{
		"twilio": "twilio://AC1:token@?from=+4930123", "seven": "seven://apikey@?from=Clinic",
	} {
		t.Run(name, func(t *testing.T) {
			fake := noticetest.NewGateway(t)
			g, secret, err := notice.ParseGateway(address)
			if err != nil {
				t.Fatal(err)
			}
			if wrong := g.Mistakes(false); len(wrong) > 0 {
				t.Fatalf("the preset is invalid: %v", wrong)
			}
			g.URL = fake.URL + "/{user}"
			x, err := notice.NewTexter(notice.TexterOptions{Given: &g, Secret: secret, AllowPrivate: true})
			if err != nil {
				t.Fatal(err)
			}
			if err := x.Send(t.Context(), "+49170123", awkward); err != nil {
				t.Fatal(err)
			}
			got := fake.Texts()[0]
			if got.To != "+49170123" || got.Text != awkward {
				t.Errorf("got %+v from %s", got, got.Body)
			}
			if key := got.Header.Get("Authorization") + got.Header.Get("X-Api-Key"); key != "Basic QUMxOnRva2Vu" && key != "apikey" {
				t.Errorf("credentials %q", key)
			}
			if name == "twilio" && !strings.Contains(got.Body, "From=%2B4930123") {
				t.Errorf("the plus of the sender is missing: %s", got.Body)
			}
		})
	}
}

func TestGatewayByGetEscapesQuery(t *testing.T) {
	fake := noticetest.NewGateway(t)
	g := notice.Gateway{Method: "GET", URL: fake.URL + "/send?to={number}&text={text}&key={secret}"}
	x, err := notice.NewTexter(notice.TexterOptions{Given: &g, Secret: "a&b", AllowPrivate: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Send(t.Context(), "+49170123", awkward); err != nil {
		t.Fatal(err)
	}
	if got := fake.Texts()[0]; got.To != "49170123" || got.Text != awkward {
		t.Errorf("got %+v", got)
	}
}

// TestTexterTellsLostFromRefused: the kind of an error determines whether the queue sends a message again.
func TestTexterTellsLostFromRefused(t *testing.T) {
	fake := noticetest.NewGateway(t)
	g := notice.Gateway{Method: "POST", URL: fake.URL, Body: "to={to}&text={text}", Success: `"success": "100"`}
	x, err := notice.NewTexter(notice.TexterOptions{Given: &g, AllowPrivate: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		status int
		body   string
		want   string
	}{
		{200, `{"success":"100"}`, "sent"}, {200, `{"success":"900"}`, "permanent"}, {400, "", "permanent"}, {302, "", "permanent"},
		{401, "", "again"}, {429, "", "again"}, {503, "", "again"}, {500, "", "lost"}, {502, "", "lost"}, {0, "", "lost"},
	} {
		fake.Answer(func(noticetest.Text) (int, string) { return c.status, c.body })
		before := len(fake.Texts())
		err := x.Send(t.Context(), "+49170123", "x")
		got := "again"
		switch {
		case err == nil:
			got = "sent"
		case notice.IsPermanent(err):
			got = "permanent"
		case notice.IsLost(err):
			got = "lost"
		case notice.IsUnreachable(err):
			got = "unreachable"
		}
		if got != c.want {
			t.Errorf("%d %s: got %s (%v), want %s", c.status, c.body, got, err, c.want)
		}
		if n := len(fake.Texts()) - before; n != 1 {
			t.Errorf("%d: the gateway received %d messages, want 1", c.status, n)
		}
	}
}

func TestTexterRefusesPrivateAddresses(t *testing.T) {
	fake := noticetest.NewGateway(t)
	x, err := notice.NewTexter(notice.TexterOptions{Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	g := notice.Gateway{Method: "POST", URL: strings.Replace(fake.URL, "http:", "https:", 1), Body: "{to}{text}"}
	if _, err := x.Try(t.Context(), g, "", "+1", "x"); !notice.IsPermanent(err) || len(fake.Texts()) != 0 {
		t.Errorf("got %v, want a permanent error", err)
	}
}

func TestTexterReportsUnreachableGateway(t *testing.T) {
	host, _ := noticetest.MailPort() // no other test listens there
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	x, err := notice.NewTexter(notice.TexterOptions{AllowPrivate: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Try(t.Context(), notice.Gateway{Method: "POST", URL: "http://" + address, Body: "{to}{text}"}, "", "+1", "x"); !notice.IsUnreachable(err) {
		t.Errorf("got %v", err)
	}
}

func TestGatewayMistakesNameFields(t *testing.T) {
	for name, c := range map[string]struct {
		g    notice.Gateway
		want string
	}{
		"usable":          {notice.Gateway{Method: "POST", URL: "https://sms.example.org/{user}", Body: "{to}{text}"}, ""},
		"a host by text":  {notice.Gateway{Method: "POST", URL: "https://{text}.example.org/", Body: "{to}{text}"}, "url"},
		"no encryption":   {notice.Gateway{Method: "POST", URL: "http://sms.example.org/", Body: "{to}{text}"}, "url"},
		"another scheme":  {notice.Gateway{Method: "POST", URL: "file:///etc/passwd", Body: "{to}{text}"}, "url"},
		"a user":          {notice.Gateway{Method: "POST", URL: "https://a:b@sms.example.org/", Body: "{to}{text}"}, "url"},
		"no text":         {notice.Gateway{Method: "POST", URL: "https://sms.example.org/", Body: "{to}"}, "body"},
		"a body with GET": {notice.Gateway{Method: "GET", URL: "https://sms.example.org/?{to}{text}", Body: "x"}, "body"},
		"a header":        {notice.Gateway{Method: "POST", URL: "https://sms.example.org/", Body: "{to}{text}", Headers: "key"}, "headers"},
		"a method":        {notice.Gateway{Method: "DELETE", URL: "https://sms.example.org/", Body: "{to}{text}"}, "method"},
	} {
		got := ""
		for _, w := range c.g.Mistakes(false) {
			got += w.Field
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
