package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/store"
)

// testPeople compares the index of people with a plain scan of the appointments.
func testPeople(t *testing.T, h Harness) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("random people ", seed), func(t *testing.T) { findRandomPeople(t, h.open(t), seed) })
	}
	t.Run("each filter", func(t *testing.T) { findInEachWay(t, h.open(t)) })
	t.Run("an erased person is not found", func(t *testing.T) { eraseIndexed(t, h.open(t)) })
	t.Run("progress", func(t *testing.T) { indexInParts(t, h.open(t)) })
	t.Run("the search stops at the limit", func(t *testing.T) { stopFinding(t, h.open(t)) })
}

func mustIndex(t *testing.T, s store.Store, limit int) {
	t.Helper()
	write(t, s, func(tx store.Tx) error { return tx.IndexPeople(t.Context(), limit) })
}

// scanPeople does the same as FindPeople, without an index.
func scanPeople(t *testing.T, s store.Reader, q store.PersonQuery, specialistID string) (found []store.FoundPerson) {
	t.Helper()
	people := map[store.Identity]*store.FoundPerson{}
	err := s.Patients(t.Context(), specialistID, func(p store.PatientAt) {
		score, ok := q.Match(&p.Identity)
		if !ok || q.IsEmpty() {
			return
		}
		f := people[p.Identity]
		if f == nil {
			f = &store.FoundPerson{Identity: p.Identity, Score: score}
			people[p.Identity] = f
		}
		f.Add(p.AppointmentID, p.SlotStart)
	})
	wantErr(t, "Patients", err, nil)
	for _, f := range people {
		found = append(found, *f)
	}
	slices.SortFunc(found, func(a, b store.FoundPerson) int { return a.Compare(&b) })
	return found
}

// findPeople returns all people that FindPeople passes.
func findPeople(t *testing.T, s store.Reader, q store.PersonQuery, specialistID string) (found []store.FoundPerson) {
	t.Helper()
	err := s.FindPeople(t.Context(), q, specialistID, func(f store.FoundPerson) bool {
		found = append(found, f)
		return true
	})
	wantErr(t, "FindPeople", err, nil)
	return found
}

// randomPeople generates names, addresses and numbers that are often nearly equal.
type randomPeople struct{ *rand.Rand }

func (r randomPeople) of(all ...string) string { return all[r.IntN(len(all))] }

func (r randomPeople) name() string {
	word := func() string {
		var b strings.Builder
		for range 1 + r.IntN(4) {
			b.WriteString(r.of("mü", "ler", "mue", "gro", "ß", "ss", "man", "n", "lin", "d", "vo", "gt", "å", "jo",
				"sé", "a", "e", "ber", "'", "Ø", "王"))
		}
		return b.String()
	}
	name := r.of(word(), word()+" "+word(), word()+"-"+word()+" "+word(), word()+"  "+strings.ToUpper(word()))
	if r.IntN(20) == 0 {
		return ""
	}
	return name
}

func (r randomPeople) email() string {
	local := r.of("l.", "", "p7", "anna_") + r.of("müller", "grossmann", "lind", "vogt", "a", "x+y", "王")
	return r.of("", local+"@example.org", local+"@Muellers-Clinic.example", local+"@b@c.example", local,
		strings.ToUpper(local)+"@gmail.example")
}

func (r randomPeople) phone() string {
	return r.of("", "+49 30 ", "030 / ", "0049", "0") + r.of("", "5556677", "12", "1234567", fmt.Sprint(r.IntN(20_000)))
}

func (r randomPeople) patient() store.Patient {
	return store.Patient{
		Name: r.name(), Email: r.email(), Phone: r.phone(), Notes: r.of("", "note"),
		BirthDate: r.of("", "1980-03-31", "1991-12-01", "2011-10-09"),
	}
}

// mistyped changes, drops, repeats or transposes up to two letters of a string.
func (r randomPeople) mistyped(text string) string {
	letters := []rune(text)
	for range r.IntN(3) {
		if len(letters) < 2 {
			break
		}
		i := r.IntN(len(letters) - 1)
		switch r.IntN(4) {
		case 0:
			letters[i] = []rune(r.of("x", "e", "n", "ü"))[0]
		case 1:
			letters = slices.Delete(letters, i, i+1)
		case 2:
			letters = slices.Insert(letters, i, letters[i])
		default:
			letters[i], letters[i+1] = letters[i+1], letters[i]
		}
	}
	return string(letters)
}

// query returns a search for a person, for a part of the person's data, or for a random string.
func (r randomPeople) query(p store.Patient) string {
	part := func(text string) string {
		letters := []rune(text)
		if len(letters) == 0 {
			return ""
		}
		from := r.IntN(len(letters))
		return string(letters[from : from+r.IntN(len(letters)-from)+1])
	}
	one := func() string {
		words := append(strings.Fields(p.Name), "")
		return r.of(p.Name, r.mistyped(p.Name), r.mistyped(words[r.IntN(len(words))]), r.mistyped(words[0]),
			part(p.Name), p.Email, part(p.Email), part(p.Email)+"@", "@"+part(p.Email), p.Phone, part(p.Phone),
			"0049"+p.Phone, p.BirthDate, r.mistyped(r.name()), r.phone(), r.email())
	}
	if r.IntN(3) == 0 {
		return one() + " " + one()
	}
	return one()
}

// findRandomPeople books, changes, moves and erases random people. It updates the index at random times, and compares
// random searches with the scan.
func findRandomPeople(t *testing.T, s store.Store, seed uint64) {
	clinic(t, s)
	r := randomPeople{rand.New(rand.NewPCG(seed, 28))}
	ctx := t.Context()
	known := []store.Patient{r.patient()}
	var booked []string
	patient := func() store.Patient {
		if r.IntN(2) == 0 {
			return known[r.IntN(len(known))]
		}
		known = append(known, r.patient())
		return known[len(known)-1]
	}
	start := func() int { return (r.IntN(800) - 600) * 24 * 60 } // days, so that there are many weeks
	for round := range 6 {
		write(t, s, func(tx store.Tx) error {
			for range 25 {
				a := booking(r.of("ada", "ben"), "checkup", start(), 30)
				a.Overbook, a.OverbookReason, a.Patient = true, "random", patient()
				if err := tx.InsertAppointment(ctx, a); err != nil {
					return err
				}
				booked = append(booked, a.ID)
			}
			for range 10 {
				a, err := tx.Appointment(ctx, booked[r.IntN(len(booked))])
				if err != nil {
					return err
				}
				if r.IntN(2) == 0 {
					a.Patient = patient()
				} else {
					at := booking("ada", "checkup", start(), 30)
					a.SlotStart, a.SlotEnd, a.BusyStart, a.BusyEnd = at.SlotStart, at.SlotEnd, at.BusyStart, at.BusyEnd
				}
				if err := tx.UpdateAppointment(ctx, a); err != nil {
					return err
				}
			}
			return nil
		})
		if round < 5 {
			mustIndex(t, s, r.IntN(50))
		} else {
			mustIndex(t, s, 1000) // everything
		}
		if who := known[r.IntN(len(known))]; who.Name != "" {
			_, err := eraseNow(t, s, store.Person{Of: []store.Identity{who.Identity()}})
			wantErr(t, "Erase", err, nil)
		}
		wantErr(t, "Check", s.Check(ctx), nil)
		for range 60 {
			text, specialistID := r.query(known[r.IntN(len(known))]), r.of("", "", "ada", "cleo")
			q := store.ParsePersonQuery(text, monday)
			got, want := findPeople(t, s, q, specialistID), scanPeople(t, s, q, specialistID)
			if !slices.Equal(got, want) {
				t.Fatalf("round %d: %q in the calendar of %q: got %d people\n%+v\nwant %d\n%+v",
					round, text, specialistID, len(got), got, len(want), want)
			}
		}
		compareNamed(t, s, known[r.IntN(len(known))].Name, r.of("", "ada"))
	}
}

// compareNamed compares AppointmentsNamed with all appointments.
func compareNamed(t *testing.T, s store.Store, name, specialistID string) {
	t.Helper()
	all, _, err := s.Appointments(t.Context(), store.AppointmentFilter{SpecialistID: specialistID, Limit: 500})
	wantErr(t, "Appointments", err, nil)
	var want, got []string
	for _, a := range all {
		if a.Patient != (store.Patient{}) && store.Fold(a.Patient.Name) == store.Fold(name) {
			want = append(want, a.ID)
		}
	}
	named, err := s.AppointmentsNamed(t.Context(), strings.ToUpper(name), specialistID, 500)
	wantErr(t, "AppointmentsNamed", err, nil)
	for _, a := range named {
		got = append(got, a.ID)
	}
	if store.Fold(strings.ToUpper(name)) == store.Fold(name) && !slices.Equal(got, want) {
		t.Errorf("appointments of %q with %q: got %v, want %v", name, specialistID, got, want)
	}
}

// findInEachWay checks that every kind of search finds the right people while the index contains none, some and all of
// the appointments.
func findInEachWay(t *testing.T, s store.Store) {
	clinic(t, s)
	for i, p := range []store.Patient{
		{Name: "Jürgen Großmann", Email: "juergen@example.org", Phone: "+49 30 5556677", BirthDate: "1980-03-31"},
		{Name: "Lena Vogt", Email: "l.vogt@post.example", Phone: "030 1234567", BirthDate: "1991-12-01"},
		{Name: "Per Lindqvist-Sand", Phone: "0171 7654321"},
	} {
		a := booking("ada", "checkup", i*30, 30)
		a.Patient = p
		mustInsert(t, s, a)
	}
	for indexed := range 4 {
		for query, want := range map[string]string{
			"großman": "Jürgen Großmann", "jeurgen": "Jürgen Großmann", "mueller": "", "vgot": "Lena Vogt",
			"lindquist": "Per Lindqvist-Sand", "sand": "Per Lindqvist-Sand", "li": "Per Lindqvist-Sand",
			"6677": "Jürgen Großmann", "0049 30 1234567": "Lena Vogt", "765": "Per Lindqvist-Sand", "999": "",
			"31.3.1980": "Jürgen Großmann", "1991-12-01": "Lena Vogt", "1.1.1991": "", "lena 31.3.1980": "",
			"l.vogt@": "Lena Vogt", "@post": "Lena Vogt", "gen@example.org": "Jürgen Großmann", "@nowhere": "",
		} {
			got := ""
			for _, f := range findPeople(t, s, store.ParsePersonQuery(query, monday), "") {
				got += f.Name
			}
			if got != want {
				t.Errorf("with %d of 3 appointments indexed, %q finds %q, want %q", indexed, query, got, want)
			}
		}
		mustIndex(t, s, 1)
	}
}

// eraseIndexed erases one of two people whose appointments are in the index. Check then proves that the index contains
// no data about the person: each of its rows must belong to a person with appointments.
func eraseIndexed(t *testing.T, s store.Store) {
	clinic(t, s)
	zoe := store.Patient{Name: "Zoe Canary", Email: "zoe@canary.example", Phone: "030 123456", BirthDate: "1980-02-29"}
	abe := store.Patient{Name: "Abe Sparrow", Email: "abe@sparrow.example", Phone: "030 654321",
		BirthDate: "1981-03-01"}
	for i, p := range []store.Patient{zoe, zoe, abe} {
		a := booking("ada", "checkup", i*30, 30)
		a.Patient = p
		mustInsert(t, s, a)
	}
	mustIndex(t, s, 10)
	_, err := eraseNow(t, s, store.Person{Email: zoe.Email})
	wantErr(t, "Erase", err, nil)
	wantErr(t, "Check", s.Check(t.Context()), nil)
	for query, want := range map[string]int{
		"zoe": 0, "canray": 0, "zoe@": 0, "@canary": 0, "123456": 0, "29.2.1980": 0,
		"abe": 1, "sparow": 1, "abe@": 1, "@sparrow": 1, "654321": 1, "1.3.1981": 1,
	} {
		if got := findPeople(t, s, store.ParsePersonQuery(query, monday), ""); len(got) != want {
			t.Errorf("%q finds %d people, want %d", query, len(got), want)
		}
	}
	for name, want := range map[string]int{"zoe canary": 0, "ABE sparrow": 1} {
		if got, err := s.AppointmentsNamed(t.Context(), name, "", 10); err != nil || len(got) != want {
			t.Errorf("appointments of %s: got %d, %v; want %d", name, len(got), err, want)
		}
	}
}

// indexInParts checks that PeopleIndexed counts the appointments inside and outside the index, and that a complete
// index does not change.
func indexInParts(t *testing.T, s store.Store) {
	clinic(t, s)
	for i := range 5 {
		mustInsert(t, s, booking("ada", "checkup", i*30, 30))
	}
	for _, rest := range []int64{5, 3, 1, 0, 0} {
		if _, got, err := s.PeopleIndexed(t.Context()); err != nil || got != rest {
			t.Errorf("the index lacks %d appointments, %v; want %d", got, err, rest)
		}
		got := findPeople(t, s, store.ParsePersonQuery("jo", monday), "")
		if len(got) != 1 || got[0].Appointments != 5 {
			t.Errorf("found %+v, want one person with 5 appointments", got)
		}
		mustIndex(t, s, 2)
	}
}

// stopFinding checks that FindPeople passes the newest people first, and stops if each returns false.
func stopFinding(t *testing.T, s store.Store) {
	clinic(t, s)
	for i := range 20 {
		a := booking("ada", "checkup", (i-10)*7*24*60, 30)
		a.Patient.Phone = fmt.Sprintf("030 %07d", i)
		mustInsert(t, s, a)
	}
	mustIndex(t, s, 15)
	var got []time.Time
	err := s.FindPeople(t.Context(), store.ParsePersonQuery("doe", monday), "", func(f store.FoundPerson) bool {
		got = append(got, f.Last)
		return len(got) < 3
	})
	wantErr(t, "FindPeople", err, nil)
	for i, at := range got {
		if want := monday.AddDate(0, 0, 7*(9-i)); !at.Equal(want) {
			t.Errorf("the last visit of person %d is %s, want %s", i, at, want)
		}
	}
	if len(got) != 3 {
		t.Errorf("got %d people, want 3", len(got))
	}
}
