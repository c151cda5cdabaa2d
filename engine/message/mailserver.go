package message

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/mail"
	"sync/atomic"

	"holdfast/engine/clinic"
	"holdfast/engine/notice"
	"holdfast/engine/outbound"
	"holdfast/engine/record"
	"holdfast/engine/token"
	"holdfast/store"
)

// MailServer is the mail server that an owner chooses in the browser, in place of the one that the server was started with. It is safe for
// concurrent use.
//
// The choice is in the clinic's settings, where every node reads it from the store's feed; a node sends its next mail by it. Its password is
// sealed with the keys of secret.key, for this server and this user: after a change of one of them the password must be typed again, so a
// caller cannot have it sent to a server of their own. No answer, no audit entry and no file contains it.
//
// A server that was given when Holdfast was started takes precedence over the choice, which then is kept and not used.
type MailServer struct {
	clinic   *clinic.Clinic
	messages *Messages
	outbound *outbound.Outbound
	log      *slog.Logger
	mailer   *notice.Mailer // nil: no mail is sent, whatever is chosen
	trials   *notice.Mailer // for them alone
	keys     *token.Keys
	trying   chan struct{} // limits the concurrent trials
	changed  chan struct{} // room for one signal
	used     atomic.Pointer[notice.Server]
}

// newMailServer returns a MailServer that sends by mailer until Follow reads the choice. Without a mailer no email is sent.
func newMailServer(ms *Messages, mailer *notice.Mailer, keys *token.Keys) *MailServer {
	trials := mailer
	if trials == nil {
		trials, _ = notice.NewMailer(notice.MailOptions{}) // it returns an error for wrong addresses only, and gets none
	}
	return &MailServer{
		clinic: ms.clinic, messages: ms, outbound: ms.outbound, log: ms.log, mailer: mailer, trials: trials, keys: keys,
		trying: make(chan struct{}, 2), changed: make(chan struct{}, 1),
	}
}

// MailServerSetup is how mail leaves the clinic. No password is in it.
type MailServerSetup struct {
	Given      *notice.Server // the server was started with it, so it counts
	Chosen     *notice.Server // by an owner; its Sealed is empty
	IsSet      bool           // the chosen one has a password
	IsReadable bool           // and this server has the key to it
	Sender     string         // who mail comes from; empty: nobody, and so no server takes it
	SenderFrom string         // where it comes from: start, choice or clinic
}

// Current is how mail leaves the clinic now.
func (ch *MailServer) Current() MailServerSetup {
	var s MailServerSetup
	if ch.mailer != nil {
		s.Given = ch.mailer.Given()
	}
	if saved := ch.clinic.Settings().Mail; saved != nil {
		shown := *saved
		shown.Sealed = ""
		s.Chosen, s.IsSet = &shown, saved.Sealed != ""
		_, s.IsReadable = ch.password(saved)
	}
	s.Sender, s.SenderFrom = ch.messages.Sender()
	return s
}

// password of a server as it is kept; empty where it needs none.
func (ch *MailServer) password(s *notice.Server) (password string, isReadable bool) {
	if s.Sealed == "" {
		return "", true
	}
	return ch.keys.Current().Open(s.Sealed, use(s))
}

// use is what a password is sealed for.
func use(s *notice.Server) string {
	return fmt.Sprintf("mail server %s:%d %s %s", s.Host, s.Port, s.Encryption, s.User)
}

// Follow has mail go by what is chosen now. The feed calls it, one change at a time.
func (ch *MailServer) Follow() {
	saved, before := ch.clinic.Settings().Mail, ch.used.Load()
	if saved == before || saved != nil && before != nil && *saved == *before {
		return
	}
	ch.used.Store(saved)
	if ch.mailer == nil {
		return
	}
	if saved == nil {
		ch.mailer.Use(nil, "", true)
		return
	}
	password, isReadable := ch.password(saved)
	if !isReadable {
		ch.log.Warn("mail server password unreadable with this secret.key; emails wait", "host", saved.Host)
	}
	ch.mailer.Use(saved, password, isReadable)
	select {
	case ch.changed <- struct{}{}:
	default:
	}
}

// Run has mail that waits tried at once whenever the choice changes, until ctx ends.
func (ch *MailServer) Run(ctx context.Context) {
	for {
		select {
		case <-ch.changed:
			ch.outbound.WakeFor(store.Email)
		case <-ctx.Done():
			return
		}
	}
}

// Put makes another choice. *record.ValidationError.
func (ch *MailServer) Put(ctx context.Context, actor record.Actor, w MailServerWish) error {
	return ch.clinic.ChangeMailServer(ctx, actor, clinic.MailServerChanged, func(before *notice.Server) (*notice.Server, error) {
		s, password, err := ch.complete(w, before)
		if err == nil && password != "" {
			s.Sealed = ch.keys.Current().Seal(password, use(s))
		}
		return s, err
	})
}

// Remove takes the choice back. Taking back none is no error.
func (ch *MailServer) Remove(ctx context.Context, actor record.Actor) error {
	return ch.clinic.ChangeMailServer(ctx, actor, clinic.MailServerChanged, func(*notice.Server) (*notice.Server, error) { return nil, nil })
}

// Seal seals the password with the key that signs now. It comes before that key is replaced, so that the password is never
// under one that is dropped; every node knows the key.
func (ch *MailServer) Seal(ctx context.Context) error {
	saved := ch.clinic.Settings().Mail
	if saved == nil || saved.Sealed == "" {
		return nil
	}
	return ch.clinic.ChangeMailServer(ctx, "system", clinic.MailServerSealed, func(before *notice.Server) (*notice.Server, error) {
		if before == nil || before.Sealed == "" {
			return before, nil
		}
		password, isReadable := ch.password(before)
		if !isReadable { // as it was: it is to be typed again
			return before, nil
		}
		after := *before
		after.Sealed = ch.keys.Current().Seal(password, use(before))
		return &after, nil
	})
}

// Try sends one mail by a server that is not chosen yet, to somebody of the staff, and says what became of it. What is
// chosen stays. *record.ValidationError.
func (ch *MailServer) Try(ctx context.Context, to mail.Address, w MailServerWish) (notice.Trial, error) {
	s, password, err := ch.complete(w, ch.clinic.Settings().Mail)
	if err != nil {
		return notice.Trial{}, err
	}
	select {
	case ch.trying <- struct{}{}:
		defer func() { <-ch.trying }()
	case <-ctx.Done():
		return notice.Trial{}, store.ErrOverloaded
	}
	return ch.trials.Try(ctx, *s, password, ch.messages.TestLetter(to, cmp.Or(ch.messages.SenderFromStart(), s.From))), nil
}
