package web

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/store"
	"holdfast/web/fhir"
)

// SMART Scheduling Links (https://github.com/smart-on-fhir/smart-scheduling-links): the free slots, published for
// services that collect them, with links to the booking page. The server builds the files at most once a minute and
// caches them.

const (
	bulkPattern = "/.well-known/smart-scheduling/"
	bulkPublish = "$bulk-publish"
	bulkEvery   = time.Minute
	bulkDays    = 14
	bulkSlots   = 20000 // maximum over all types together; the earliest slots are published
	bulkHosts   = 2
	longestHost = 253 + len(":65535") // the longest DNS name with a port

	deepLink     = "http://fhir-registry.smarthealthit.org/StructureDefinition/booking-deep-link"
	slotCapacity = "http://fhir-registry.smarthealthit.org/StructureDefinition/slot-capacity"

	// bulkBase is a placeholder for the server's address, which only a request can supply.
	bulkBase = "https://base.holdfast.invalid"
)

var (
	ndjsonType = []string{"application/fhir+ndjson"}
	oneMinute  = []string{"public, max-age=60"}
)

// bulkFile is one file, ready to be sent.
type bulkFile struct {
	text, packed []byte
	tag          string
}

// bulkFiles is the result of one build of the files.
type bulkFiles struct {
	made    time.Time
	changed time.Time // when the files last changed
	base    string    // the server's address in these files
	files   map[string]*bulkFile

	mu    sync.Mutex
	hosts []*bulkHost // the most recently requested hosts, if no address is configured
}

// bulkHost holds the files for an address that is known only from requests. Each file is built at its first request.
type bulkHost struct {
	base  string
	files map[string]func() *bulkFile
}

// of returns a file whose links start with the address base. It caches the files of at most bulkHosts addresses,
// because a caller can send any Host header.
func (a *bulkFiles) of(name, base string) *bulkFile {
	if a.base != "" {
		return a.files[name]
	}
	return a.host(base).files[name]()
}

func (a *bulkFiles) host(base string) *bulkHost {
	a.mu.Lock()
	defer a.mu.Unlock()
	if i := slices.IndexFunc(a.hosts, func(h *bulkHost) bool { return h.base == base }); i >= 0 {
		h := a.hosts[i]
		a.hosts = append(slices.Delete(a.hosts, i, i+1), h)
		return h
	}
	h, in := &bulkHost{base: base, files: map[string]func() *bulkFile{}}, []byte(jsonText(base))
	for name, f := range a.files {
		h.files[name] = sync.OnceValue(func() *bulkFile {
			return packed(bytes.ReplaceAll(f.text, []byte(bulkBase), in))
		})
	}
	if len(a.hosts) == bulkHosts {
		a.hosts = slices.Delete(a.hosts, 0, 1)
	}
	a.hosts = append(a.hosts, h)
	return h
}

// bulk caches the latest files.
type bulk struct {
	mu     sync.Mutex
	kept   *bulkFiles
	making chan struct{} // closed when the current build of the files ends; nil means none is running
}

// ready returns files that are at most bulkEvery old. If several callers need new files, one of them builds the files
// and the others wait.
func (k *bulk) ready(ctx context.Context, base string, build func(context.Context,
	*bulkFiles) (*bulkFiles, error)) (*bulkFiles, error) {
	for {
		k.mu.Lock()
		kept, others := k.kept, k.making
		if kept != nil && kept.base == base && time.Since(kept.made) < bulkEvery {
			k.mu.Unlock()
			return kept, nil
		}
		if others == nil {
			k.making = make(chan struct{})
		}
		k.mu.Unlock()
		if others != nil {
			select {
			case <-others:
				continue
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		return k.make(ctx, kept, build)
	}
}

// make builds the files. It always wakes the waiting callers, even if the build fails.
func (k *bulk) make(ctx context.Context, kept *bulkFiles, build func(context.Context,
	*bulkFiles) (*bulkFiles, error)) (made *bulkFiles, err error) {
	defer func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		close(k.making)
		if k.making = nil; err == nil && made != nil {
			k.kept = made
		}
	}()
	return build(ctx, kept)
}

func (s *Server) getBulk(name string) handle {
	return func(c *call) error {
		if err := s.heedReads(c); err != nil {
			return err
		}
		said, _ := s.engine.Clinic.BaseURL()
		if said == "" && len(c.r.Host) > longestHost { // every line contains the host
			return errNotFound.with("The Host header is too long.")
		}
		all, err := s.bulk.ready(c.ctx(), said, s.makeBulk)
		if err != nil {
			return err
		}
		f, h := all.of(name, c.base()), c.rw.Header()
		h["Etag"], h["Cache-Control"] = []string{"W/" + f.tag}, oneMinute
		addVary(h, "Accept-Encoding")
		if hasTag(c.r.Header["If-None-Match"], f.tag) {
			return c.empty(http.StatusNotModified)
		}
		if h["Content-Type"] = ndjsonType; name == bulkPublish {
			h["Content-Type"] = jsonType
		}
		c.status, c.out = http.StatusOK, f.text
		if takesGzip(c.r.Header["Accept-Encoding"]) {
			h["Content-Encoding"], c.out = []string{"gzip"}, f.packed
		}
		return nil
	}
}

// jsonText escapes s for a JSON string and returns it without the quotes.
func jsonText(s string) string {
	b, _ := json.Marshal(s) // encoding a string cannot fail
	return string(b[1 : len(b)-1])
}

// bulkLines holds the lines of one file.
type bulkLines struct{ bytes.Buffer }

func (b *bulkLines) add(resource any) error {
	line, err := json.Marshal(resource)
	b.Write(line)
	b.WriteByte('\n')
	return err
}

// bulkPlaces returns the clinic's places, or one with the clinic's name if it has none.
func bulkPlaces(now *clinic.Schedule) []clinic.Place {
	if len(now.Settings.Places) > 0 {
		return now.Settings.Places
	}
	return []clinic.Place{{Name: now.Clinic.Name}}
}

// makeBulk computes all files.
func (s *Server) makeBulk(ctx context.Context, before *bulkFiles) (*bulkFiles, error) {
	said, _ := s.engine.Clinic.BaseURL()
	base := said
	if base == "" {
		base = bulkBase
	}
	now := s.engine.Clinic.Current()
	var locations, schedules, slots bulkLines
	free := nearest{most: bulkSlots}
	for _, place := range bulkPlaces(now) {
		id := scheduleID("", place.ID)
		if err := locations.add(locationOf(now, &place, id)); err != nil {
			return nil, err
		}
		for i := range now.AppointmentTypes {
			t := &now.AppointmentTypes[i]
			if !t.Active || t.Page.DeskOnly {
				continue
			}
			schedule := fhir.Schedule{ResourceType: "Schedule", ID: scheduleID(t.ID, "place:"+place.ID), Active: true,
				ServiceType: serviceType(base, t),
				Actor:       []fhir.Reference{{Reference: "Location/" + id}}}
			if err := schedules.add(schedule); err != nil {
				return nil, err
			}
			if err := s.addFree(ctx, &free, now, base, t, place.ID, schedule.ID); err != nil {
				return nil, err
			}
		}
	}
	free.cut()
	for i := range free.all {
		if err := slots.add(free.all[i].resource()); err != nil {
			return nil, err
		}
	}
	made := &bulkFiles{made: time.Now(), base: said, files: map[string]*bulkFile{
		"locations.ndjson": packed(locations.Bytes()), "schedules.ndjson": packed(schedules.Bytes()),
		"slots.ndjson": packed(slots.Bytes()),
	}}
	made.changed = made.made
	if before != nil && before.base == said && same(before.files, made.files) {
		made.changed = before.changed
	}
	text, err := json.Marshal(manifestOf(base, made.changed))
	made.files[bulkPublish] = packed(text)
	return made, err
}

// freeSlot is a published slot.
type freeSlot struct {
	schedule, link string
	start, end     time.Time
	available      int
}

func (f *freeSlot) resource() fhir.Slot {
	return fhir.Slot{
		ResourceType: "Slot", ID: f.schedule + "-" + strconv.FormatInt(f.start.Unix(), 10),
		Schedule: fhir.Reference{Reference: "Schedule/" + f.schedule}, Status: fhir.Free, Start: httpTime(f.start),
		End: httpTime(f.end), Extension: []fhir.Extension{{URL: deepLink, ValueURL: f.link},
			{URL: slotCapacity, ValueInteger: f.available}},
	}
}

// nearest collects the earliest slots of all types together. If there are too many slots, it drops the latest ones, so
// that the slots of one type do not displace the next days of another type.
type nearest struct {
	most int
	all  []freeSlot
}

func (n *nearest) add(f freeSlot) {
	if n.all = append(n.all, f); len(n.all) >= 2*n.most {
		n.cut()
	}
}

// cut sorts the slots by start and drops those beyond the maximum.
func (n *nearest) cut() {
	sort.SliceStable(n.all, func(i, j int) bool { return n.all[i].start.Before(n.all[j].start) })
	n.all = n.all[:min(len(n.all), n.most)]
}

// addFree adds the free slots of one type at one place.
func (s *Server) addFree(ctx context.Context, free *nearest, now *clinic.Schedule, base string,
	t *store.AppointmentType, place, schedule string) error {
	today := store.DateOf(time.Now().In(now.Zone))
	list, err := s.engine.Booking.Timeslots(ctx, booking.TimeslotsRequest{AppointmentTypeID: t.ID,
		Place: place, From: today, To: today.AddDays(bulkDays), Schedule: now})
	if err != nil {
		return err
	}
	link := base + "/?type=" + t.ID
	if place != "" {
		link += "&place=" + place
	}
	for i := range list.Slots {
		if slot := &list.Slots[i]; slot.Available > 0 {
			free.add(freeSlot{schedule, link, slot.Start, slot.End, slot.Available})
		}
	}
	return nil
}

// locationOf returns a place of the clinic. The clinic stores its address as one string, so the resource contains the
// lines of the address and no separate city.
func locationOf(now *clinic.Schedule, place *clinic.Place, id string) fhir.Location {
	about := &now.Clinic
	l := fhir.Location{ResourceType: "Location", ID: id, Status: "active", Name: about.Name}
	address := about.Address
	if place.ID != "" {
		l.Name = about.Name + ", " + place.Name
		if place.Address != "" {
			address = place.Address
		}
	}
	for _, c := range []fhir.ContactPoint{{System: "phone", Value: about.Phone}, {System: "email", Value: about.Email},
		{System: "url", Value: about.Website}} {
		if c.Value != "" {
			l.Telecom = append(l.Telecom, c)
		}
	}
	if address != "" {
		l.Address = &fhir.Address{Text: address}
		for part := range strings.FieldsFuncSeq(address, func(r rune) bool { return r == '\n' || r == ',' }) {
			if part = strings.TrimSpace(part); part != "" {
				l.Address.Line = append(l.Address.Line, part)
			}
		}
	}
	return l
}

// manifestJSON lists the files.
type manifestJSON struct {
	TransactionTime string         `json:"transactionTime"`
	Request         string         `json:"request"`
	Output          []manifestFile `json:"output"`
}

type manifestFile struct {
	Type string `json:"type"`
	URL  string `json:"url"`
}

func manifestOf(base string, changed time.Time) manifestJSON {
	at := base + bulkPattern
	return manifestJSON{TransactionTime: httpTime(changed), Request: at + bulkPublish, Output: []manifestFile{
		{"Location", at + "locations.ndjson"}, {"Schedule", at + "schedules.ndjson"}, {"Slot", at + "slots.ndjson"},
	}}
}

// packed returns a file with its entity tag and its compressed form.
func packed(text []byte) *bulkFile {
	sum := sha256.Sum256(text)
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(text) // writing to a buffer cannot fail
	_ = z.Close()
	return &bulkFile{bytes.Clone(text), b.Bytes(), `"` + hex.EncodeToString(sum[:12]) + `"`}
}

func same(a, b map[string]*bulkFile) bool {
	for name, f := range b {
		if a[name] == nil || a[name].tag != f.tag {
			return false
		}
	}
	return true
}
