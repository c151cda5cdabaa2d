package message

import (
	"context"
	"errors"
	"net/mail"
	"strings"
	"time"
)

// backupLetters are the subject and the text of the mail about missing backups, by language.
var backupLetters = map[string][2]string{
	"en": {"No backup since {day}", "the server of {clinic} has made no good backup since {day}. If its disk fails now, what was booked since then is lost.\n\nWhat stands in the way:\n{reason}\n\nPlease show this mail to whoever looks after the server. It is sent again until there is a backup.\n"},
	"de": {"Keine Sicherung seit {day}", "der Server von {clinic} hat seit {day} keine gute Sicherung gemacht. Wenn seine Festplatte jetzt ausfällt, ist verloren, was seitdem gebucht wurde.\n\nWas im Weg steht:\n{reason}\n\nBitte zeigen Sie diese Mail der Person, die den Server betreut. Sie kommt wieder, bis es eine Sicherung gibt.\n"},
	"es": {"Ninguna copia de seguridad desde el {day}", "el servidor de {clinic} no ha hecho ninguna copia de seguridad buena desde el {day}. Si su disco falla ahora, se pierde lo que se reservó desde entonces.\n\nLo que lo impide:\n{reason}\n\nMuestre este correo, por favor, a quien cuida del servidor. Se envía de nuevo hasta que haya una copia.\n"},
}

// NotifyOfBackups mails the clinic at once, past the queue, that there was no good backup since an instant, and why. Nobody is told
// where no mail server is set or the clinic has no address: then an error says so.
func (ms *Messages) NotifyOfBackups(ctx context.Context, since time.Time, reason string) error {
	clinic := &ms.clinic.Schedule().Clinic
	switch {
	case !ms.SendsMail():
		return errors.New("no mail server is set, with --smtp-url")
	case clinic.Email == "":
		return errors.New("the clinic has no e-mail address in its settings")
	}
	if err := ms.CheckSender(); err != nil {
		return err
	}
	language, words := lettersFor(clinic.Locale)
	fill := strings.NewReplacer("{clinic}", clinic.Name, "{day}", words.day(since.In(ms.clinic.Zone())), "{reason}", reason)
	letter := backupLetters[language]
	subject, text := fill.Replace(letter[0]), fill.Replace(letter[1])
	return ms.sendNow(ctx, mail.Address{Name: clinic.Name, Address: clinic.Email}, language, subject, text)
}
