package message_test

import (
	"context"
	"html"
	"maps"
	"mime"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/booking"
	"holdfast/engine/enginetest"
	"holdfast/store"
)

var unfolds = strings.NewReplacer("\r\n ", "", "\n ", "")

// property returns the value of a property of a calendar object, with its parameters before the colon.
func property(calendar, name string) string {
	line := regexp.MustCompile(`(?m)^` + name + `([;:].*?)\r?$`).FindStringSubmatch(unfolds.Replace(calendar))
	if line == nil {
		return ""
	}
	return line[1]
}

// TestEmailHasInvitation: a mail program receives an invitation, treats a move as the same event with a higher
// sequence, and removes the event when it is cancelled (RFC 5546). The email is in the patient's language, and its ids
// use the clinic's own domain.
func TestEmailHasInvitation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, folder := enginetest.NoticeClinic(t, func(o *engine.Options) { o.Notices.From = "post@clinic.example" })
		ctx := context.Background()
		r := enginetest.BookingOf(1, "checkup")
		r.SlotStart, r.Locale = c.Start, "de-AT"
		a := c.MustBook(r)
		time.Sleep(time.Second)
		if _, err := c.Booking.Reschedule(ctx, booking.RescheduleRequest{ID: a.ID, SlotStart: c.Start.Add(time.Hour), Actor: "manage-link"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if _, err := c.Booking.Cancel(ctx, booking.CancelRequest{ID: a.ID, Actor: "manage-link"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		written := c.Messages(folder, a.ID)
		sequences := []string{}
		for _, want := range []struct{ notice, method, status, subject, start string }{
			{"confirmation", "REQUEST", "CONFIRMED", "Ihr Termin am", a.SlotStart.Format("20060102T150405Z")},
			{"reschedule", "REQUEST", "CONFIRMED", "Neue Zeit", a.SlotStart.Add(time.Hour).Format("20060102T150405Z")},
			{"cancellation", "CANCEL", "CANCELLED", "Abgesagt", a.SlotStart.Add(time.Hour).Format("20060102T150405Z")},
		} {
			header, got := enginetest.Parts(t, written[want.notice])
			kinds := []string{}
			for _, p := range got {
				kinds = append(kinds, p.Kind)
			}
			if !slices.Equal(kinds, []string{"text/plain", "text/html", "text/calendar", "application/ics"}) {
				t.Fatalf("%s: the parts are %v", want.notice, kinds)
			}
			subject, _ := new(mime.WordDecoder).DecodeHeader(header.Get("Subject"))
			if !strings.Contains(subject, want.subject) || header.Get("Content-Language") != "de" || !strings.Contains(got[1].Text, `<html lang="de">`) {
				t.Errorf("%s: not in the patient's language: subject %q, Content-Language %q", want.notice, subject, header.Get("Content-Language"))
			}
			if id := header.Get("Message-Id"); !strings.HasSuffix(id, "@clinic.example>") {
				t.Errorf("%s: the Message-ID is %s, want one in the clinic's domain", want.notice, id)
			}
			calendar := got[2].Text
			for name, value := range map[string]string{
				"METHOD": ":" + want.method, "UID": ":" + a.ID + "@holdfast", "STATUS": ":" + want.status, "DTSTART": ":" + want.start,
				"ORGANIZER": `;CN="Harbour Clinic":mailto:post@clinic.example`,
				"ATTENDEE":  ";CUTYPE=INDIVIDUAL;ROLE=REQ-PARTICIPANT;PARTSTAT=ACCEPTED;RSVP=FALSE:mailto:" + r.Patient.Email,
			} {
				if found := property(calendar, name); found != value {
					t.Errorf("%s: %s%s, want %s", want.notice, name, found, value)
				}
			}
			if got[2].Method != want.method || property(calendar, "DTSTAMP") == "" {
				t.Errorf("%s: the part's method is %q, want %s:\n%s", want.notice, got[2].Method, want.method, calendar)
			}
			sequences = append(sequences, property(calendar, "SEQUENCE"))
		}
		if !slices.IsSorted(sequences) || len(slices.Compact(slices.Clone(sequences))) != 3 {
			t.Errorf("the sequences are %v, want each higher than the previous one", sequences)
		}
	})
}

// TestEmailUsesBookingLanguage: an email is in the language of the booking. If there are no emails in that language, or
// the language is unknown, it is in the clinic's language.
func TestEmailUsesBookingLanguage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, folder := enginetest.NoticeClinic(t)
		if _, err := c.Clinic.UpdateClinic(context.Background(), "system", func(to *store.Clinic) { to.Locale = "es" }); err != nil {
			t.Fatal(err)
		}
		said := make(map[string]string)
		for i, locale := range []string{"de", "en-GB", "", "pt-BR"} {
			r := enginetest.BookingOf(i+1, "checkup")
			r.SlotStart, r.Locale = c.Start.Add(time.Duration(i)*time.Hour), locale
			a := c.MustBook(r)
			time.Sleep(time.Second)
			header, _ := enginetest.Parts(t, c.Messages(folder, a.ID)["confirmation"])
			said[locale] = header.Get("Content-Language")
		}
		if want := map[string]string{"de": "de", "en-GB": "en", "": "es", "pt-BR": "es"}; !maps.Equal(said, want) {
			t.Errorf("the languages of the emails are %v, want those of the bookings, %v", said, want)
		}
		r := enginetest.BookingOf(9, "checkup")
		r.SlotStart, r.Locale = c.Start.Add(4*time.Hour), "de\r\nBcc: all@example.org"
		if _, err := c.Booking.Book(context.Background(), r); err == nil {
			t.Error("a language with a line break was accepted")
		}
	})
}

// TestEmailEscapesTypedText: text typed by the clinic and the patient stays text in every part, even if it looks like
// markup.
func TestEmailEscapesTypedText(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, folder := enginetest.NoticeClinic(t)
		_, err := c.Clinic.UpdateClinic(context.Background(), "system", func(to *store.Clinic) {
			to.Name, to.Address = `Harbour "X"; <b>Clinic</b>`, "Quay 1\nMETHOD:CANCEL\nBerlin; Mitte, <img src=x>"
		})
		if err != nil {
			t.Fatal(err)
		}
		r := enginetest.BookingOf(1, "checkup")
		r.SlotStart, r.Patient.Name = c.Start, "Zoë <i>O'Neil</i>"
		a := c.MustBook(r)
		time.Sleep(time.Second)
		_, list := enginetest.Parts(t, c.Messages(folder, a.ID)["confirmation"])
		if html := list[1].Text; strings.Contains(html, "<b>") || strings.Contains(html, "<img") || strings.Contains(html, "<i>") || !strings.Contains(html, "&lt;b&gt;Clinic") {
			t.Errorf("the HTML part contains a user's markup:\n%s", html)
		}
		if n := len(regexp.MustCompile(`(?m)^METHOD`).FindAllString(unfolds.Replace(list[2].Text), -1)); n != 1 {
			t.Errorf("the calendar object has %d methods:\n%s", n, list[2].Text)
		}
		if got := property(list[2].Text, "ORGANIZER"); !strings.HasPrefix(got, `;CN="Harbour 'X'; <b>Clinic</b>":mailto:`) {
			t.Errorf("the organizer is %s", got)
		}
	})
}

// TestEmailHasDateAndOneAction: the HTML part shows the day and the times once, in large type, the other facts of the
// text part, and one button.
func TestEmailHasDateAndOneAction(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, folder := enginetest.NoticeClinic(t)
		_, err := c.Clinic.UpdateClinic(t.Context(), "system", func(to *store.Clinic) { to.Phone = "030 555 010" })
		if err != nil {
			t.Fatal(err)
		}
		r := enginetest.BookingOf(1, "checkup")
		r.SlotStart, r.Locale = c.Start, "en"
		a := c.MustBook(r)
		time.Sleep(time.Second)
		_, parts := enginetest.Parts(t, c.Messages(folder, a.ID)["confirmation"])
		text, page := parts[0].Text, parts[1].Text
		if n := strings.Count(page, "display:inline-block"); n != 1 || !strings.Contains(page, ">Change or cancel</a>") {
			t.Errorf("the page has %d buttons, want one to change or cancel:\n%s", n, page)
		}
		if !strings.Contains(page, "font-size:32px") {
			t.Errorf("the page has no times in large type:\n%s", page)
		}
		_, page, _ = strings.Cut(page, "</title>")
		plain := html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(page, "\n"))
		for _, once := range []string{"5 January 2000", "12:00 – 12:30"} {
			if n := strings.Count(plain, once); n != 1 {
				t.Errorf("the page shows %q %d times, want once:\n%s", once, n, plain)
			}
		}
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "When: ") {
				continue
			}
			if line = strings.TrimSpace(line); line != "" && !strings.Contains(line, "http") && !strings.Contains(plain, line) {
				t.Errorf("the page misses %q of the text", line)
			}
		}
	})
}
