// Package feed gives a specialist's appointments to the calendar program on the specialist's own phone, and a patient's to the
// patient's: an address that the program asks again and again, and that nobody can guess. That of a patient is signed, and shows one
// appointment; package booking says when it ends.
//
// Whoever has the address reads the calendar, so that of a specialist is made for one specialist, shown once, and can be ended at any
// time; only the hash of what is secret in it is kept. Names of patients are in it only where whoever makes it says so: calendars are copied to places
// that the clinic does not know.
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

// What a feed shows: a calendar program asks often, and shows what is near.
const (
	past   = 30 * 24 * time.Hour
	coming = 366 * 24 * time.Hour
	most   = 5000 // appointments
)

// ofSpecialist is the length of what is secret in the address of a specialist's calendar. A signed one is longer.
const ofSpecialist = 26

// Feeds gives specialists' calendars away. It is safe for concurrent use.
type Feeds struct {
	store    store.Store
	clinic   *clinic.Clinic
	booking  *booking.Booking
	messages *message.Messages
}

// New returns Feeds.
func New(s store.Store, c *clinic.Clinic, b *booking.Booking, m *message.Messages) *Feeds {
	return &Feeds{s, c, b, m}
}

// Create makes the address of a specialist's calendar, or a new one, with which the one before ends. The secret is what follows in
// the path, and is not known again. names has the patients' names and phone numbers in it. store.ErrNotFound.
func (ca *Feeds) Create(ctx context.Context, actor record.Actor, specialistID string, names bool) (secret string, made store.CalendarFeed, err error) {
	secret = rand.Text() // 130 bits
	made = store.CalendarFeed{Hash: hashOf(secret), Names: names, MadeAt: time.Now().UTC().Truncate(time.Millisecond)}
	err = ca.clinic.PutCalendarFeed(ctx, actor, specialistID, made)
	return secret, made, err
}

// Revoke makes the address of a specialist's calendar useless. Ending none is no error. store.ErrNotFound.
func (ca *Feeds) Revoke(ctx context.Context, actor record.Actor, specialistID string) error {
	return ca.clinic.PutCalendarFeed(ctx, actor, specialistID, store.CalendarFeed{})
}

func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// Read is the calendar that this secret opens, as an iCalendar object: of a specialist, what is confirmed from a month ago to a
// year ahead; of a patient, the one appointment, and that it was cancelled. The
// same appointments are the same bytes. store.ErrNotFound if it opens none, or the specialist does not work here any more.
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
	filter := store.AppointmentFilter{SpecialistID: p.ID, Status: store.Confirmed, From: now.Add(-past), To: now.Add(coming), Limit: 500}
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
