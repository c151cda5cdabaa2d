package browsertest

import (
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/enginetest"
	"holdfast/engine/message"
	"holdfast/engine/notice"
	"holdfast/engine/notice/noticetest"
	"holdfast/store"
	"holdfast/web"
)

// TestOwnerSetsUpMailServer: an owner configures email in the settings. The page warns about settings that do not match
// each other. After a test email, it shows the mail server's response and what to do next. It shows the saved settings
// without the password.
func TestOwnerSetsUpMailServer(t *testing.T) {
	t.Parallel()
	host, address := noticetest.MailPort()
	certificate, roots := noticetest.Certified(t, time.Now().Add(time.Hour), host)
	taken := make(chan string, 10)
	(&noticetest.Script{Address: address, Certificate: certificate, User: "post@clinic.example", Password: "right",
		Taken: func(m string) { taken <- m }}).Serve(t)
	mailer, err := notice.NewMailer(notice.MailOptions{Dir: t.TempDir(), Roots: roots})
	if err != nil {
		t.Fatal(err)
	}
	h := newHouseWith(t, engine.Options{Queue: enginetest.Queue(t), Notices: message.Transport{Mailer: mailer}},
		web.Options{})
	p := h.desk(t, store.RoleOwner)
	p.open("/staff?lang=en#settings")
	p.there("#mail-host")

	p.click("#mail-try")
	p.there("#mail-server .summary:focus")
	p.set("#mail-encryption", "tls")
	p.until(`document.querySelector('#mail-port').value === '465'`)
	p.set("#mail-port", "587")
	p.says("Port 587 usually uses STARTTLS")
	p.set("#mail-encryption", "starttls")
	p.set("#mail-port", "2525")
	p.fill("#mail-host", host)
	p.fill("#mail-user", "post@clinic.example")
	p.fill("#mail-password", "wrong")
	p.fill("#mail-from", "Harbour <post@clinic.example>")
	p.click("#mail-try")
	p.says("The user or the password is wrong.")
	p.says("535 5.7.8 Username and password not accepted")
	p.accessible("a test mail that was refused")
	p.run(`document.querySelector('#mail-server').scrollIntoView({ block: 'start', behavior: 'instant' })`)
	p.shot("mailserver-refused")
	if h.engine.Message.SendsMail() {
		t.Error("a trial saved the mail server")
	}

	p.set("#mail-password", "right")
	p.click("#mail-try")
	p.says("The mail server accepted a test email to")
	<-taken
	p.click("#mail-server [type=submit]")
	p.until(`document.querySelector('#mail-password').value === '' && document.querySelector('#mail-password-hint').innerText.startsWith('A password is stored')`)
	if !h.engine.Message.SendsMail() {
		t.Error("it is saved, but the server sends no email")
	}
	p.reload()
	p.until(`document.querySelector('#mail-host')?.value === '` + host + `'`)
	if got := ask[string](p, `document.querySelector('#mail-password').value`); got != "" {
		t.Errorf("the page contains the password %q", got)
	}
	p.click("#mail-try") // with the stored password
	p.says("The mail server accepted a test email to")
	<-taken
	p.set("#mail-user", "somebody else")
	p.click("#mail-try")
	p.says("Enter this again")
}

// TestSettingsShowMailServerOfStart checks that, if the server was started with a mail server, the settings page shows
// that this mail server takes precedence.
func TestSettingsShowMailServerOfStart(t *testing.T) {
	t.Parallel()
	mailer, err := notice.NewMailer(notice.MailOptions{URL: "smtp://mail.start.example:587"})
	if err != nil {
		t.Fatal(err)
	}
	h := newHouseWith(t, engine.Options{Queue: enginetest.Queue(t),
		Notices: message.Transport{Mailer: mailer, From: "post@clinic.example"}}, web.Options{})
	p := h.desk(t, store.RoleOwner)
	p.open("/staff?lang=en#settings")
	p.says("The server was started with the mail server mail.start.example:587, which takes precedence.")
}
