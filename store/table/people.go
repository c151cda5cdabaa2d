package table

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"time"

	"holdfast/store"
)

// The index of people. It is derived from the appointments whose row number is at most people_index.indexed_to. Later
// appointments are not in the index yet, and a search reads all of them. So a booking does not write to the index: the
// engine calls IndexPeople for many appointments together. A change to an indexed appointment changes the index in the
// same transaction.

// Derived lists the tables of the index.
var Derived = []string{
	"people", "people_appointments", "people_index", "people_keys", "people_term_keys", "people_terms",
}

// indexedTo returns the row number of the last appointment in the index.
func indexedTo(ctx context.Context, s Querier) (int64, error) {
	return one(ctx, s, Row.Int64, `SELECT indexed_to FROM people_index`)
}

// PeopleIndexed implements store.PersonReader.
func (r Reads) PeopleIndexed(ctx context.Context) (indexed, rest int64, err error) {
	err = r.source.Query(ctx, func(r Row) { indexed, rest = r.Int64(), r.Int64() }, `
		SELECT indexed_to, CAST({greatest}(0, COALESCE((SELECT max({row}) FROM appointments), 0) - indexed_to) AS BIGINT)
		FROM people_index`)
	return indexed, rest, err
}

// seen holds the columns of an appointment that the index needs.
type seen struct {
	row      int64
	id       string
	start    time.Time
	identity store.Identity
}

func scanSeen(r Row) seen { return seen{r.Int64(), r.Text(), r.Time(), scanIdentity(r)} }

const seenColumns = `{row}, id, slot_start, ` + identityColumns

// IndexPeople implements store.PersonWriter.
func (t *Tx) IndexPeople(ctx context.Context, limit int) error {
	to, err := indexedTo(ctx, t.source)
	if err != nil {
		return err
	}
	next, err := list(ctx, t.source, scanSeen,
		`SELECT `+seenColumns+` FROM appointments WHERE {row} > ? ORDER BY {row} LIMIT +?`, to, limit)
	if err != nil || len(next) == 0 {
		return err
	}
	var hashes []int64
	for i := range next {
		hashes = append(hashes, next[i].identity.Hash())
	}
	people := map[store.Identity]*person{}
	err = t.source.Query(ctx, func(r Row) {
		p := &person{r.Int64(), r.Int64()}
		people[scanIdentity(r)] = p
	}, `SELECT id, recency, name, email, phone, birth_date FROM people WHERE hash `+amongNumbers, numbers(hashes))
	if err != nil {
		return err
	}
	last, err := lastPerson(ctx, t.source)
	if err != nil {
		return err
	}
	var fresh []newPerson
	of := map[string]string{} // maps the appointment's row to the person's id
	for i := range next {
		a := &next[i]
		if a.identity.IsZero() {
			continue
		}
		p := people[a.identity]
		if p == nil {
			last++
			p = &person{last, store.Recency(a.start)}
			people[a.identity] = p
			fresh = append(fresh, newPerson{p, a.identity})
		}
		of[strconv.FormatInt(a.row, 10)] = strconv.FormatInt(p.id, 10)
	}
	if err := t.insertPeople(ctx, fresh); err != nil {
		return err
	}
	for i := range next {
		if a := &next[i]; !a.identity.IsZero() {
			if err := t.raiseRecency(people[a.identity], a.identity, a.start); err != nil {
				return err
			}
		}
	}
	rows, err := jsonOf(of)
	if err != nil {
		return err
	}
	err = t.to.Later(`INSERT INTO people_appointments (person_id, appointment_row)
		SELECT CAST(value AS BIGINT), CAST(key AS BIGINT) FROM {pairs}(?)`, rows)
	if err != nil {
		return err
	}
	return t.to.Later(`UPDATE people_index SET indexed_to = ?`, next[len(next)-1].row)
}

// person is a row of people.
type person struct{ id, recency int64 }

// lastPerson returns the largest id of a person.
func lastPerson(ctx context.Context, s Querier) (int64, error) {
	return one(ctx, s, Row.Int64, `SELECT COALESCE(max(id), 0) FROM people`)
}

// personOf returns the row of a spelling, or store.ErrNotFound.
func personOf(ctx context.Context, s Querier, of store.Identity) (person, error) {
	var found person
	rows := 0
	err := s.Query(ctx, func(r Row) {
		p := person{r.Int64(), r.Int64()}
		if scanIdentity(r) == of {
			found, rows = p, rows+1
		}
	}, `SELECT id, recency, name, email, phone, birth_date FROM people WHERE hash = ?`, of.Hash())
	if err == nil && rows == 0 {
		err = store.ErrNotFound
	}
	return found, err
}

// newPerson is a spelling that the index does not have yet.
type newPerson struct {
	*person
	of store.Identity
}

// insertPeople adds spellings with their terms and keys. It also adds the keys of each new term.
func (t *Tx) insertPeople(ctx context.Context, people []newPerson) error {
	var terms []string
	for _, p := range people {
		terms = append(terms, p.of.Terms()...)
	}
	slices.Sort(terms)
	fresh, err := list(ctx, t.source, Row.Text, `SELECT value FROM {texts}(?) AS fresh
		WHERE (SELECT 1 FROM people_terms WHERE term = fresh.value LIMIT 1) IS NULL`, texts(slices.Compact(terms)))
	if err != nil {
		return err
	}
	for _, term := range fresh {
		err := t.to.Later(`INSERT INTO people_term_keys (key, term) SELECT value, CAST(?2 AS TEXT) FROM {texts}(?1)`,
			texts(store.TermKeys(term)), term)
		if err != nil {
			return err
		}
	}
	for _, p := range people {
		err := t.to.Later(`INSERT INTO people (id, hash, name_key, name, email, phone, birth_date, recency)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
			p.id, p.of.Hash(), store.Fold(p.of.Name), p.of.Name, p.of.Email, p.of.Phone, p.of.BirthDate, p.recency)
		if err != nil {
			return err
		}
		err = t.to.Later(`INSERT INTO people_keys (key, person_id) SELECT value, CAST(?2 AS BIGINT) FROM {texts}(?1)`,
			texts(p.of.Keys()), p.id)
		if err != nil {
			return err
		}
		err = t.to.Later(`INSERT INTO people_terms (term, recency, person_id)
			SELECT value, CAST(?2 AS BIGINT), CAST(?3 AS BIGINT) FROM {texts}(?1)`, texts(p.of.Terms()), p.recency, p.id)
		if err != nil {
			return err
		}
	}
	return nil
}

// raiseRecency updates the recency of a person, in all terms, if an appointment starts later than all earlier ones.
func (t *Tx) raiseRecency(p *person, of store.Identity, start time.Time) error {
	recency := store.Recency(start)
	if recency <= p.recency {
		return nil
	}
	if terms := of.Terms(); len(terms) > 0 {
		err := t.to.Later(`UPDATE people_terms SET recency = ?1
			WHERE term {any}SELECT value FROM {texts}(?2){end} AND recency = ?3 AND person_id = ?4`, recency, texts(terms), p.recency, p.id)
		if err != nil {
			return err
		}
	}
	p.recency = recency
	return t.to.Later(`UPDATE people SET recency = ? WHERE id = ?`, recency, p.id)
}

// unindex removes an appointment from its person in the index. If the person then has no appointments, it also removes
// the person.
func (t *Tx) unindex(ctx context.Context, of store.Identity, row int64) error {
	p, err := personOf(ctx, t.source, of)
	if err != nil {
		return err
	}
	err = t.mustChange(`DELETE FROM people_appointments WHERE person_id = ? AND appointment_row = ?`, p.id, row)
	if err != nil {
		return err
	}
	left, err := list(ctx, t.source, Row.Int64,
		`SELECT appointment_row FROM people_appointments WHERE person_id = ? LIMIT 1`, p.id)
	if err != nil || len(left) > 0 {
		return err
	}
	terms := of.Terms()
	for _, step := range []struct {
		text string
		args []any
	}{
		{`DELETE FROM people WHERE id = ?`, []any{p.id}},
		{`DELETE FROM people_keys WHERE key {any}SELECT value FROM {texts}(?){end} AND person_id = ?`, []any{
			texts(of.Keys()), p.id,
		}},
		{`DELETE FROM people_terms WHERE term {any}SELECT value FROM {texts}(?){end} AND recency = ? AND person_id = ?`,
			[]any{texts(terms), p.recency, p.id}},
	} {
		if err := t.to.Later(step.text, step.args...); err != nil {
			return err
		}
	}
	unused, err := list(ctx, t.source, Row.Text, `SELECT value FROM {texts}(?) AS unused
		WHERE (SELECT 1 FROM people_terms WHERE term = unused.value LIMIT 1) IS NULL`, texts(terms))
	if err != nil {
		return err
	}
	for _, term := range unused {
		err := t.to.Later(`DELETE FROM people_term_keys WHERE key {any}SELECT value FROM {texts}(?){end} AND term = ?`,
			texts(store.TermKeys(term)), term)
		if err != nil {
			return err
		}
	}
	return nil
}

// reindex updates the index for a change to an appointment. Call it before the appointment's row is changed. to is the
// new identity; the zero Identity means that the patient is erased.
func (t *Tx) reindex(ctx context.Context, id string, to store.Identity, start time.Time) error {
	a, err := one(ctx, t.source, scanSeen, `SELECT `+seenColumns+` FROM appointments
		WHERE id = ? AND {row} <= (SELECT indexed_to FROM people_index)`, id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil // it is not in the index yet
	case err != nil:
		return err
	}
	if a.identity == to {
		if to.IsZero() {
			return nil
		}
		p, err := personOf(ctx, t.source, to)
		if err != nil {
			return err
		}
		return t.raiseRecency(&p, to, start)
	}
	if !a.identity.IsZero() {
		if err := t.unindex(ctx, a.identity, a.row); err != nil {
			return err
		}
	}
	if to.IsZero() {
		return nil
	}
	p, err := personOf(ctx, t.source, to)
	if errors.Is(err, store.ErrNotFound) {
		last, failed := lastPerson(ctx, t.source)
		if failed != nil {
			return failed
		}
		p = person{last + 1, store.Recency(start)}
		err = t.insertPeople(ctx, []newPerson{{&p, to}})
	}
	if err != nil {
		return err
	}
	if err := t.raiseRecency(&p, to, start); err != nil {
		return err
	}
	return t.to.Later(`INSERT INTO people_appointments (person_id, appointment_row) VALUES (?, ?)`, p.id, a.row)
}

// texts returns the argument for {texts} and {each}: a JSON array.
func texts(list []string) string {
	if len(list) == 0 {
		return "[]"
	}
	text, err := json.Marshal(list)
	if err != nil {
		panic(err) // a list of strings is always valid
	}
	return string(text)
}
