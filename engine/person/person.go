// Package person identifies the people of a clinic: it lists a person's appointments and the desk's notes about the
// person, and finds people by part of a name.
//
// A person is derived from the appointments by the data of their patients (store.Identity.Is), and from the desk's
// notes and its links between two spellings of one person. The package computes this on each call. An index in the
// database contains the spellings and their appointments (index.go). The index changes in the same transaction as an
// appointment's patient, so nothing survives an erasure.
package person

import (
	"context"
	"log/slog"
	"slices"
	"sort"
	"strings"
	"time"

	"holdfast/engine/notice"
	"holdfast/engine/record"
	"holdfast/store"
)

// People finds people, their appointments and their notes, and erases them. It is safe for concurrent use.
type People struct {
	store   store.Store
	options Options
	log     *slog.Logger
	turn    chan struct{} // allows only one call at a time to read every appointment
	index   index
}

// Options configure a People.
type Options struct {
	Store   store.Store
	Logger  *slog.Logger // nil discards the log
	Records *record.Records
	Queue   store.Queue    // nil if there is none
	Mailer  *notice.Mailer // nil if no emails are sent or written to files
	// Copies lists the copies of the data that an erasure leaves unchanged. If it is nil, there are none.
	Copies func() ([]Copy, error)
	Hooks  Hooks
}

// Hooks are functions of higher-level packages that an erasure calls. All of them are required.
type Hooks struct {
	// BeforeErase runs before an erasure. The caller must call release after the commit to release the times held for
	// the person's requests and offers.
	BeforeErase func(ctx context.Context) (release func(context.Context), err error)
}

// New returns a People.
func New(o Options) *People {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &People{
		store: o.Store, options: o, log: o.Logger, turn: make(chan struct{}, 1),
		index: index{due: make(chan struct{}, 1)},
	}
}

// The limits for one History: the number of appointments with one name, and the number of names that links lead to.
const maxNamesakes, maxNames = 10_000, 12

// History contains one person's appointments, notes and links.
type History struct {
	// the person as spelled in the appointments and links, starting with the requested appointment's spelling
	Of        []store.Identity
	Coming    []store.Appointment // confirmed and not over, next one first
	Past      []store.Appointment // appointments that have ended or are cancelled, latest first
	NoShows   int                 // the number of past appointments that the person missed
	Cancelled int
	Notes     []store.PersonNote // by creation time
	Links     []store.PersonLink
}

// Viewer is the user who requests a history. Specialists see the appointments in their own calendar, the notes that
// they wrote themselves, and links to spellings of the person that are in their calendar. So an appointment with
// made-up data does not reveal colleagues' data.
type Viewer struct {
	SpecialistID string       // empty for the reception, owners and admin keys, who see everything
	Actor        record.Actor // the author of the viewer's own notes
}

// History returns all appointments of the person in an appointment, including that one, to the extent that the viewer
// is allowed to see them. Errors: store.ErrNotFound.
func (pe *People) History(ctx context.Context, id string, by Viewer) (History, error) {
	if !record.ValidID(id) {
		return History{}, store.ErrNotFound
	}
	a, err := pe.store.Appointment(ctx, id)
	if err != nil {
		return History{}, err
	}
	var h History
	var all []store.Appointment
	if a.Patient.Name == "" {
		h.Of, all = []store.Identity{a.Patient.Identity()}, []store.Appointment{a}
	} else if all, err = pe.gather(ctx, &h, a.Patient.Identity(), by); err != nil {
		return History{}, err
	}
	if (by.SpecialistID == "" || by.SpecialistID == a.SpecialistID) &&
		!slices.ContainsFunc(all, func(x store.Appointment) bool { return x.ID == a.ID }) {
		all = append(all, a)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].SlotStart.Before(all[j].SlotStart) })
	now := time.Now()
	for _, x := range all {
		switch {
		case x.Status == store.Confirmed && x.SlotEnd.After(now):
			h.Coming = append(h.Coming, x)
		default:
			h.Past = append(h.Past, x)
			if x.Status == store.Cancelled {
				h.Cancelled++
			} else if x.Attendance == store.NoShow {
				h.NoShows++
			}
		}
	}
	slices.Reverse(h.Past)
	return h, nil
}

// gather follows the links from one identity, and collects the appointments, links and notes of every identity that
// it reaches.
func (pe *People) gather(ctx context.Context, h *History, first store.Identity,
	by Viewer) (all []store.Appointment, err error) {
	h.Of = []store.Identity{first}
	listed := make(map[string]bool)
	for next := 0; next < len(h.Of) && next < maxNames; next++ {
		of := &h.Of[next]
		if slices.ContainsFunc(h.Of[:next], func(k store.Identity) bool {
			return store.Fold(k.Name) == store.Fold(of.Name) && k.Is(of)
		}) {
			continue // its appointments are already in the list
		}
		namesakes, err := pe.store.AppointmentsNamed(ctx, of.Name, by.SpecialistID, maxNamesakes)
		if err != nil {
			return nil, err
		}
		for _, x := range namesakes {
			if i := x.Patient.Identity(); h.has(&i) && !listed[x.ID] {
				all, listed[x.ID] = append(all, x), true
			}
		}
		if err := pe.followLinks(ctx, h, of.Name, by); err != nil {
			return nil, err
		}
	}
	return all, pe.gatherNotes(ctx, h, by)
}

// has reports whether an identity is one of those that the history has reached.
func (h *History) has(i *store.Identity) bool {
	return slices.ContainsFunc(h.Of, func(k store.Identity) bool { return k == *i || k.Is(i) })
}

// followLinks adds the links between a name and the identities of the history, and the identities that they lead to.
func (pe *People) followLinks(ctx context.Context, h *History, name string, by Viewer) error {
	links, err := pe.store.PersonLinks(ctx, name)
	if err != nil {
		return err
	}
	for _, l := range links {
		a, b := h.has(&l.A), h.has(&l.B)
		if !a && !b || slices.ContainsFunc(h.Links, func(k store.PersonLink) bool { return k.ID == l.ID }) {
			continue
		}
		other := &l.A
		if a {
			other = &l.B
		}
		if seen, err := pe.isIn(ctx, other, by.SpecialistID); err != nil {
			return err
		} else if !seen {
			continue
		}
		h.Links = append(h.Links, l)
		if !a || !b {
			h.Of = append(h.Of, *other)
		}
	}
	return nil
}

// gatherNotes adds the notes about the identities of the history, by creation time.
func (pe *People) gatherNotes(ctx context.Context, h *History, by Viewer) error {
	read := make(map[string]bool)
	for _, i := range h.Of {
		name := store.Fold(i.Name)
		if read[name] {
			continue
		}
		read[name] = true
		notes, err := pe.store.PersonNotes(ctx, i.Name)
		if err != nil {
			return err
		}
		for _, n := range notes {
			if h.has(&n.Of) && (by.SpecialistID == "" || n.Author == string(by.Actor)) {
				h.Notes = append(h.Notes, n)
			}
		}
	}
	sort.SliceStable(h.Notes, func(i, j int) bool { return h.Notes[i].CreatedAt.Before(h.Notes[j].CreatedAt) })
	return nil
}

// isIn reports whether a specialist has an appointment with this person. It is always true for the desk, which has no
// specialist and sees everyone.
func (pe *People) isIn(ctx context.Context, i *store.Identity, specialistID string) (found bool, err error) {
	if specialistID == "" {
		return true, nil
	}
	namesakes, err := pe.store.AppointmentsNamed(ctx, i.Name, specialistID, maxNamesakes)
	return slices.ContainsFunc(namesakes, func(x store.Appointment) bool {
		of := x.Patient.Identity()
		return of == *i || of.Is(i)
	}), err
}

// AddNote stores a note by the desk about the person in an appointment. The audit entry does not contain the note's
// text.
//
// Errors: store.ErrNotFound, *ValidationError, including if the person has been erased.
func (pe *People) AddNote(ctx context.Context, appointmentID, text string, actor record.Actor,
	once *record.Once) (store.PersonNote, error) {
	var m record.Mistakes
	text = strings.TrimSpace(text)
	record.CheckText(&m, "text", text, 2000, true)
	if text == "" {
		m.Add("text", "is missing")
	}
	if err := m.Err(); err != nil {
		return store.PersonNote{}, err
	}
	n := store.PersonNote{
		ID: record.NewID(), Text: text, Author: string(actor), CreatedAt: time.Now().UTC().Truncate(time.Millisecond),
	}
	return n, pe.store.Write(ctx, func(tx store.Tx) (err error) {
		if n.Of, err = named(ctx, tx, appointmentID); err != nil {
			return err
		}
		if err := tx.InsertPersonNote(ctx, n); err != nil {
			return err
		}
		if err := record.Audit(ctx, tx, n.CreatedAt, actor, record.ActionPersonNoted, "appointment:"+appointmentID,
			"", nil, nil); err != nil {
			return err
		}
		return once.Remember(ctx, tx, n, n.CreatedAt)
	})
}

// named returns the person in an appointment. It returns *ValidationError if the person has been erased.
func named(ctx context.Context, r store.Reader, appointmentID string) (store.Identity, error) {
	if !record.ValidID(appointmentID) {
		return store.Identity{}, store.ErrNotFound
	}
	a, err := r.Appointment(ctx, appointmentID)
	if err == nil && a.Patient.Name == "" {
		err = record.Invalid("appointmentId", "the patient of this appointment was erased")
	}
	return a.Patient.Identity(), err
}

// DeleteNote removes a note. Errors: store.ErrNotFound.
func (pe *People) DeleteNote(ctx context.Context, id string, actor record.Actor) error {
	return pe.remove(ctx, actor, record.ActionPersonNoteDeleted, func(tx store.Tx) error {
		return tx.DeletePersonNote(ctx, id)
	})
}

// Link records that the people in two appointments are the same person. Unlink undoes this. The appointments do not
// change.
//
// Errors: store.ErrNotFound, *ValidationError, including if the two entries are already the same person.
func (pe *People) Link(ctx context.Context, appointmentID, otherID string, actor record.Actor,
	once *record.Once) (store.PersonLink, error) {
	h, err := pe.History(ctx, appointmentID, Viewer{})
	if err != nil {
		return store.PersonLink{}, err
	}
	l := store.PersonLink{
		ID: record.NewID(), Author: string(actor), CreatedAt: time.Now().UTC().Truncate(time.Millisecond),
	}
	return l, pe.store.Write(ctx, func(tx store.Tx) (err error) {
		if l.A, err = named(ctx, tx, appointmentID); err != nil {
			return err
		}
		if l.B, err = named(ctx, tx, otherID); err != nil {
			return err
		}
		if slices.ContainsFunc(h.Of, func(k store.Identity) bool { return k == l.B || k.Is(&l.B) }) {
			return record.Invalid("appointmentId", "the two entries already belong to the same person")
		}
		if err := tx.InsertPersonLink(ctx, l); err != nil {
			return err
		}
		if err := record.Audit(ctx, tx, l.CreatedAt, actor, record.ActionPersonLinked, "appointment:"+appointmentID,
			"", nil, map[string]string{"with": otherID}); err != nil {
			return err
		}
		return once.Remember(ctx, tx, l, l.CreatedAt)
	})
}

// Unlink deletes a link. Errors: store.ErrNotFound.
func (pe *People) Unlink(ctx context.Context, id string, actor record.Actor) error {
	return pe.remove(ctx, actor, record.ActionPersonUnlinked, func(tx store.Tx) error {
		return tx.DeletePersonLink(ctx, id)
	})
}

func (pe *People) remove(ctx context.Context, actor record.Actor, action record.Action, do func(store.Tx) error) error {
	now := time.Now().UTC().Truncate(time.Millisecond)
	return pe.store.Write(ctx, func(tx store.Tx) error {
		if err := do(tx); err != nil {
			return err
		}
		return record.Audit(ctx, tx, now, actor, action, "person", "", nil, nil)
	})
}

// Linked lists the identities linked to a person who is about to be erased, not including that person.
func (pe *People) Linked(ctx context.Context, p store.Person) (others []store.Identity, err error) {
	if len(p.Of) > 0 {
		return nil, nil // the caller has already followed the links
	}
	f := store.AppointmentFilter{Owner: p.Owner, Query: p.Email + p.Phone, Limit: 500}
	list, _, err := pe.store.Appointments(ctx, f)
	if err != nil {
		return nil, err
	}
	var seen []store.Identity
	for _, a := range list {
		i := a.Patient.Identity()
		if i.Name == "" || slices.Contains(seen, i) || p.Owner == "" && !i.IsOneOf(p, nil) {
			continue
		}
		seen = append(seen, i)
		var h History
		if _, err := pe.gather(ctx, &h, i, Viewer{}); err != nil {
			return nil, err
		}
		others = distinct(append(others, h.Of[1:]...))
	}
	return others, nil
}
