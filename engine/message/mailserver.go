package message

import (
	"cmp"
	"context"
	"log/slog"
	"net/mail"

	"holdfast/engine/clinic"
	"holdfast/engine/notice"
	"holdfast/engine/record"
	"holdfast/engine/token"
	"holdfast/store"
)

// MailServer is the mail server that an owner chooses in the browser. It is safe for concurrent use. Each node uses the
// choice from its next email on.
//
// A mail server configured at startup takes precedence: the choice is then stored but not used.
type MailServer struct {
	chosen[notice.Server]
	clinic   *clinic.Clinic
	messages *Messages
	log      *slog.Logger
	mailer   *notice.Mailer // nil means that no email is sent, whatever the choice
	trials   *notice.Mailer // used only for trials
}

// newMailServer returns a MailServer that uses mailer until Follow reads the choice. Without a mailer, no email is
// sent.
func newMailServer(ms *Messages, mailer *notice.Mailer, keys *token.Keys) *MailServer {
	trials := mailer
	if trials == nil {
		// NewMailer fails only for invalid addresses, and these options contain none
		trials, _ = notice.NewMailer(notice.MailOptions{})
	}
	return &MailServer{
		chosen: newChosen(ms.clinic.MailServer(keys), ms.outbound, store.Email),
		clinic: ms.clinic, messages: ms, log: ms.log, mailer: mailer, trials: trials,
	}
}

// MailServerSetup describes how the clinic's emails are sent. It does not contain a password.
type MailServerSetup struct {
	Given *notice.Server // configured at startup, so it takes precedence
	clinic.ChoiceSetup[notice.Server]
	Sender     string // the sender of emails; if empty, no mail server accepts them
	SenderFrom string // the source of Sender: start, choice or clinic
}

// Current describes how the clinic's emails are currently sent.
func (ch *MailServer) Current() MailServerSetup {
	s := MailServerSetup{ChoiceSetup: ch.choice.Setup()}
	if ch.mailer != nil {
		s.Given = ch.mailer.Given()
	}
	s.Sender, s.SenderFrom = ch.messages.Sender()
	return s
}

// Follow applies the current choice to the mailer. The feed calls it, one change at a time.
func (ch *MailServer) Follow() {
	if ch.mailer == nil {
		return
	}
	ch.follow(func(s *notice.Server, password string, isReadable bool) {
		if !isReadable {
			ch.log.Warn("mail server password unreadable with this secret.key; emails stay queued", "host", s.Host)
		}
		ch.mailer.Use(s, password, isReadable)
	})
}

// Put stores another choice. Errors: *record.ValidationError.
func (ch *MailServer) Put(ctx context.Context, actor record.Actor, w MailServerWish) error {
	return ch.choice.Put(ctx, actor, func(before *notice.Server) (*notice.Server, string, error) {
		return ch.complete(w, before)
	})
}

// Try sends one email to a member of staff through a server that has not been chosen yet, and returns the result. The
// current choice does not change. Errors: *record.ValidationError, store.ErrOverloaded.
func (ch *MailServer) Try(ctx context.Context, to mail.Address, w MailServerWish) (notice.Trial, error) {
	s, password, err := ch.complete(w, ch.clinic.Settings().Mail)
	if err != nil {
		return notice.Trial{}, err
	}
	done, err := ch.try(ctx)
	if err != nil {
		return notice.Trial{}, err
	}
	defer done()
	return ch.trials.Try(ctx, *s, password, ch.messages.TestLetter(to, cmp.Or(ch.messages.SenderFromStart(), s.From))),
		nil
}
