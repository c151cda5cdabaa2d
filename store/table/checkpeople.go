package table

import (
	"context"
	"encoding/binary"
	"hash/fnv"

	"holdfast/store"
)

// People compares the index of people with the appointments. The violations contain no personal data.
func (c Check) People(ctx context.Context) error {
	if err := c.countIndexed(ctx); err != nil {
		return err
	}
	if err := c.peopleRows(ctx); err != nil {
		return err
	}
	return c.none(ctx, []rule{
		{"people: appointment %s belongs to another person in the index", `
			SELECT a.id FROM people_appointments l JOIN people p ON p.id = l.person_id
			JOIN appointments a ON a.{row} = l.appointment_row
			WHERE a.patient_name <> p.name OR a.patient_email <> p.email OR a.patient_phone <> p.phone
			   OR a.patient_birth_date <> p.birth_date`},
		{"people: appointment %s is newer than its person in the index", `
			SELECT a.id FROM people_appointments l JOIN people p ON p.id = l.person_id
			JOIN appointments a ON a.{row} = l.appointment_row WHERE a.slot_start / 604800000 > p.recency`},
		{"people: person %s of the index has no appointment", `
			SELECT CAST(id AS TEXT) FROM people WHERE id NOT IN (SELECT person_id FROM people_appointments)`},
	})
}

// countIndexed checks that each indexed appointment of a patient has exactly one row in the index.
func (c Check) countIndexed(ctx context.Context) error {
	return c.Query(ctx, func(r Row) {
		if want, linked, have := r.Int64(), r.Int64(), r.Int64(); want != linked || want != have {
			c.Violation("people: the index has %d appointments in %d rows instead of %d", have, linked, want)
		}
	}, `SELECT
		(SELECT count(*) FROM appointments WHERE {row} <= indexed_to AND (patient_name <> '' OR patient_email <> ''
			OR patient_phone <> '' OR patient_birth_date <> '')),
		(SELECT count(*) FROM people_appointments),
		(SELECT count(*) FROM appointments WHERE {row} <= indexed_to
			AND {row} IN (SELECT appointment_row FROM people_appointments))
		FROM people_index`)
}

// peopleRows computes the terms and keys of the people in the index, and the keys of the terms, and compares them with
// the stored ones. It adds a hash of each expected row and subtracts a hash of each stored row. So the order of the
// rows does not matter, and no row stays in memory.
func (c Check) peopleRows(ctx context.Context) error {
	var keys, terms, termKeys int64
	for _, read := range []struct {
		each func(Row)
		text string
	}{
		{func(r Row) {
			id, hash, name, recency, of := r.Int64(), r.Int64(), r.Text(), r.Int64(), scanIdentity(r)
			if hash != of.Hash() || name != store.Fold(of.Name) {
				c.Violation("people: person %d of the index has the hash or the folded name of another", id)
			}
			for _, key := range of.Keys() {
				keys += rowHash(key, "", id, 0)
			}
			for _, term := range of.Terms() {
				terms += rowHash(term, "", id, recency)
			}
		}, `SELECT id, hash, name_key, recency, name, email, phone, birth_date FROM people`},
		{func(r Row) { keys -= rowHash(r.Text(), "", r.Int64(), 0) }, `SELECT key, person_id FROM people_keys`},
		{func(r Row) { terms -= rowHash(r.Text(), "", r.Int64(), r.Int64()) },
			`SELECT term, person_id, recency FROM people_terms`},
		{func(r Row) {
			term := r.Text()
			for _, key := range store.TermKeys(term) {
				termKeys += rowHash(key, term, 0, 0)
			}
		}, `SELECT DISTINCT term FROM people_terms`},
		{func(r Row) { termKeys -= rowHash(r.Text(), r.Text(), 0, 0) }, `SELECT key, term FROM people_term_keys`},
	} {
		if err := c.Query(ctx, read.each, read.text); err != nil {
			return err
		}
	}
	for _, sum := range []struct {
		of   string
		left int64
	}{{"keys of people", keys}, {"terms of people", terms}, {"keys of terms", termKeys}} {
		if sum.left != 0 {
			c.Violation("people: the %s in the index are not those of its people", sum.of)
		}
	}
	return nil
}

// rowHash returns a hash of one row of the index.
func rowHash(a, b string, id, recency int64) int64 {
	h := fnv.New64a()
	var numbers [16]byte
	binary.LittleEndian.PutUint64(numbers[:8], uint64(id))
	binary.LittleEndian.PutUint64(numbers[8:], uint64(recency))
	h.Write(numbers[:])
	h.Write([]byte(a))
	h.Write([]byte{0})
	h.Write([]byte(b))
	return int64(h.Sum64())
}
