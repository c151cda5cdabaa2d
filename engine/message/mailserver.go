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

// MailServer is the mail server that an owner chooses in the browser. It is safe for concurrent use.
//
// The choice is in the clinic's settings, which every node reads from the store's feed; each node sends its next
// email with it. The password is sealed with the keys of secret.key, for this server and this user. After a change of
// the server or the user, the password must be typed again, so a caller cannot have it sent to a server of their own.
// No response, audit entry or file contains the password.
//
// A mail server that was configured at the start of Holdfast takes precedence: the choice is then stored, but not
// used.
type MailServer struct {
	clinic   *clinic.Clinic
	messages *Messages
	outbound *outbound.Outbound
	log      *slog.Logger
	mailer   *notice.Mailer // nil means no email is sent, regardless of the choice
	trials   *notice.Mailer // only for trials
	keys     *token.Keys
	trying   chan struct{} // limits the concurrent trials
	changed  chan struct{} // buffers one signal
	used     atomic.Pointer[notice.Server]
}

// newMailServer returns a MailServer that sends by mailer until Follow reads the choice. Without a mailer no email is
// sent.
func newMailServer(ms *Messages, mailer *notice.Mailer, keys *token.Keys) *MailServer {
	trials := mailer
	if trials == nil {
		// it returns an error for wrong addresses only, and gets none
		trials, _ = notice.NewMailer(notice.MailOptions{})
	}
	return &MailServer{
		clinic: ms.clinic, messages: ms, outbound: ms.outbound, log: ms.log, mailer: mailer, trials: trials, keys: keys,
		trying: make(chan struct{}, 2), changed: make(chan struct{}, 1),
	}
}

// MailServerSetup describes how emails leave the clinic. It contains no password.
type MailServerSetup struct {
	Given      *notice.Server // configured at the start, so it takes precedence
	Chosen     *notice.Server // chosen by an owner; its Sealed is empty
	IsSet      bool           // the chosen one has a password
	IsReadable bool           // this server has the key to that password, or no password is needed
	Sender     string         // the sender of emails; empty means none is set, so no mail server accepts them
	SenderFrom string         // the source of Sender: start, choice or clinic
}

// Current returns how emails leave the clinic now.
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

// password returns the unsealed password of a stored server; empty if it needs none.
func (ch *MailServer) password(s *notice.Server) (password string, isReadable bool) {
	if s.Sealed == "" {
		return "", true
	}
	return ch.keys.Current().Open(s.Sealed, use(s))
}

// use returns the purpose for which a password is sealed: its server and its user.
func use(s *notice.Server) string {
	return fmt.Sprintf("mail server %s:%d %s %s", s.Host, s.Port, s.Encryption, s.User)
}

// Follow applies the current choice to the mailer. The feed calls it, one change at a time.
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

// Run retries the waiting emails immediately whenever the choice changes, until ctx ends.
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

// Put stores another choice. Errors: *record.ValidationError.
func (ch *MailServer) Put(ctx context.Context, actor record.Actor, w MailServerWish) error {
	return ch.clinic.ChangeMailServer(ctx, actor, clinic.MailServerChanged,
		func(before *notice.Server) (*notice.Server, error) {
			s, password, err := ch.complete(w, before)
			if err == nil && password != "" {
				s.Sealed = ch.keys.Current().Seal(password, use(s))
			}
			return s, err
		})
}

// Remove deletes the choice. It is no error if there is none.
func (ch *MailServer) Remove(ctx context.Context, actor record.Actor) error {
	return ch.clinic.ChangeMailServer(ctx, actor, clinic.MailServerChanged,
		func(*notice.Server) (*notice.Server, error) { return nil, nil })
}

// Seal seals the password again with the current signing key. Call it before that key is replaced, so that the
// password is never sealed with a key that is dropped; every node has the key.
func (ch *MailServer) Seal(ctx context.Context) error {
	saved := ch.clinic.Settings().Mail
	if saved == nil || saved.Sealed == "" {
		return nil
	}
	return ch.clinic.ChangeMailServer(ctx, "system", clinic.MailServerSealed,
		func(before *notice.Server) (*notice.Server, error) {
			if before == nil || before.Sealed == "" {
				return before, nil
			}
			password, isReadable := ch.password(before)
			if !isReadable { // unchanged: it must be typed again
				return before, nil
			}
			after := *before
			after.Sealed = ch.keys.Current().Seal(password, use(before))
			return &after, nil
		})
}

// Try sends one email with a server that is not chosen yet, to a member of staff, and returns the result. The current
// choice does not change. Errors: *record.ValidationError, store.ErrOverloaded.
func (ch *MailServer) Try(ctx context.Context, to mail.Address, w MailServerWish) (notice.Trial, error) {
	s, password, err := ch.complete(w, ch.clinic.Settings().Mail)
	if err != nil {
		return notice.Trial{}, err
	}
	if err := store.Trial(ctx); err != nil {
		return notice.Trial{}, err
	}
	select {
	case ch.trying <- struct{}{}:
		defer func() { <-ch.trying }()
	case <-ctx.Done():
		return notice.Trial{}, store.ErrOverloaded
	}
	return ch.trials.Try(ctx, *s, password, ch.messages.TestLetter(to, cmp.Or(ch.messages.SenderFromStart(), s.From))),
		nil
}
