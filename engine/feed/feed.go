// Package feed serves a specialist's appointments to the calendar program on the specialist's phone, and a single
// appointment to its patient's calendar program. The program polls an address that cannot be guessed. The address of a
// patient's calendar is signed and shows one appointment. Package booking decides when it stops working.
//
// Anyone who has the address can read the calendar. So the address of a specialist's calendar is shown once and can be
// revoked at any time, and only the hash of its secret is stored. The calendar contains patients' names only if its
// creator chooses this, because calendars are copied to places outside the clinic's control.
package feed

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"slices"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/message"
	"holdfast/engine/record"
	"holdfast/store"
)

// The range and size of a specialist's calendar. Calendar programs poll often and mostly show dates in the near future.
const (
	past   = 30 * 24 * time.Hour
	coming = 366 * 24 * time.Hour
	most   = 5000 // maximum number of appointments
)

// ofSpecialist is the length of the secret in the address of a specialist's calendar. Signed secrets are longer.
const ofSpecialist = 26

// Feeds creates, revokes and serves calendar subscriptions. It is safe for concurrent use.
type Feeds struct {
	store    store.Store
	clinic   *clinic.Clinic
	booking  *booking.Booking
	messages *message.Messages
}

// New returns a Feeds.
func New(s store.Store, c *clinic.Clinic, b *booking.Booking, m *message.Messages) *Feeds {
	return &Feeds{s, c, b, m}
}

// Create creates the address of a specialist's calendar and revokes any earlier one. The secret is the last part of the
// path and cannot be read again. If names is set, the calendar contains the patients' names and phone numbers. Errors:
// store.ErrNotFound.
func (ca *Feeds) Create(ctx context.Context, actor record.Actor, specialistID string,
	names bool) (secret string, made store.CalendarFeed, err error) {
	secret = rand.Text() // 130 bits
	made = store.CalendarFeed{Hash: hashOf(secret), Names: names, MadeAt: time.Now().UTC().Truncate(time.Millisecond)}
	err = ca.clinic.PutCalendarFeed(ctx, actor, specialistID, made)
	return secret, made, err
}

// Revoke revokes the address of a specialist's calendar. If there is no address, it returns nil. Errors:
// store.ErrNotFound.
func (ca *Feeds) Revoke(ctx context.Context, actor record.Actor, specialistID string) error {
	return ca.clinic.PutCalendarFeed(ctx, actor, specialistID, store.CalendarFeed{})
}

func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// Read returns the calendar that a secret opens, as an iCalendar object. For a specialist, it contains the confirmed
// appointments from 30 days ago to 366 days ahead. For a patient, it contains the one appointment, even if that has
// been cancelled. The same appointments always produce the same bytes. Read returns store.ErrNotFound if the secret
// does not open a calendar or the specialist is no longer active.
func (ca *Feeds) Read(ctx context.Context, secret string, now time.Time) ([]byte, error) {
	if len(secret) != ofSpecialist {
		a, err := ca.booking.InCalendar(ctx, secret, now)
		if err != nil {
			return nil, err
		}
		return ca.messages.PatientCalendar(&a), nil
	}
	hash := hashOf(secret)
	all := ca.clinic.Schedule().Specialists
	at := slices.IndexFunc(all, func(p store.Specialist) bool {
		return p.Active && subtle.ConstantTimeCompare([]byte(p.Page.Feed.Hash), []byte(hash)) == 1
	})
	if at < 0 {
		return nil, store.ErrNotFound
	}
	p := &all[at]
	filter := store.AppointmentFilter{SpecialistID: p.ID, Status: store.Confirmed, From: now.Add(-past),
		To: now.Add(coming), Limit: 500}
	if p.Kind != store.PersonKind {
		filter.SpecialistID, filter.ResourceID = "", p.ID
	}
	var list []store.Appointment
	for {
		page, next, err := ca.store.Appointments(ctx, filter)
		if err != nil {
			return nil, err
		}
		if list = append(list, page...); next == "" || len(list) >= most {
			return ca.messages.SpecialistCalendar(p, list, p.Page.Feed.Names), nil
		}
		filter.Cursor = next
	}
}
