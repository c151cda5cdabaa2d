package browsertest

import (
	"testing"

	"holdfast/engine"
	"holdfast/engine/enginetest"
	"holdfast/engine/message"
	"holdfast/engine/notice"
	"holdfast/engine/notice/noticetest"
	"holdfast/web"
)

// TestPageConfirmsSentEmail: the page shows that an email was sent only once the mail server has accepted it.
func TestPageConfirmsSentEmail(t *testing.T) {
	t.Parallel()
	taken := make(chan struct{})
	mailer, err := notice.NewMailer(notice.MailOptions{URL: "smtp://" + noticetest.MailServer(t, func(string) string {
		<-taken
		return "250 ok"
	})})
	if err != nil {
		t.Fatal(err)
	}
	h := newHouseWith(t, engine.Options{Queue: enginetest.Queue(t),
		Notices: message.Transport{Mailer: mailer, From: "post@clinic.example"}}, web.Options{})
	p := h.tab(t)
	p.when("")
	p.take(h.at("10:00"))
	if got := p.text("#email-hint"); got != "For your confirmation and the calendar file" {
		t.Errorf("with a mail server, the form shows %q", got)
	}
	p.confirm()
	p.booked()
	p.until(`performance.getEntriesByType('resource').some(e => e.name.endsWith('/v1/appointments/managed') && e.responseEnd)`)
	if said := p.text(".sent"); said != "" {
		t.Errorf("while the mail server waits, the page shows %q", said)
	}
	close(taken)
	p.there(".sent")
	if got := p.text(".sent"); got != "Email sent to lena@example.org." {
		t.Errorf("the page shows %q", got)
	}
	p.look("book-4-mailed")
	p.reload()
	p.booked()
	p.there(".sent")

	// After a move, the server sends another email.
	p.click(".row button:not(.danger)")
	p.take(h.at("11:00"))
	p.click(".actions .primary")
	p.says("Your appointment was moved.")
	p.there(".sent")

	p.open("/manage?lang=en#nonsense")
	p.says("This link no longer works. The link was replaced or has expired. Use the link in your latest email, or call 030 1234567.")
}

// TestPageWithoutMailServerPromisesNoEmail: without a mail server no page promises an email: neither the form, nor an
// expired link, nor the setup page.
func TestPageWithoutMailServerPromisesNoEmail(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.tab(t)
	p.when("")
	p.take(h.at("10:00"))
	for lang, want := range map[string]string{"en": "So that the clinic can reach you",
		"de": "Damit die Praxis Sie erreicht", "es": "Para que la clínica pueda localizarle"} {
		p.open("/?type=checkup&lang=" + lang)
		p.held()
		if got := p.text("#email-hint"); got != want {
			t.Errorf("without a mail server, the form shows %q, want %q", got, want)
		}
	}
	p.open("/manage?lang=en#nonsense")
	p.says("This link no longer works. The link was replaced or has expired. Call 030 1234567.")
}
