package request_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/enginetest"
	"holdfast/engine/request"
	"holdfast/holds"
	"holdfast/store"
)

// approved makes check-ups require the desk's approval, makes them video calls, and sets the clinic's notification
// address. A request expires after this number of hours; 0 means the default.
func approved(c *enginetest.TestClinic, hours int) {
	c.T.Helper()
	ctx := context.Background()
	_, err := c.Clinic.UpdateAppointmentType(ctx, "system", "checkup", func(t *store.AppointmentType) {
		t.Page = store.TypePage{
			Approval: true, ApprovalHours: hours, Remote: true, VideoLink: "https://video.example.org/{appointment}",
			CancelText: "Cancel a day before.",
			Texts: map[string]store.TypeText{"de": {Name: "Vorsorge",
				CancelText: "Sagen Sie einen Tag vorher ab."}},
		}
	})
	if err != nil {
		c.T.Fatal(err)
	}
	if _, err := c.Clinic.UpdateClinic(ctx, "system", func(c *store.Clinic) {
		c.Email, c.Phone, c.Address = "desk@clinic.example", "030 555 010", "Quay 1"
	}); err != nil {
		c.T.Fatal(err)
	}
}

// TestDeskApprovesRequest: a booking of a type that needs approval becomes a request, whose time is held for two days.
// The desk confirms it, and the patient gets the link to the call and the cancellation policy, in their language.
func TestDeskApprovesRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, folder := enginetest.NoticeClinic(t)
		approved(c, 0)
		ctx := context.Background()
		r := enginetest.BookingOf(1, "checkup")
		r.SlotStart, r.Locale = c.Start, "de"
		r.Patient.Email = ""
		if _, err := c.Request.Book(ctx, r, enginetest.Visitor(1)); err == nil ||
			!strings.Contains(err.Error(), "patient.email") {
			t.Errorf("without an email address or a phone number: got %v, want patient.email", err)
		}
		r.Patient.Email = "rosa@example.org"
		asked, err := c.Request.Book(ctx, r, enginetest.Visitor(1))
		if err != nil || asked.Request == nil || !asked.Request.Approval {
			t.Fatalf("got %+v, %v; want a request for approval", asked.Request, err)
		}
		if got, want := time.Until(asked.Request.ExpiresAt), 48*time.Hour; got != want {
			t.Errorf("its time is held for %v, want %v", got, want)
		}
		time.Sleep(47 * time.Hour)
		var held *holds.HeldError
		other := enginetest.BookingOf(2, "surgery")
		other.SlotStart, other.SpecialistID = c.Start, asked.Request.SpecialistID
		if _, err := c.Booking.Book(ctx, other); !errors.As(err, &held) {
			t.Errorf("another client after 47 hours: got %v, want a HeldError", err)
		}
		id := asked.Request.ID
		mails := c.Mails(folder, id)
		if text := mails["request_received"]; !strings.Contains(text, "noch nicht gebucht") ||
			!strings.Contains(text, "Vorsorge") || strings.Contains(text, "video.example.org") ||
			!strings.Contains(text, "030 555 010") {
			t.Errorf("the patient's email is %q", text)
		}
		if text := mails["staff_request"]; !strings.Contains(text, "desk@clinic.example") ||
			strings.Contains(text, "rosa@example.org") || strings.Contains(text, "030 555 010") {
			t.Errorf("the clinic's email is %q", text)
		}
		a, err := c.Request.Confirm(ctx, id, time.Time{}, "user:jo", nil)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		text := c.Mails(folder, a.ID)["confirmation"]
		for _, want := range []string{"https://video.example.org/" + id, "Videosprechstunde",
			"Sagen Sie einen Tag vorher ab.", "LOCATION:https://video.example.org/"} {
			if !strings.Contains(text, want) {
				t.Errorf("the confirmation misses %q:\n%s", want, text)
			}
		}
		if strings.Contains(text, "Quay 1") {
			t.Error("the confirmation of a video call contains the clinic's address")
		}
	})
}

// TestApprovalRequestExpires: a request for a slot in the near future holds the slot until its start time. If it is
// still undecided then, the slot is freed.
func TestApprovalRequestExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _ := enginetest.NoticeClinic(t)
		approved(c, 6)
		ctx := context.Background()
		r := enginetest.BookingOf(1, "checkup")
		r.SlotStart = time.Now().Truncate(time.Hour).Add(5 * time.Hour)
		asked, err := c.Request.Book(ctx, r, enginetest.Visitor(1))
		if err != nil || !asked.Request.ExpiresAt.Equal(r.SlotStart) {
			t.Fatalf("got %+v, %v; want it held until it begins", asked.Request, err)
		}
		soon, err := c.Request.Book(ctx, booking.Request{
			AppointmentTypeID: "checkup", SlotStart: c.Start.Add(72 * time.Hour), Client: enginetest.Client(2),
			Patient: store.Patient{Name: "Omar Ruiz", Phone: "030 5556677"}, Source: store.SourceWeb, Actor: "client",
		}, enginetest.Visitor(2))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(7 * time.Hour)
		var lapsed *request.LapsedError
		if _, err := c.Request.Confirm(ctx, soon.Request.ID, time.Time{}, "user:jo", nil); !errors.As(err, &lapsed) {
			t.Errorf("after seven hours: got %v, want it expired", err)
		}
		if held, _ := c.Booking.Holds(ctx); len(held) != 0 {
			t.Errorf("its time is still held: %+v", held)
		}
	})
}

// TestExpiredApprovalNotifiesPatient: an expired request notifies the patient and the clinic once each, and its time
// is free.
func TestExpiredApprovalNotifiesPatient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, folder := enginetest.NoticeClinic(t)
		approved(c, 2)
		ctx := context.Background()
		r := enginetest.BookingOf(1, "checkup")
		r.SlotStart = c.Start.Add(7 * 24 * time.Hour)
		r.Patient.Email = "rosa@example.org"
		asked, err := c.Request.Book(ctx, r, enginetest.Visitor(1))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2*time.Hour + 10*time.Minute)
		got, err := c.Request.Get(ctx, asked.Request.ID)
		if err != nil || got.Status != store.RequestDeclined {
			t.Errorf("the request is %+v, %v; want it closed", got, err)
		}
		var mails string
		files, err := filepath.Glob(filepath.Join(folder, "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			mails += string(b)
		}
		if n := strings.Count(mails, "Not available: the appointment you requested"); n != 1 {
			t.Errorf("the patient got %d emails, want one:\n%s", n, mails)
		}
		if n := strings.Count(mails, "Subject: Request expired:"); n != 1 {
			t.Errorf("the clinic got %d emails, want one", n)
		}
		if _, err := c.Request.Confirm(ctx, asked.Request.ID, time.Time{}, "user:jo", nil); err == nil {
			t.Error("the request can still be confirmed")
		}
	})
}
