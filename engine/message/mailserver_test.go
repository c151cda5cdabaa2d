package message_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/engine/message"
	"holdfast/engine/notice"
	"holdfast/engine/record"
	"holdfast/engine/token"
	"holdfast/store"
)

// TestMailServerChangesWhileRunning: an owner configures a mail server. A trial does not select it, a selection takes
// effect immediately, and the password cannot be read anywhere.
func TestMailServerChangesWhileRunning(t *testing.T) {
	t.Parallel()
	p := enginetest.NewMailProvider(t)
	mailer := p.Mailer(t)
	c, _ := enginetest.NoticeClinic(t, func(o *engine.Options) { o.Notices.Mailer = mailer })
	ctx := t.Context()
	trial, err := c.Message.Server.Try(ctx, enginetest.Tester, p.Wish)
	if err != nil || trial.Finding != notice.FoundNothing || c.Message.SendsMail() {
		t.Fatalf("the trial: %+v, %v; want success and no stored choice", trial, err)
	}
	p.Wants(t, "the trial", "jo@example.org", `"Harbour" <post@clinic.example>`)
	if err := c.Message.Server.Put(ctx, "user:olga", p.Wish); err != nil {
		t.Fatal(err)
	}
	if delivery, why := c.Message.TestMail(ctx, enginetest.Tester); delivery != message.MailSent {
		t.Errorf("after the choice, an email is %q (%s), want it sent", delivery, why)
	}
	p.Wants(t, "the first mail", `"Harbour" <post@clinic.example>`)

	// Changes to other settings leave the mail server unchanged, and neither a response nor stored data contains the
	// password.
	if _, err := c.Clinic.UpdateSettings(ctx, "user:olga", func(s *clinic.Settings) {
		*s = clinic.Settings{ReminderHours: 24}
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Clinic.Import(ctx, "user:olga", c.Clinic.Export()); err != nil {
		t.Fatal(err)
	}
	setup := c.Message.Server.Current()
	if setup.Chosen == nil || setup.Chosen.Host != p.Wish.Host || !setup.IsSet || !setup.IsReadable ||
		setup.SenderFrom != "choice" {
		t.Fatalf("after other changes, the choice is %+v", setup)
	}
	kept, err := c.Store.Schedule(ctx)
	if err != nil {
		t.Fatal(err)
	}
	log, _, err := c.Record.Audit(ctx, store.AuditFilter{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	for what, v := range map[string]any{"database": kept, "log": log, "export": c.Clinic.Export(),
		"settings": c.Clinic.Settings(), "setup": setup} {
		said, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if text := string(said) + fmt.Sprintf("%+v", v); strings.Contains(text, "canarysmtp") {
			t.Errorf("the %s contains the password: %s", what, text)
		}
		if what != "database" && what != "setup" && what != "log" && strings.Contains(string(said), p.Wish.Host) {
			t.Errorf("the %s contains the mail server's name: %s", what, said)
		}
	}
	if !strings.Contains(fmt.Sprint(log), string(record.ActionSettingsMailChanged)) {
		t.Errorf("the audit log has no entry for the change: %v", log)
	}

	// After the removal, emails are written to files again.
	if err := c.Message.Server.Remove(ctx, "user:olga"); err != nil || c.Message.SendsMail() {
		t.Errorf("removed: %v, and emails are sent: %t", err, c.Message.SendsMail())
	}
}

// TestStoredPasswordStaysWithServer: a stored password is sent only to the server and for the user that it was entered
// for. A person who is allowed to change the settings cannot find it out.
func TestStoredPasswordStaysWithServer(t *testing.T) {
	t.Parallel()
	p := enginetest.NewMailProvider(t)
	mailer := p.Mailer(t)
	c, _ := enginetest.NoticeClinic(t, func(o *engine.Options) { o.Notices.Mailer = mailer })
	if err := c.Message.Server.Put(t.Context(), "user:olga", p.Wish); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		name   string
		change func(*message.MailServerWish)
		field  string // the field with the error; empty means none
	}{
		{"the same server", func(*message.MailServerWish) {}, ""},
		// the test clinic has no email address
		{"another sender", func(w *message.MailServerWish) { w.From = "" }, "from"},
		{"another host", func(w *message.MailServerWish) { w.Host = "mail.evil.example" }, "password"},
		{"another port", func(w *message.MailServerWish) { w.Port = 587 }, "password"},
		{"another way", func(w *message.MailServerWish) { w.Encryption = notice.TLS }, "password"},
		{"another user", func(w *message.MailServerWish) { w.User = "eve" }, "password"},
		{"in the clear", func(w *message.MailServerWish) { w.Encryption = notice.NoTLS }, "encryption"},
		{"a port that is none for mail", func(w *message.MailServerWish) { w.Port = 22 }, "port"},
		{"an address for a name", func(w *message.MailServerWish) { w.Host = "smtp://mail.example.org" }, "host"},
		{"no host", func(w *message.MailServerWish) { w.Host = "" }, "host"},
		{"no way", func(w *message.MailServerWish) { w.Encryption = "ssl" }, "encryption"},
		{"a sender that is none", func(w *message.MailServerWish) { w.From = "the clinic" }, "from"},
		{"an invalid sender", func(w *message.MailServerWish) { w.From = "x@holdfast.invalid" }, "from"},
	} {
		w := p.Wish
		w.Password = ""
		x.change(&w)
		_, tried := c.Message.Server.Try(t.Context(), enginetest.Tester, w)
		put := c.Message.Server.Put(t.Context(), "user:olga", w)
		for _, err := range []error{tried, put} {
			var invalid *record.ValidationError
			switch isInvalid := errors.As(err, &invalid); {
			case x.field == "" && err != nil, x.field != "" && !isInvalid:
				t.Errorf("%s: got %v, want a mistake in %q", x.name, err, x.field)
			case x.field != "" && !strings.Contains(err.Error(), x.field+": "):
				t.Errorf("%s: got %v, want a mistake in %q", x.name, err, x.field)
			}
		}
	}
}

// TestMailPasswordSurvivesKeyRotation: the password survives every key rotation. If its key is lost, emails wait until
// the password is entered again.
func TestMailPasswordSurvivesKeyRotation(t *testing.T) {
	t.Parallel()
	p := enginetest.NewMailProvider(t)
	mailer, now := p.Mailer(t), time.Now()
	keys := token.Generate(now)
	c, _ := enginetest.NoticeClinic(t, func(o *engine.Options) { o.Notices.Mailer, o.Keyring = mailer, keys })
	if err := c.Message.Server.Put(t.Context(), "user:olga", p.Wish); err != nil {
		t.Fatal(err)
	}
	for n := range 4 { // each rotation drops the keys that were replaced long before
		if err := c.Message.Server.Seal(t.Context()); err != nil {
			t.Fatal(err)
		}
		keys = keys.Rotate(now.Add(time.Duration(n) * 2 * token.MaxManageTTL))
		c.Keys.Replace(keys)
	}
	if len(keys.Keys()) > 2 || !c.Message.Server.Current().IsReadable {
		t.Fatalf("after rotations with %d keys, the password can be decrypted: %t", len(keys.Keys()),
			c.Message.Server.Current().IsReadable)
	}
	if delivery, why := c.Message.TestMail(t.Context(), enginetest.Tester); delivery != message.MailSent {
		t.Errorf("after rotations, an email is %q (%s)", delivery, why)
	}
	p.Wants(t, "after rotations")

	if err := c.Message.Server.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c.Keys.Replace(keys.Revoke()); !c.Message.Server.Current().IsReadable {
		t.Error("the password cannot be decrypted after it was sealed and the earlier keys were revoked")
	}

	c.Keys.Replace(token.Generate(now))
	if setup := c.Message.Server.Current(); setup.IsReadable || !setup.IsSet {
		t.Errorf("without its key, the choice is %+v", setup)
	}
	if err := c.Message.Server.Seal(t.Context()); err != nil {
		t.Errorf("resealing an unreadable password: %v, want it unchanged", err)
	}
	w := p.Wish
	w.Password = ""
	if err := c.Message.Server.Put(t.Context(), "user:olga", w); err == nil ||
		!strings.Contains(err.Error(), "password: must be entered again") {
		t.Errorf("without its key: got %v", err)
	}
	if err := c.Message.Server.Put(t.Context(), "user:olga", p.Wish); err != nil ||
		!c.Message.Server.Current().IsReadable {
		t.Errorf("entered again: %v", err)
	}
}
