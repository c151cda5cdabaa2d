package message

import (
	"os"
	"testing"

	"holdfast/engine/booking"
	"holdfast/engine/words"
)

// TestNoticesHaveNames: the desk's page has a name, in every language, for each message in the log of an appointment.
func TestNoticesHaveNames(t *testing.T) {
	languages, err := words.LoadPages(os.DirFS("../words"), words.Registered())
	if err != nil {
		t.Fatal(err)
	}
	for i, language := range words.Registered() {
		named := map[string]bool{}
		for _, f := range languages[i] {
			for _, text := range f.Texts {
				named[text.Key] = true
			}
		}
		for _, notice := range []string{mailConfirmation, mailCancellation, mailReschedule, mailReminder, mailFailed,
			mailStaff, mailNewAddress, mailOldAddress, mailSeries, mailSeriesCancelled, mailSeriesMoved, mailRecall,
			mailAsking, MailMustMove, MailProposal, MailOffer, MailOfferGone, MailWaiting, MailWaitlist, MailRequest,
			MailReceived, MailDeclined, MailProposed, MailLapsed, "appointment.created", "appointment.cancelled",
			"appointment.rescheduled", booking.ChangeUpstreamDone, booking.ChangeUpstreamFailed,
			booking.ChangeUpstreamReview} {
			if !named["notice."+notice] {
				t.Errorf("%s: %q has no name", language.Tag, "notice."+notice)
			}
		}
	}
}
