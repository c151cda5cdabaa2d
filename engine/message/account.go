package message

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/notice"
	"holdfast/engine/outbound"
	"holdfast/store"
)

// Mails to a member of staff about their own account: whoever takes it over can not do so in silence.
const (
	mailPassword = "password_changed"
	mailCodesOff = "codes_off"
	mailCodesOn  = "codes_on"
	mailAddress  = "address_changed"
	mailIdentity = "identity_linked"

	mailHookDisabled = "webhook_disabled" // to each owner
)

// accountLetters are the subject and the text of a mail about an account, by language.
var accountLetters = map[string]map[string][2]string{
	"en": {
		mailPassword:     {"Your password at {clinic} was changed", "the password of your account at {clinic} was changed: {when}.\n\n{you}"},
		mailAddress:      {"The mail address of your account at {clinic} was changed", "your account at {clinic} has another mail address now: {when}. This one gets no more mail about it.\n\n{you}"},
		mailCodesOn:      {"One-time codes at {clinic}", "who signs in to your account at {clinic} is asked for one-time codes of an app that was set up just now: {when}.\n\n{you}"},
		mailCodesOff:     {"No one-time code any more at {clinic}", "who signs in to your account at {clinic} is asked for no one-time code any more: {when}.\n\n{you}"},
		mailIdentity:     {"Your account at {clinic} was linked to an identity", "an account at the clinic's identity provider was linked to your account at {clinic}: {when}. It signs in to your account without your password here.\n\n{you}"},
		mailHookDisabled: {"A webhook of {clinic} was disabled", "the receiver of the webhook {webhook} answered that it is gone for good (410), so Holdfast no longer calls it: {when}.\n\nTo use it again, open the settings in the console and activate the webhook.\n"},
		"you":            {"", "If that was you, nothing is to be done. If not, tell an owner of the clinic at once: somebody may be using your account.\n"},
	},
	"de": {
		mailPassword:     {"Ihr Passwort bei {clinic} wurde geändert", "das Passwort Ihres Kontos bei {clinic} wurde geändert: {when} Uhr.\n\n{you}"},
		mailAddress:      {"Die Mailadresse Ihres Kontos bei {clinic} wurde geändert", "Ihr Konto bei {clinic} hat jetzt eine andere Mailadresse: {when} Uhr. Diese hier bekommt keine Mails mehr darüber.\n\n{you}"},
		mailCodesOn:      {"Einmalcodes bei {clinic}", "wer sich an Ihrem Konto bei {clinic} anmeldet, wird nach Einmalcodes einer App gefragt, die gerade eingerichtet wurde: {when} Uhr.\n\n{you}"},
		mailCodesOff:     {"Kein Einmalcode mehr bei {clinic}", "wer sich an Ihrem Konto bei {clinic} anmeldet, wird nach keinem Einmalcode mehr gefragt: {when} Uhr.\n\n{you}"},
		mailIdentity:     {"Ihr Konto bei {clinic} wurde mit einer Identität verbunden", "ein Konto beim Identitätsanbieter der Praxis wurde mit Ihrem Konto bei {clinic} verbunden: {when} Uhr. Es meldet sich an Ihrem Konto ohne Ihr Passwort hier an.\n\n{you}"},
		mailHookDisabled: {"Ein Webhook von {clinic} wurde abgeschaltet", "der Empfänger des Webhooks {webhook} hat geantwortet, dass es ihn nicht mehr gibt (410). Holdfast ruft ihn nicht mehr auf: {when} Uhr.\n\nUm ihn wieder zu benutzen, schalten Sie ihn in den Einstellungen der Konsole ein.\n"},
		"you":            {"", "Wenn Sie das waren, ist nichts zu tun. Wenn nicht, sagen Sie es sofort einer Inhaberin oder einem Inhaber der Praxis: Vielleicht benutzt jemand Ihr Konto.\n"},
	},
	"es": {
		mailPassword:     {"Su contraseña en {clinic} ha cambiado", "la contraseña de su cuenta en {clinic} ha cambiado: {when}.\n\n{you}"},
		mailAddress:      {"La dirección de correo de su cuenta en {clinic} ha cambiado", "su cuenta en {clinic} tiene ahora otra dirección de correo: {when}. Esta ya no recibirá correos sobre ella.\n\n{you}"},
		mailCodesOn:      {"Códigos de un solo uso en {clinic}", "a quien entra en su cuenta en {clinic} se le piden códigos de una aplicación que se acaba de configurar: {when}.\n\n{you}"},
		mailCodesOff:     {"Ya no hay código de un solo uso en {clinic}", "a quien entra en su cuenta en {clinic} ya no se le pide un código de un solo uso: {when}.\n\n{you}"},
		mailIdentity:     {"Su cuenta en {clinic} se ha vinculado a una identidad", "una cuenta del proveedor de identidad de la clínica se ha vinculado a su cuenta en {clinic}: {when}. Entra en su cuenta sin su contraseña de aquí.\n\n{you}"},
		mailHookDisabled: {"Se ha desactivado un webhook de {clinic}", "el receptor del webhook {webhook} ha respondido que ya no existe (410), así que Holdfast ya no lo llama: {when}.\n\nPara usarlo de nuevo, actívelo en los ajustes de la consola.\n"},
		"you":            {"", "Si fue usted, no hay que hacer nada. Si no, avise enseguida a un propietario de la clínica: puede que alguien use su cuenta.\n"},
	},
}

// AccountChanged promises, in the transaction that changes a member of staff, the mails that tell them of it, and returns what is to be done
// after the commit. They go to the address that the account had before it.
func (ms *Messages) AccountChanged(ctx context.Context, tx store.Tx, before, after *store.User, at time.Time) (committed func(), err error) {
	var calls []booking.Promise
	add := func(name string) {
		op := ms.outbound.NewOperation(store.Email, &store.Appointment{}, at)
		op.Deadline = at.Add(ms.outbound.Options.Limits.NoticeAge)
		// To whom it was then: who takes an account over may change its address next, before this mail is sent.
		op.Payload, _ = json.Marshal(mailPayload{Notice: name, User: before.ID, To: before.Email}) // strings cannot fail
		calls = append(calls, booking.Promise{Operation: op, Notice: name})
	}
	if ms.transport.Mailer != nil && before.Email != "" {
		if after.PasswordHash != before.PasswordHash {
			add(mailPassword)
		}
		switch {
		case len(before.TOTPSecret) > 0 && len(after.TOTPSecret) == 0:
			add(mailCodesOff)
		case !bytes.Equal(before.TOTPSecret, after.TOTPSecret):
			add(mailCodesOn)
		}
		if after.Identity != "" && after.Identity != before.Identity {
			add(mailIdentity)
		}
		if !booking.SameAddress(before.Email, after.Email) {
			add(mailAddress)
		}
	}
	return func() { ms.outbound.Enqueue(calls...) }, booking.WritePromises(ctx, tx, at, calls...)
}

// deliverAccountMail writes one mail to a member of staff, in the clinic's language, and sends it.
func (ms *Messages) deliverAccountMail(ctx context.Context, op *store.Operation, p *mailPayload) outbound.Outcome {
	u, err := ms.store.User(ctx, p.User)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return outbound.Outcome{End: outbound.NotNeeded, Detail: "the account is gone"}
	case err != nil:
		return outbound.Outcome{End: outbound.Retryable, Detail: outbound.Unread(ctx)}
	}
	if err := ms.CheckSender(); err != nil {
		return outbound.Outcome{End: outbound.Unreachable, Detail: err.Error()} // nothing was tried: it waits for somebody to say a sender
	}
	s := ms.clinic.Current()
	language, words := lettersFor(s.Clinic.Locale)
	letter := accountLetters[language][p.Notice]
	fill := strings.NewReplacer("{clinic}", s.Clinic.Name, "{when}", words.instant(op.CreatedAt, s.Zone), "{you}", accountLetters[language]["you"][1], "{webhook}", p.Webhook)
	subject, text := fill.Replace(letter[0]), u.Name+",\n\n"+fill.Replace(letter[1])
	o := ms.sent(op, ms.transport.Mailer.Send(ctx, notice.Mail{
		ID: op.ID, To: cmp.Or(p.To, u.Email), ToName: u.Name, From: ms.sender(), ReplyTo: s.Clinic.Email,
		Language: language, Subject: subject, Text: text, HTML: asHTML(language, subject, text),
	}))
	if o.End == outbound.Delivered {
		op.Payload, _ = json.Marshal(mailPayload{Notice: p.Notice, User: p.User})
	}
	return o
}
