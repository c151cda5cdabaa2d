package message_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/engine/group"
	"holdfast/engine/notice/noticetest"
	"holdfast/engine/record"
	"holdfast/store"
)

var manageLink = regexp.MustCompile(`book\.example\.org/(?:manage|m)#([A-Za-z0-9_-]+)`)

// TestVisitLinkSurvivesLossOfOnePerson: the desk takes one person out of a visit. The link in the visit's email and the
// link in its text message still open the appointments of the others, until the whole visit is moved.
func TestVisitLinkSurvivesLossOfOnePerson(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(context.Context, *enginetest.TestClinic, string) error{
		"moved": func(ctx context.Context, c *enginetest.TestClinic, id string) error {
			_, err := c.Booking.Reschedule(ctx, booking.RescheduleRequest{ID: id, Actor: enginetest.Jo, Silent: true,
				SlotStart: c.Start.Add(3 * time.Hour)})
			return err
		},
		"erased": func(ctx context.Context, c *enginetest.TestClinic, id string) error {
			_, err := c.Person.EraseOf(ctx, enginetest.Jo, id)
			return err
		},
		"another address": func(ctx context.Context, c *enginetest.TestClinic, id string) error {
			_, err := c.Booking.ChangePatient(ctx, booking.PatientRequest{ID: id, Actor: enginetest.Jo,
				Edit: func(p *store.Patient) { p.Email = "other@example.org" }})
			return err
		},
		"cancelled": func(ctx context.Context, c *enginetest.TestClinic, id string) error {
			_, err := c.Booking.Cancel(ctx, booking.CancelRequest{ID: id, Actor: enginetest.Jo})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			for lost, left := range map[int]int{0: 2, 2: 1} {
				fake := noticetest.NewGateway(t)
				synctest.Test(t, func(t *testing.T) {
					ctx := t.Context()
					c, folder := enginetest.NoticeClinic(t, func(o *engine.Options) {
						o.Notices.Texter = enginetest.TexterTo(t, fake)
					})
					if _, err := c.Clinic.UpdateSettings(ctx, "system", func(s *clinic.Settings) {
						s.SMS.CountryCode = "49"
					}); err != nil {
						t.Fatal(err)
					}
					list := textedFamily(c)
					time.Sleep(time.Minute)
					links := []string{link(t, c.Mails(folder, list[0].ID)["series_confirmation"]),
						link(t, fake.Texts()[0].Text)}
					if text := c.Mails(folder, list[0].ID)["series_confirmation"]; strings.Contains(text, "one after") {
						t.Errorf("the email says that no gap is between the appointments:\n%s", text)
					}
					if err := change(ctx, c, list[lost].ID); err != nil {
						t.Fatal(err)
					}
					for _, token := range links {
						if a, err := c.Booking.Managed(ctx, token); err != nil || a.ID != list[left].ID {
							t.Errorf("without person %d, the link opens %q, %v, want person %d", lost+1, a.Patient.Name,
								err, left+1)
						}
					}
					if _, err := c.Group.Visit.Move(ctx, group.VisitMove{SlotStart: c.Start.Add(4 * time.Hour),
						Which: group.Which{ID: list[1].ID, Actor: enginetest.Jo}}); err != nil {
						t.Fatal(err)
					}
					for _, token := range links {
						a, err := c.Booking.Managed(ctx, token)
						if !errors.Is(err, store.ErrNotFound) && !errors.Is(err, record.ErrUnauthorized) &&
							a.Status == store.Confirmed {
							t.Errorf("after the move of the visit, its old link opens %q", a.Patient.Name)
						}
					}
				})
			}
		})
	}
}

func link(t *testing.T, text string) string {
	t.Helper()
	m := manageLink.FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no link in %q", text)
	}
	return m[1]
}
