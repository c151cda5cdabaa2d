package table

import (
	"context"
	"math"
	"slices"
	"strconv"
	"time"

	"holdfast/store"
)

// FindPeople implements store.PersonReader.
func (r Reads) FindPeople(
	ctx context.Context, q store.PersonQuery, specialistID string, each func(store.FoundPerson) bool,
) error {
	if q.IsEmpty() {
		return nil
	}
	return r.source.Moment(ctx, func(source Querier) error {
		return findPeople(ctx, source, q, specialistID, each)
	})
}

func findPeople(
	ctx context.Context, source Querier, q store.PersonQuery, specialistID string, each func(store.FoundPerson) bool,
) error {
	s := search{
		ctx: ctx, source: source, query: q, specialistID: specialistID, each: each,
		evaluated: map[int64]bool{}, waiting: map[int][]store.FoundPerson{},
	}
	if err := s.readRest(); err != nil {
		return err
	}
	if ranges, ok := q.Ranges(); ok {
		if err := s.readKeys(ranges); err != nil {
			return err
		}
	} else {
		rarest, err := s.rarest()
		if err != nil {
			return err
		}
		for errors, terms := range rarest {
			if err := s.readTerms(errors, terms); err != nil || s.done {
				return err
			}
		}
	}
	s.passRest()
	return nil
}

// search is the state of one call of FindPeople.
type search struct {
	ctx          context.Context
	source       Querier
	query        store.PersonQuery
	specialistID string
	each         func(store.FoundPerson) bool

	evaluated map[int64]bool              // ids of the indexed people that were compared with the query
	waiting   map[int][]store.FoundPerson // the people to pass to each, by score
	done      bool                        // each has returned false
}

// atOnce is the maximum number of people in one statement.
const atOnce = 400

// readRest finds matching people among the appointments that are not in the index yet. It also counts the indexed
// appointments of the same people.
func (s *search) readRest() error {
	to, err := indexedTo(s.ctx, s.source)
	if err != nil {
		return err
	}
	var people []*store.FoundPerson
	at := map[store.Identity]*store.FoundPerson{} // nil means no match
	err = s.source.Query(s.ctx, func(r Row) {
		a := scanSeen(r)
		f, known := at[a.identity]
		if !known {
			if score, ok := s.query.Match(&a.identity); ok {
				f = &store.FoundPerson{Identity: a.identity, Score: score}
				people = append(people, f)
			}
			at[a.identity] = f
		}
		if f != nil {
			f.Add(a.id, a.start)
		}
	}, `SELECT `+seenColumns+` FROM appointments
		WHERE {row} > ?1 AND patient_search <> '' AND (CAST(?2 AS TEXT) = '' OR specialist_id = ?2)`, to, s.specialistID)
	if err != nil {
		return err
	}
	for part := range slices.Chunk(people, atOnce) {
		hashes := make([]int64, len(part))
		for i, f := range part {
			hashes[i] = f.Hash()
		}
		indexed := map[int64]*store.FoundPerson{}
		var ids []int64
		err := s.source.Query(s.ctx, func(r Row) {
			id := r.Int64()
			if f := at[scanIdentity(r)]; f != nil {
				indexed[id], ids = f, append(ids, id)
				s.evaluated[id] = true
			}
		}, `SELECT id, name, email, phone, birth_date FROM people WHERE hash `+amongNumbers, numbers(hashes))
		if err != nil {
			return err
		}
		if err := s.appointmentsOf(ids, indexed); err != nil {
			return err
		}
	}
	for _, f := range people {
		s.waiting[f.Score] = append(s.waiting[f.Score], *f)
	}
	return nil
}

// appointmentsOf adds the indexed appointments of people to their counts. people maps the id of each person.
func (s *search) appointmentsOf(ids []int64, people map[int64]*store.FoundPerson) error {
	if len(ids) == 0 {
		return nil
	}
	return s.source.Query(s.ctx, func(r Row) { people[r.Int64()].Add(r.Text(), r.Time()) }, `
		SELECT p.person_id, a.id, a.slot_start
		FROM people_appointments AS p JOIN appointments AS a ON a.{row} = p.appointment_row
		WHERE p.person_id `+amongNumbers+` AND (CAST(?2 AS TEXT) = '' OR a.specialist_id = ?2)`,
		numbers(ids), s.specialistID)
}

// evaluate compares indexed people with the query and adds the matches to waiting.
func (s *search) evaluate(ids []int64) error {
	ids = slices.DeleteFunc(ids, func(id int64) bool {
		known := s.evaluated[id]
		s.evaluated[id] = true
		return known
	})
	for part := range slices.Chunk(ids, atOnce) {
		found := map[int64]*store.FoundPerson{}
		var matched []int64
		err := s.source.Query(s.ctx, func(r Row) {
			id, of := r.Int64(), scanIdentity(r)
			if score, ok := s.query.Match(&of); ok {
				found[id], matched = &store.FoundPerson{Identity: of, Score: score}, append(matched, id)
			}
		}, `SELECT id, name, email, phone, birth_date FROM people WHERE id `+amongNumbers, numbers(part))
		if err != nil {
			return err
		}
		if err := s.appointmentsOf(matched, found); err != nil {
			return err
		}
		for _, id := range matched {
			if f := found[id]; f.Appointments > 0 {
				s.waiting[f.Score] = append(s.waiting[f.Score], *f)
			}
		}
	}
	return nil
}

// readKeys evaluates all people with a key in one of the ranges.
func (s *search) readKeys(ranges []store.KeyRange) error {
	var ids []int64
	for _, keys := range ranges {
		more, err := list(s.ctx, s.source, Row.Int64,
			`SELECT person_id FROM people_keys WHERE key >= ? AND key <= ?`, keys.From, keys.To)
		if err != nil {
			return err
		}
		ids = append(ids, more...)
	}
	return s.evaluate(ids)
}

// termClasses is the number of classes of terms: names with 0, 1 or 2 errors, and email addresses.
const termClasses = 4

// queryPart contains the terms that match one part of a query, by the number of errors. Each person who matches the
// query has a term of every part.
type queryPart [termClasses][]string

// rarest returns the part of the query that the fewest people match. It counts at most 5,000 people for each part, or
// at most 50,000 if every part matches more. Counting 50,000 people takes milliseconds; reading them takes half a
// second.
func (s *search) rarest() (rarest queryPart, err error) {
	parts, err := s.parts()
	if err != nil || len(parts) == 0 {
		return rarest, err
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	for _, limit := range []int{5000, 50_000} {
		fewest := math.MaxInt
		for _, p := range parts {
			n, err := s.count(p, limit)
			if err != nil {
				return rarest, err
			}
			if n < fewest {
				rarest, fewest = p, n
			}
		}
		if fewest < limit {
			break
		}
	}
	return rarest, nil
}

// count returns the number of people who match a part of the query, but at most limit.
func (s *search) count(p queryPart, limit int) (int, error) {
	return one(s.ctx, s.source, Row.Int, `SELECT count(*) FROM (
		SELECT 1 FROM people_terms WHERE term {any}SELECT value FROM {texts}(?){end} LIMIT +?) AS bounded`,
		texts(slices.Concat(p[:]...)), limit)
}

// parts returns the parts of the query that can be found by terms.
func (s *search) parts() (all []queryPart, err error) {
	for _, exact := range s.query.Exact {
		keys, ok := store.DomainRange(exact)
		if !ok {
			continue
		}
		var p queryPart
		if p[0], err = s.terms([]store.KeyRange{keys}); err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	for _, word := range s.query.Words {
		names, emails := store.WordRanges(word)
		terms, err := s.terms(slices.Concat(names, emails))
		if err != nil {
			return nil, err
		}
		var p queryPart
		for _, term := range terms {
			if errors := store.TermErrors(word, term); errors >= 0 {
				p[errors] = append(p[errors], term)
			}
		}
		all = append(all, p)
	}
	return all, nil
}

// terms returns the terms with a key in one of the ranges, each once.
func (s *search) terms(ranges []store.KeyRange) (all []string, err error) {
	for _, keys := range ranges {
		more, err := list(s.ctx, s.source, Row.Text,
			`SELECT term FROM people_term_keys WHERE key >= ? AND key <= ?`, keys.From, keys.To)
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// readTerms evaluates the people who have one of the terms, those with the newest appointments first. It passes a match
// to each as soon as no unread person can come before it. Earlier calls have read every person whose score is less than
// errors.
func (s *search) readTerms(errors int, terms []string) error {
	if len(terms) == 0 {
		s.pass(errors, time.Time{})
		return nil
	}
	asked := texts(terms)
	week := store.Recency(time.Now())
	to := int64(math.MaxInt64)
	for from, weeks := week+1, int64(1); ; weeks *= 2 {
		if weeks > 1<<13 {
			from = math.MinInt64
		}
		ids, err := list(s.ctx, s.source, Row.Int64, `SELECT person_id FROM people_terms
			WHERE term {any}SELECT value FROM {texts}(?){end} AND recency >= ? AND recency <= ?`, asked, from, to)
		if err != nil {
			return err
		}
		if err := s.evaluate(ids); err != nil {
			return err
		}
		if from == math.MinInt64 {
			s.pass(errors, time.Time{})
			return nil
		}
		if s.pass(errors, store.RecencyBegins(from)); s.done {
			return nil
		}
		to = from - 1
		from -= weeks
	}
}

// pass passes the waiting people with this score to each, if their newest appointment is not before since. If since is
// zero, it passes all of them.
func (s *search) pass(score int, since time.Time) {
	all := s.waiting[score]
	slices.SortFunc(all, func(a, b store.FoundPerson) int { return a.Compare(&b) })
	for i := range all {
		if s.done || !since.IsZero() && all[i].Last.Before(since) {
			s.waiting[score] = all[i:]
			return
		}
		s.done = !s.each(all[i])
	}
	s.waiting[score] = nil
}

// passRest passes all waiting people to each, in the order of their scores.
func (s *search) passRest() {
	for score := 0; len(s.waiting) > 0 && !s.done; score++ {
		s.pass(score, time.Time{})
		delete(s.waiting, score)
	}
}

// amongNumbers is a condition: the left side is one of the numbers in the first argument. The function numbers creates
// that argument.
const amongNumbers = `{any}SELECT CAST(value AS BIGINT) FROM {texts}(?1){end}`

func numbers(list []int64) string {
	all := make([]string, len(list))
	for i, n := range list {
		all[i] = strconv.FormatInt(n, 10)
	}
	return texts(all)
}
