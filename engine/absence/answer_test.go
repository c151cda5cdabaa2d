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

// These tests ask one patient of ada, who is ill, to accept another time, and follow the answer.

// asked opens a clinic where only ada works and has one patient. That patient is asked to accept a time on a later day.
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
	time.Sleep(time.Minute) // the server sends the messages about the booking
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

// TestProposalReachesPatientBySMS: a patient who has no email address but has agreed to text messages is asked by text
// message once the absence can no longer be undone. The link in the message opens the appointment. When the patient
// accepts, the server sends another text message with the new time.
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
		for _, want := range []string{"we propose", o.SlotStart.Format("2 Jan") + ", " + o.SlotStart.Format("15:04"),
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

// TestProposalGoesToCurrentContact: a patient's contact details change after the absence was recorded and before the
// patient is asked. The email and the text message go to the new contact. The server sends no text message if the
// patient has withdrawn their agreement to it.
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

// TestAcceptanceOrExpiryWins: a patient accepts a proposal at the very moment it expires. Whichever of the two reaches
// the database first wins. The other one changes nothing, and the response to the patient states the outcome.
func TestAcceptanceOrExpiryWins(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		waitsAt  string // the call in which the acceptance waits until the proposal has expired
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
					case record.ActionAbsenceTimeAccepted, record.ActionWaitlistOfferLapsed:
						ends[action]++
					}
				}
				_, isToldOfMove := c.Mails(folder, a.ID)["reschedule"]
				if x.isBooked {
					if refusal != nil || !answer.SlotStart.Equal(o.SlotStart) || !is.SlotStart.Equal(o.SlotStart) {
						t.Errorf("accepted: got %v, %v, and the appointment is at %v; want %v", answer.SlotStart, refusal,
							is.SlotStart, o.SlotStart)
					}
					if ends[record.ActionAbsenceTimeAccepted] != 1 || len(ends) != 1 || !isToldOfMove {
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
// specialist comes back. If the specialist is archived instead, the absence remains, and the patient is on the call
// list.
func TestNoReminderOfDisplacedTime(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for days of virtual time")
	}
	t.Parallel()
	fake := noticetest.NewGateway(t)
	texter := enginetest.TexterTo(t, fake)
	for name, isBack := range map[string]bool{"away": false, "back": true, "archived": false} {
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
				if name == "archived" {
					if err := c.Clinic.ArchiveSpecialist(context.Background(), jo, "ada"); err != nil {
						t.Fatal(err)
					}
					wantStates(c, "archived", id, map[absence.State]int{absence.StateExpired: 1})
					if all, err := c.Absence.List(context.Background()); err != nil || len(all) != 1 {
						t.Errorf("the absences: %+v, %v; want hers", all, err)
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

// TestUndoneChangeKeepsProposal: the desk cancels or moves an appointment whose patient is asked, and undoes that
// change. The proposal stays open, and the patient is still asked, even if the message was due while the change could
// be undone.
func TestUndoneChangeKeepsProposal(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		change func(*enginetest.TestClinic, store.Appointment)
		after  time.Duration // time since the absence was recorded
	}{
		"cancelled before the question": {func(c *enginetest.TestClinic, a store.Appointment) { c.DeskCancels(a.ID) },
			7 * time.Second},
		"cancelled after the question": {func(c *enginetest.TestClinic, a store.Appointment) { c.DeskCancels(a.ID) },
			time.Minute},
		"moved": {func(c *enginetest.TestClinic, a store.Appointment) {
			c.DeskMoves(a.ID, a.SlotStart.Add(48*time.Hour))
		}, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, folder, a, id := asked(t, store.Patient{Name: "Lena Vogt", Email: "lena@example.org"}, false, plain)
				o := proposal(c, a)
				time.Sleep(x.after)
				x.change(c, a)
				time.Sleep(9 * time.Second)
				if _, err := c.Booking.Undo(t.Context(), booking.UndoRequest{ID: a.ID, Actor: enginetest.Jo}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(20 * time.Second)
				wantStates(c, "after the undo", id, map[absence.State]int{absence.StateAsked: 1})
				if mail := c.Mails(folder, o.ID)["proposal"]; mail == "" {
					t.Error("the patient was not asked")
				}
				if moved, err := c.Waitlist.Accept(t.Context(), o.ID, "manage", nil); err != nil ||
					!moved.SlotStart.Equal(o.SlotStart) {
					t.Errorf("accepted after the undo: got %v, %v; want %v", moved.SlotStart, err, o.SlotStart)
				}
			})
		})
	}
}

// TestProposalEndsWithAbsence: after the absence has been undone or its block deleted, the page of the appointment
// shows no proposal, because the appointment takes place as booked. The proposed time is free again.
func TestProposalEndsWithAbsence(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		end     func(*enginetest.TestClinic, string) error
		after   time.Duration // time since the absence was recorded
		isAsked bool
	}{
		"undone": {func(c *enginetest.TestClinic, id string) error {
			_, err := c.Absence.Undo(context.Background(), id, jo, nil)
			return err
		}, 5 * time.Second, false},
		"deleted before the question": {func(c *enginetest.TestClinic, id string) error {
			return c.Clinic.DeleteBlock(context.Background(), jo, id)
		}, 5 * time.Second, false},
		"deleted after the question": {func(c *enginetest.TestClinic, id string) error {
			return c.Clinic.DeleteBlock(context.Background(), jo, id)
		}, time.Minute, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, folder, a, id := asked(t, store.Patient{Name: "Lena Vogt", Email: "lena@example.org"}, false, plain)
				o := proposal(c, a)
				time.Sleep(x.after)
				if err := x.end(c, id); err != nil {
					t.Fatal(err)
				}
				if shown, err := c.Waitlist.ProposalFor(t.Context(), &a); !errors.Is(err, store.ErrNotFound) {
					t.Errorf("the page shows the proposal %+v, %v; want none", shown.Offers, err)
				}
				time.Sleep(2 * time.Minute)
				if slot := c.Slot(50, "checkup", o.SlotStart, o.SpecialistID); slot == nil || slot.Available == 0 {
					t.Errorf("the proposed time is not free: %+v", slot)
				}
				if _, isAsked := c.Mails(folder, o.ID)["proposal"]; isAsked != x.isAsked {
					t.Errorf("the patient was asked: %t, want %t", isAsked, x.isAsked)
				}
				if _, err := c.Waitlist.Accept(t.Context(), o.ID, "manage", nil); err == nil {
					t.Error("the proposal could be accepted")
				}
			})
		})
	}
}

// TestChangedTypeEndsProposal: the desk changes the type of an appointment whose patient is asked. The proposed time is
// for the old type, so the proposal ends, and the desk calls the patient.
func TestChangedTypeEndsProposal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _, a, id := asked(t, store.Patient{Name: "Lena Vogt", Email: "lena@example.org"}, false, plain)
		ctx := t.Context()
		o := proposal(c, a)
		if _, err := c.Booking.Reschedule(ctx, booking.RescheduleRequest{ID: a.ID, SlotStart: a.SlotStart,
			SpecialistID: "ada", AppointmentTypeID: "surgery", IgnoreHours: true, Actor: jo}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute) // the list is checked once a minute
		var ended *waitlist.EndedError
		if _, err := c.Waitlist.Accept(ctx, o.ID, "manage", nil); !errors.As(err, &ended) {
			t.Errorf("accepted: got %v, want that the proposal has ended", err)
		}
		wantStates(c, "after the change", id, map[absence.State]int{absence.StateCall: 1})
		if slot := c.Slot(50, "checkup", o.SlotStart, o.SpecialistID); slot == nil || slot.Available == 0 {
			t.Errorf("the proposed time is not free: %+v", slot)
		}
	})
}

// TestAbsenceLeavesOtherTimes: an absence does not affect an appointment that has moved to a time outside it.
func TestAbsenceLeavesOtherTimes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _ := enginetest.NoticeClinic(t)
		away := absence.Away{SpecialistID: "ada", Start: c.Start.Add(-time.Hour), End: c.Start.Add(time.Hour)}
		for n, by := range []store.DisplacedBy{store.DisplacedMove, store.DisplacedAsk, store.DisplacedCall} {
			r := enginetest.BookingOf(n, "checkup")
			r.SlotStart = away.End.Add(time.Duration(n) * time.Hour)
			a := c.MustBook(r)
			made, err := c.Absence.Create(t.Context(), absence.Request{Away: away, Actor: jo, Choices: []absence.Choice{
				{AppointmentID: a.ID, By: by, SpecialistID: "ada", Start: c.Start.Add(48 * time.Hour)}}})
			if err != nil || !errors.Is(made.Results[0].Err, store.ErrVersion) {
				t.Errorf("%s: got %+v, %v; want %v", by, made.Results, err, store.ErrVersion)
			}
			if is, err := c.Booking.Appointment(t.Context(), a.ID); err != nil || is.Version != a.Version {
				t.Errorf("%s: the appointment is %+v, %v; want it unchanged", by, is, err)
			}
		}
	})
}

// TestUndoneAbsenceKeepsEarlierProposal: an absence displaces an appointment, and its patient has been asked. The desk
// then records a second absence that overlaps the first. If the desk undoes the second absence, the patient can still
// accept the first proposal. Otherwise, the first proposal ends.
func TestUndoneAbsenceKeepsEarlierProposal(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		by       store.DisplacedBy
		isUndone bool
	}{
		"asked again, undone": {store.DisplacedAsk, true}, "to call, undone": {store.DisplacedCall, true},
		"asked again": {store.DisplacedAsk, false}, "to call": {store.DisplacedCall, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _, a, first := asked(t, store.Patient{Name: "Lena Vogt", Email: "lena@example.org"}, false, plain)
				ctx := t.Context()
				o := proposal(c, a)
				time.Sleep(time.Minute)
				away := absence.Away{SpecialistID: "ada", Start: c.Start.Add(-2 * time.Hour), End: c.Start.Add(12 * time.Hour)}
				choice := absence.Choice{AppointmentID: a.ID, By: x.by}
				if x.by == store.DisplacedAsk {
					choice.SpecialistID, choice.Start = "ada", o.SlotStart.Add(24*time.Hour)
				}
				second := create(c, away, []absence.Choice{choice}).Block.ID
				time.Sleep(5 * time.Second)
				if !x.isUndone {
					time.Sleep(2 * time.Minute)
					var ended *waitlist.EndedError
					if _, err := c.Waitlist.Accept(ctx, o.ID, "manage", nil); !errors.As(err, &ended) {
						t.Errorf("the first proposal, accepted: got %v, want that it has ended", err)
					}
					wantStates(c, "the second absence", second, map[absence.State]int{
						map[store.DisplacedBy]absence.State{store.DisplacedAsk: absence.StateAsked,
							store.DisplacedCall: absence.StateCall}[x.by]: 1})
					return
				}
				if _, err := c.Absence.Undo(ctx, second, jo, nil); err != nil {
					t.Fatal(err)
				}
				time.Sleep(2 * time.Minute)
				wantStates(c, "the first absence", first, map[absence.State]int{absence.StateAsked: 1})
				if is := proposal(c, a); is.ID != o.ID {
					t.Errorf("proposed is %+v, want %+v", is, o)
				}
				if moved, err := c.Waitlist.Accept(ctx, o.ID, "manage", nil); err != nil ||
					!moved.SlotStart.Equal(o.SlotStart) {
					t.Errorf("the first proposal, accepted: got %v, %v; want %v", moved.SlotStart, err, o.SlotStart)
				}
			})
		})
	}
}

// TestNewAbsenceProposesOverlappingTime: a second absence replaces the first within seconds, and its proposal overlaps
// the time that the first one held.
func TestNewAbsenceProposesOverlappingTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _, a, _ := asked(t, store.Patient{Name: "Lena Vogt", Email: "lena@example.org"}, false, plain)
		o := proposal(c, a)
		time.Sleep(3 * time.Second)
		if _, err := c.Clinic.UpdateAppointmentType(t.Context(), "system", "checkup", func(x *store.AppointmentType) {
			x.SlotStepMinutes = x.DurationMinutes / 2
		}); err != nil {
			t.Fatal(err)
		}
		at := o.SlotStart.Add(o.SlotEnd.Sub(o.SlotStart) / 2)
		away := absence.Away{SpecialistID: "ada", Start: c.Start.Add(-2 * time.Hour), End: c.Start.Add(10 * time.Hour)}
		create(c, away, []absence.Choice{{AppointmentID: a.ID, By: store.DisplacedAsk, SpecialistID: o.SpecialistID,
			Start: at}})
		if is := proposal(c, a); !is.SlotStart.Equal(at) {
			t.Errorf("proposed is %+v, want %v", is, at)
		}
		list, err := c.Holds.List(t.Context(), o.SpecialistID)
		if err != nil || len(list) != 1 || !list[0].SlotStart.Equal(at) {
			t.Errorf("got holds %+v, %v; want just the proposed time", list, err)
		}
	})
}

// TestUndoAfterOneMoveWasUndone: the desk undoes the move of one appointment, and then the whole absence.
func TestUndoAfterOneMoveWasUndone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _, booked, away := sickDay(t)
		ctx := t.Context()
		id := create(c, away, planned(c, away)).Block.ID
		time.Sleep(3 * time.Second)
		if _, err := c.Booking.Undo(ctx, booking.UndoRequest{ID: booked[0].ID, Actor: jo}); err != nil {
			t.Fatal(err)
		}
		if undone, err := c.Absence.Undo(ctx, id, jo, nil); err != nil || len(undone.Kept) > 0 {
			t.Errorf("undo: got %+v, %v", undone, err)
		}
		for i, was := range booked {
			if is, err := c.Booking.Appointment(ctx, was.ID); err != nil || is.SpecialistID != "ada" ||
				!is.SlotStart.Equal(was.SlotStart) {
				t.Errorf("row %d after the undo: got %+v, %v", i, is, err)
			}
		}
		if _, err := c.Absence.Status(ctx, id); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("the absence: got %v, want %v", err, store.ErrNotFound)
		}
	})
}

// TestAnswersAreNoWaitlistResults: the answer to a proposal has audit entries of its own, so that the report does not
// count it among the results of the waiting list.
func TestAnswersAreNoWaitlistResults(t *testing.T) {
	t.Parallel()
	for name, accept := range map[string]bool{"accepted": true, "declined": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _, a, _ := asked(t, store.Patient{Name: "Lena Vogt", Email: "lena@example.org"}, false, plain)
				o := proposal(c, a)
				time.Sleep(time.Minute)
				var err error
				if accept {
					_, err = c.Waitlist.Accept(t.Context(), o.ID, "manage", nil)
				} else {
					_, err = c.Waitlist.Decline(t.Context(), o.ID, "manage", nil)
				}
				if err != nil {
					t.Fatal(err)
				}
				month := 30 * 24 * time.Hour
				counts, err := c.Store.ActionCounts(t.Context(), c.Start.Add(-month), c.Start.Add(month), []string{
					string(record.ActionWaitlistJoined), string(record.ActionWaitlistOffered),
					string(record.ActionWaitlistOfferAccepted), string(record.ActionWaitlistOfferDeclined),
					string(record.ActionWaitlistBooked), "absence.time_" + name,
				})
				if err != nil || len(counts) != 1 || counts["absence.time_"+name] != 1 {
					t.Errorf("got %v, %v; want only the answer", counts, err)
				}
			})
		})
	}
}
