package clinic

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"time"

	"holdfast/engine/record"
	"holdfast/store"
)

// File is a whole clinic as one JSON document, which Import reads and Export writes. Import is idempotent: importing
// the same file twice results in the same clinic, because entries are matched by id. Import replaces the entries in the
// file, with the default of each field that an entry omits, and leaves everything else unchanged: other entries, weekly
// hours that an entry omits, and overrides and blocks that the file does not contain.
type File struct {
	Clinic           *FileClinic            `json:"clinic,omitempty"`
	Specialists      []SpecialistEntry      `json:"specialists"`
	AppointmentTypes []AppointmentTypeEntry `json:"appointmentTypes"`
}

// notInFile is the error message for a File with webhooks or a booking rule. Both contain secrets, so Export leaves
// them out. Import preserves the clinic's own webhooks and rule, and refuses a file that contains any, because it would
// have to drop them.
const notInFile = "is not part of a clinic file, because it contains a secret; set it in the settings"

// FileClinic is the clinic itself in a File.
type FileClinic struct {
	Name     string    `json:"name"`
	Timezone string    `json:"timezone"`
	Locale   string    `json:"locale,omitempty"`
	Phone    string    `json:"phone,omitempty"`
	Email    string    `json:"email,omitempty"`
	Address  string    `json:"address,omitempty"`
	Website  string    `json:"website,omitempty"`
	Settings *Settings `json:"settings,omitempty"`
}

// strictJSON decodes JSON and refuses unknown fields. A nested type with its own UnmarshalJSON does not inherit that
// option from the outer decoder, so it has to call strictJSON.
func strictJSON(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

// Imported counts the specialists and appointment types of a File.
type Imported struct {
	Specialists      int `json:"specialists"`
	AppointmentTypes int `json:"appointmentTypes"`
}

// Import stores either all of a File or nothing. *ValidationError lists every mistake in it.
func (cl *Clinic) Import(ctx context.Context, actor record.Actor, f File) (Imported, error) {
	n := Imported{Specialists: len(f.Specialists), AppointmentTypes: len(f.AppointmentTypes)}
	c := ScheduleChange{Actor: actor, Action: record.ActionClinicImported, Subject: "clinic", after: n, result: n}
	err := cl.changeStored(ctx, &c, func(tx store.Tx, s *store.Schedule) error {
		rows, err := f.rows(s, cl.languages())
		if err != nil {
			return err
		}
		var m record.Mistakes
		if err := checkVisited(ctx, &m, tx, s, rows.places); err != nil {
			return err
		}
		if err := m.Err(); err != nil {
			return err
		}
		c.specialists = rows.specialists
		for i := range rows.specialists { // a file has no calendar feeds, so importing it leaves them unchanged
			rows.specialists[i].Page.Feed = store.CalendarFeed{}
			if before := specialistIn(s, rows.specialists[i].ID); before != nil {
				rows.specialists[i].Page.Feed = before.Page.Feed
			}
		}
		for _, id := range rows.movedBlocks(s) {
			if _, err := tx.DeleteBlock(ctx, id); err != nil {
				return err
			}
		}
		return rows.write(ctx, tx)
	})
	if err != nil {
		return Imported{}, err
	}
	return n, nil
}

// importRows contains the contents of a checked File as rows of the store.
type importRows struct {
	clinic      *store.Clinic
	specialists []store.Specialist
	hours       map[string][]store.WeeklyWindow
	overrides   []store.Override
	blocks      []store.Block
	places      []Place         // the places that the clinic has after the import
	blockIDs    map[string]bool // detects ids that occur twice in the file
	types       []store.AppointmentType
}

// rows checks the file against the stored schedule that it will be imported into. It may be called more than once.
func (f *File) rows(s *store.Schedule, languages []string) (*importRows, error) {
	var m record.Mistakes
	r := &importRows{hours: make(map[string][]store.WeeklyWindow), blockIDs: make(map[string]bool), places: placesOf(s)}
	zone, groups := s.Clinic.Timezone, groupsOf(s)
	var settings *Settings // that the clinic has after the import; nil if the file contains none
	if f.Clinic != nil {
		c, stored := f.Clinic.row(&m, languages, s.Clinic.Settings)
		r.clinic, zone, settings = &c, c.Timezone, stored
		if settings != nil {
			groups, r.places = settings.TypeGroups, settings.Places
		}
	}
	known, order := kinds(s), newPositions(s)
	inFile := make(map[string]bool)
	for i := range f.Specialists {
		p, at := &f.Specialists[i], indexed("specialists", i)+"."
		if inFile[p.ID] {
			m.Add(at+"id", "%q occurs twice in the file", record.Clip(p.ID))
		}
		known[p.ID], inFile[p.ID] = store.SpecialistKind(p.Kind), true
		p.rows(&m, at, order.ofSpecialist(p.ID), zone, specialistIn(s, p.ID), r)
	}
	inFile = make(map[string]bool)
	for i := range f.AppointmentTypes {
		at := indexed("appointmentTypes", i) + "."
		t := f.AppointmentTypes[i].Type(order.ofType(f.AppointmentTypes[i].ID))
		if inFile[t.ID] {
			m.Add(at+"id", "%q occurs twice in the file", record.Clip(t.ID))
		}
		inFile[t.ID] = true
		checkAppointmentType(&m, at, &t, func(id string) bool { _, ok := known[id]; return ok }, groups)
		checkNeeds(&m, at, &t, known)
		r.types = append(r.types, t)
	}
	if settings != nil {
		settings.checkUse(&m, r.unchanged(s), time.Now())
	}
	return r, m.Err()
}

// unchanged returns the types, hours and overrides of a stored schedule that the import does not replace.
func (r *importRows) unchanged(s *store.Schedule) *store.Schedule {
	kept := &store.Schedule{
		WeeklyHours: make(map[string][]store.WeeklyWindow), Overrides: make(map[string][]store.Override),
	}
	for i := range s.AppointmentTypes {
		id := s.AppointmentTypes[i].ID
		if !slices.ContainsFunc(r.types, func(t store.AppointmentType) bool { return t.ID == id }) {
			kept.AppointmentTypes = append(kept.AppointmentTypes, s.AppointmentTypes[i])
		}
	}
	for id, hours := range s.WeeklyHours {
		if _, replaced := r.hours[id]; !replaced {
			kept.WeeklyHours[id] = hours
		}
	}
	for id, list := range s.Overrides {
		kept.Overrides[id] = slices.DeleteFunc(slices.Clone(list), func(o store.Override) bool {
			return slices.ContainsFunc(r.overrides, func(x store.Override) bool {
				return x.SpecialistID == id && x.Date == o.Date
			})
		})
	}
	return kept
}

// row returns the row to store, and the settings in it: those in the file, with the clinic's own values of those that a
// file cannot contain. The settings are nil if the file contains none. row does not change the file.
func (c *FileClinic) row(m *record.Mistakes, languages []string, before json.RawMessage) (store.Clinic, *Settings) {
	row := store.Clinic{
		Name: c.Name, Timezone: c.Timezone, Locale: c.Locale, Phone: c.Phone, Email: c.Email, Address: c.Address,
		Website: c.Website, Settings: before,
	}
	var settings *Settings
	if c.Settings != nil {
		settings = new(*c.Settings)
		if len(settings.Webhooks) > 0 {
			m.Add("clinic.settings.webhooks", notInFile)
		}
		if settings.BookingRule != (BookingRule{}) {
			m.Add("clinic.settings.bookingRule", notInFile)
		}
		own, err := readSettings(before)
		if err == nil {
			settings.Webhooks, settings.BookingRule = own.Webhooks, own.BookingRule
		}
		checkSettings(m, languages, settings, &own)
		row.Settings, _ = settings.stored() // a struct of strings and numbers always marshals
	}
	checkClinic(m, languages, "clinic.", "clinic.", &row)
	return row, settings
}

// movedBlocks returns the ids of the blocks that the import assigns to a different specialist. They are deleted first,
// so that the slots of the previous specialist are computed again.
func (r *importRows) movedBlocks(s *store.Schedule) (ids []string) {
	owner := make(map[string]string, len(r.blocks))
	for i := range r.blocks {
		owner[r.blocks[i].ID] = r.blocks[i].SpecialistID
	}
	for id, list := range s.Blocks {
		for i := range list {
			if to := owner[list[i].ID]; to != "" && to != id {
				ids = append(ids, list[i].ID)
			}
		}
	}
	return ids
}

func (r *importRows) write(ctx context.Context, tx store.Tx) error {
	if r.clinic != nil {
		if err := tx.PutClinic(ctx, *r.clinic); err != nil {
			return err
		}
	}
	for _, p := range r.specialists {
		if err := tx.PutSpecialist(ctx, p); err != nil {
			return err
		}
		if !p.Active {
			if err := endSignInsOf(ctx, tx, p.ID); err != nil {
				return err
			}
		}
		if hours, ok := r.hours[p.ID]; ok {
			if err := tx.PutWeeklyHours(ctx, p.ID, hours); err != nil {
				return err
			}
		}
	}
	for _, o := range r.overrides {
		if err := tx.PutOverride(ctx, o); err != nil {
			return err
		}
	}
	if err := leaveRemovedPlaces(ctx, tx); err != nil {
		return err
	}
	for _, b := range r.blocks {
		if err := tx.PutBlock(ctx, b); err != nil {
			return err
		}
	}
	for _, t := range r.types {
		if err := tx.PutAppointmentType(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// Export returns the clinic as a File. Importing that file results in the same clinic.
func (cl *Clinic) Export() File {
	s := cl.Current()
	settings := cl.Settings()
	settings.Webhooks, settings.BookingRule = nil, BookingRule{}
	f := File{
		Clinic:      clinicEntry(&s.Clinic),
		Specialists: []SpecialistEntry{}, AppointmentTypes: []AppointmentTypeEntry{},
	}
	f.Clinic.Settings = &settings
	for i := range s.Specialists {
		p := &s.Specialists[i]
		entry := specialistEntry(p)
		// an empty list, not an absent one, so that Import clears hours that were added since
		entry.WeeklyHours = append([]HoursEntry{}, hoursEntries(s.WeeklyHours[p.ID])...)
		for _, o := range s.Overrides[p.ID] {
			entry.Overrides = append(entry.Overrides, overrideEntry(&o))
		}
		for _, b := range s.Blocks[p.ID] {
			if b.Source == store.BlockDesk { // the others are read from their calendars again
				entry.Blocks = append(entry.Blocks, blockEntry(&b))
			}
		}
		f.Specialists = append(f.Specialists, entry)
	}
	for i := range s.AppointmentTypes {
		f.AppointmentTypes = append(f.AppointmentTypes, EntryOf(&s.AppointmentTypes[i]))
	}
	return f
}

// clinicEntry converts a clinic, without its settings, to its form in a File and in the audit log.
func clinicEntry(c *store.Clinic) *FileClinic {
	return &FileClinic{
		Name: c.Name, Timezone: c.Timezone, Locale: c.Locale, Phone: c.Phone, Email: c.Email, Address: c.Address,
		Website: c.Website,
	}
}
