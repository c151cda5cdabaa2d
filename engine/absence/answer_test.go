package absence_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/cli/clitest"
	"holdfast/engine"
	"holdfast/engine/absence"
	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/engine/notice/noticetest"
	"holdfast/engine/record"
	"holdfast/engine/sms"
	"holdfast/engine/waitlist"
	"holdfast/store"
)

// These tests ask one patient of ada, who is ill, and follow the answer.

// asked opens a clinic in which only ada works, and asks her only patient to accept a time on a later day.
func asked(t *testing.T, patient store.Patient, texts bool, around func(store.Store) store.Store,
	change ...func(*engine.Options)) (c *enginetest.TestClinic, folder string, a store.Appointment, absenceID string) {
	t.Helper()
	ctx := context.Background()
	c, folder = enginetest.NoticeClinicOn(t, around, change...)
	if _, err := c.Clinic.UpdateSettings(ctx, "system", func(s *clinic.Settings) {
		s.SMS.CountryCode, s.ReminderHours = "49", 24
	}); err != nil {
		t.Fatal(err)
	}
	r := enginetest.BookingOf(1, "checkup")
	r.SlotStart, r.Patient, r.Said.SMS = c.Start, patient, texts
	a = c.MustBook(r)
	time.Sleep(time.Minute) // the messages about the booking
	away := absence.Away{SpecialistID: "ada", Start: c.Start.Add(-time.Hour), End: c.Start.Add(10 * time.Hour)}
	choices := planned(c, away)
	if len(choices) != 1 || choices[0].By != store.DisplacedAsk || choices[0].Start.IsZero() {
		t.Fatalf("planned: %+v; want to ask the patient about a time", choices)
	}
	made, err := c.Absence.Create(ctx, absence.Request{Away: away, Choices: choices, Hold: time.Hour, Actor: jo})
	if err != nil || made.Results[0].Err != nil {
		t.Fatalf("got %+v, %v", made, err)
	}
	return c, folder, a, made.Block.ID
}

func plain(db store.Store) store.Store { return db }

// TestProposalReachesPatientBySMS: a patient without an email address who agreed to text messages is asked by text
// message, once the absence can no longer be undone. The link in it opens the appointment, and accepting sends a text
// message with the new time.
func TestProposalReachesPatientBySMS(t *testing.T) {
	t.Parallel()
	clitest.OnlyInFull(t)
	fake := noticetest.NewGateway(t)
	texter := enginetest.TexterTo(t, fake)
	patient := store.Patient{Name: "Lena Vogt", Phone: "0170 1234567"}
	ask := func(t *testing.T) (*enginetest.TestClinic, store.Appointment, string) {
		c, _, a, id := asked(t, patient, true, plain, func(o *engine.Options) { o.Notices.Texter = texter })
		return c, a, id
	}
	synctest.Test(t, func(t *testing.T) {
		c, a, id := ask(t)
		ctx := context.Background()
		before := len(fake.Texts())
		time.Sleep(booking.UndoTime)
		if n := len(fake.Texts()); n != before {
			t.Errorf("%d text messages were sent while the absence can be undone", n-before)
		}
		time.Sleep(time.Minute)
		got := fake.Texts()[before:]
		if len(got) != 1 || got[0].To != "+491701234567" {
			t.Fatalf("the gateway has %+v, want one text message to the patient", got)
		}
		o := proposal(c, a)
		token := c.Booking.ShortManageToken(&a)
		for _, want := range []string{"new time", o.SlotStart.Format("2 Jan") + ", " + o.SlotStart.Format("15:04"),
			"Held until " + o.ExpiresAt.Format("Mon"), o.ExpiresAt.Format("15:04"), "https://book.example.org/m#" + token} {
			if !strings.Contains(got[0].Text, want) {
				t.Errorf("the text message has no %q: %s", want, got[0].Text)
			}
		}
		if l := sms.Measure(got[0].Text); l.Segments != 1 || l.IsUCS2 {
			t.Errorf("the text message takes %+v, want one segment of GSM-7: %s", l, got[0].Text)
		}
		for _, secret := range []string{"heckup", "ada", "Ada", "Lena"} {
			if strings.Contains(strings.ReplaceAll(got[0].Text, token, ""), secret) {
				t.Errorf("the text message contains %q: %s", secret, got[0].Text)
			}
		}
		if opened, err := c.Booking.Managed(ctx, token); err != nil || opened.ID != a.ID {
			t.Errorf("the link opens %q, %v; want %q", opened.ID, err, a.ID)
		}
		x, err := c.Absence.Status(ctx, id)
		if err != nil || len(x.Answers) != 1 || x.Answers[0].Was.Channel != store.ChannelSMS {
			t.Errorf("the answers: %+v, %v; want one by the channel %s", x.Answers, err, store.ChannelSMS)
		}
		if _, err := c.Waitlist.Accept(ctx, o.ID, "manage", nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if got = fake.Texts()[before:]; len(got) != 2 ||
			!strings.Contains(got[1].Text, o.SlotStart.Format("15:04")) ||
			strings.Contains(got[1].Text, "Held until") {
			t.Errorf("after the patient accepted, the gateway has %+v; want a second one with the new time", got)
		}
	})
	for name, before := range map[string]func(*testing.T, *enginetest.TestClinic, store.Appointment, string){
		"undone": func(t *testing.T, c *enginetest.TestClinic, _ store.Appointment, id string) {
			if _, err := c.Absence.Undo(context.Background(), id, jo, nil); err != nil {
				t.Error(err)
			}
		},
		"the desk called first": func(t *testing.T, c *enginetest.TestClinic, a store.Appointment, _ string) {
			if _, err := c.Waitlist.Decline(context.Background(), proposal(c, a).ID, jo, nil); err != nil {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, a, id := ask(t)
				n := len(fake.Texts())
				before(t, c, a, id)
				time.Sleep(time.Hour)
				if got := fake.Texts()[n:]; len(got) != 0 {
					t.Errorf("the gateway has %+v, want no text message", got)
				}
			})
		})
	}
}

// TestProposalGoesToCurrentContact: a patient's contact changes after the absence was recorded and before the patient
// is asked. The email and the text message go to the new contact, and none is sent after the agreement was withdrawn.
func TestProposalGoesToCurrentContact(t *testing.T) {
	t.Parallel()
	clitest.OnlyInFull(t)
	fake := noticetest.NewGateway(t)
	texter := enginetest.TexterTo(t, fake)
	patient := store.Patient{Name: "Lena Vogt", Phone: "0170 1234567", Email: "lena@example.org"}
	for name, c := range map[string]struct {
		agrees bool
		want   string
	}{
		"another number and address": {true, "+491707654321"},
		"no agreement":               {false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clinic, folder, a, _ := asked(t, patient, true, plain, func(o *engine.Options) {
					o.Notices.Texter = texter
				})
				before := len(fake.Texts())
				_, err := clinic.Booking.ChangePatient(context.Background(), booking.PatientRequest{ID: a.ID, Actor: jo,
					Silent: true, SMS: &c.agrees, Edit: func(p *store.Patient) {
						p.Phone, p.Email = "0170 7654321", "vogt@example.org"
					}})
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute)
				to := ""
				for _, m := range fake.Texts()[before:] {
					to += m.To
				}
				if to != c.want {
					t.Errorf("the text message went to %q, want %q", to, c.want)
				}
				mail := clinic.Mails(folder, proposal(clinic, a).ID)["proposal"]
				if !strings.Contains(mail, "vogt@example.org") || strings.Contains(mail, "lena@example.org") {
					t.Errorf("the proposal is not addressed to vogt@example.org: %.300s", mail)
				}
			})
		})
	}
}

// TestAcceptanceOrExpiryWins: a patient accepts a proposal at the moment at which it expires. Whichever of the two
// reaches the database first wins, the other changes nothing, and the answer to the patient names the outcome.
func TestAcceptanceOrExpiryWins(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		waitsAt  string // the call at which the acceptance waits until the proposal has expired
		isBooked bool   // the acceptance writes first
	}{
		"the acceptance is written first":                   {"Write", true},
		"the expiry is written first":                       {"Write", false},
		"the expiry is written first, and the time is free": {"Appointment", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				db := new(enginetest.Gate)
				c, folder, a, id := asked(t, store.Patient{Name: "Lena Vogt", Email: "lena@example.org"}, false,
					func(s store.Store) store.Store { db.Store = s; return db })
				ctx := context.Background()
				o := proposal(c, a)
				time.Sleep(time.Until(o.ExpiresAt) - time.Second)
				letPatient := db.Shut("patient", x.waitsAt)
				letServer := func() {}
				if x.isBooked {
					letServer = db.Shut("", "Write")
				}
				var answer store.Appointment
				var refusal error
				done := make(chan struct{})
				go func() {
					defer close(done)
					answer, refusal = c.Waitlist.Accept(enginetest.CallBy(ctx, "patient"), o.ID, "manage", nil)
				}()
				time.Sleep(2 * time.Second) // the proposal expires
				letPatient()
				<-done
				letServer()
				time.Sleep(time.Minute)

				is, err := c.Booking.Appointment(ctx, a.ID)
				if err != nil {
					t.Fatal(err)
				}
				ends := map[record.Action]int{}
				entries, _, err := c.Record.Audit(ctx, store.AuditFilter{})
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range entries {
					switch action := record.Action(e.Action); action {
					case record.ActionWaitlistOfferAccepted, record.ActionWaitlistOfferLapsed:
						ends[action]++
					}
				}
				_, isToldOfMove := c.Mails(folder, a.ID)["reschedule"]
				if x.isBooked {
					if refusal != nil || !answer.SlotStart.Equal(o.SlotStart) || !is.SlotStart.Equal(o.SlotStart) {
						t.Errorf("accepted: got %v, %v, and the appointment is at %v; want %v", answer.SlotStart, refusal,
							is.SlotStart, o.SlotStart)
					}
					if ends[record.ActionWaitlistOfferAccepted] != 1 || len(ends) != 1 || !isToldOfMove {
						t.Errorf("the ends are %v, emailed about the move: %t; want one acceptance and the email", ends,
							isToldOfMove)
					}
					wantStates(c, "after the acceptance", id, map[absence.State]int{absence.StateAccepted: 1})
					return
				}
				var ended *waitlist.EndedError
				if !errors.As(refusal, &ended) || ended.As != string(store.OfferLapsed) || !is.SlotStart.Equal(a.SlotStart) {
					t.Errorf("refused: got %v, and the appointment is at %v; want that the offer lapsed, and %v", refusal,
						is.SlotStart, a.SlotStart)
				}
				if ends[record.ActionWaitlistOfferLapsed] != 1 || len(ends) != 1 || isToldOfMove {
					t.Errorf("the ends are %v, emailed about a move: %t; want one expiry and no email", ends, isToldOfMove)
				}
				wantStates(c, "after the expiry", id, map[absence.State]int{absence.StateExpired: 1})
				if slot := c.Slot(50, "checkup", o.SlotStart, o.SpecialistID); slot == nil || slot.Available == 0 {
					t.Errorf("the time is not free again: %+v", slot)
				}
				c.WantNoHolds()
			})
		})
	}
}

// TestNoReminderOfDisplacedTime: a patient whose appointment cannot take place gets no reminder of it, unless the
// specialist comes back.
func TestNoReminderOfDisplacedTime(t *testing.T) {
	t.Parallel()
	fake := noticetest.NewGateway(t)
	texter := enginetest.TexterTo(t, fake)
	for name, isBack := range map[string]bool{"away": false, "back": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, folder, a, id := asked(t, store.Patient{Name: "Lena Vogt", Email: "lena@example.org",
					Phone: "0170 1234567"}, true, plain, func(o *engine.Options) { o.Notices.Texter = texter })
				time.Sleep(2 * time.Hour) // the proposal has expired
				before := len(fake.Texts())
				if isBack {
					if err := c.Clinic.DeleteBlock(context.Background(), jo, id); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(time.Until(a.SlotStart))
				_, isReminded := c.Mails(folder, a.ID)["reminder"]
				texts := len(fake.Texts()) - before
				if isReminded != isBack || (texts > 0) != isBack {
					t.Errorf("reminded by email: %t, by %d text messages; want %t", isReminded, texts, isBack)
				}
			})
		})
	}
}
