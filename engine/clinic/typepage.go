package clinic

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"holdfast/engine/record"
	"holdfast/store"
)

// This file checks the texts and questions of a type on the booking page (store.TypePage).

const (
	maxTypeGroups = 50
	maxQuestions  = 20
	maxOptions    = 30
	maxLanguages  = 20
)

// TypeGroup is a heading on the booking page with the types below it. A type refers to it by its id. The headings
// appear in the order of the settings.
type TypeGroup struct {
	ID    string            `json:"id"`
	Name  string            `json:"name"`
	Names map[string]string `json:"names,omitempty"` // keyed by language
}

// NameIn returns the name of a type in a language. If the type has no name in that language, it returns the type's
// default name.
func NameIn(t *store.AppointmentType, language string) string {
	if text := t.Page.Texts[language]; text.Name != "" {
		return text.Name
	}
	return t.Name
}

// OrderAppointmentTypes moves the given types to the front, in the given order. The others follow in their existing
// order. Errors: *ValidationError.
func (cl *Clinic) OrderAppointmentTypes(ctx context.Context, actor record.Actor, ids []string) error {
	c := ScheduleChange{Actor: actor, Action: record.ActionAppointmentTypesOrdered, Subject: "clinic"}
	return cl.changeStored(ctx, &c, func(tx store.Tx, s *store.Schedule) error {
		var before []string
		for i := range s.AppointmentTypes {
			before = append(before, s.AppointmentTypes[i].ID)
		}
		var m record.Mistakes
		for i, id := range ids {
			switch {
			case !slices.Contains(before, id):
				m.Add(indexed("ids", i), "no appointment type has the id %q", record.Clip(id))
			case slices.Contains(ids[:i], id):
				m.Add(indexed("ids", i), "%q is named twice", id)
			}
		}
		if err := m.Err(); err != nil {
			return err
		}
		after := slices.Clone(ids)
		for _, id := range before {
			if !slices.Contains(ids, id) {
				after = append(after, id)
			}
		}
		c.before, c.after = before, after
		for position, id := range after {
			t := typeIn(s, id)
			if t.Position == position {
				continue
			}
			t.Position = position
			if err := tx.PutAppointmentType(ctx, *t); err != nil {
				return err
			}
		}
		return nil
	})
}

// checkTypePage trims and checks the page texts of a type. groups are the groups in the settings.
func checkTypePage(m *record.Mistakes, at string, p *store.TypePage, groups []TypeGroup) {
	p.Price, p.CancelText, p.VideoLink = strings.TrimSpace(p.Price), strings.TrimSpace(p.CancelText),
		strings.TrimSpace(p.VideoLink)
	if p.Group != "" && !slices.ContainsFunc(groups, func(g TypeGroup) bool { return g.ID == p.Group }) {
		m.Add(at+"group", "no group has the id %q; the settings list all groups under typeGroups", record.Clip(p.Group))
	}
	if p.Color != "" && !slices.Contains(hueNames(), p.Color) {
		m.Add(at+"color", "must be one of %s", strings.Join(hueNames(), ", "))
	}
	record.CheckText(m, at+"price", p.Price, 100, false)
	record.CheckText(m, at+"cancelText", p.CancelText, 1000, true)
	checkLanguages(m, at+"texts", slices.Collect(maps.Keys(p.Texts)))
	texts := make(map[string]store.TypeText, len(p.Texts))
	for language, text := range p.Texts {
		field := at + "texts." + record.Clip(language) + "."
		text = store.TypeText{Name: strings.TrimSpace(text.Name), Description: strings.TrimSpace(text.Description),
			Price: strings.TrimSpace(text.Price), CancelText: strings.TrimSpace(text.CancelText)}
		record.CheckText(m, field+"name", text.Name, 200, false)
		record.CheckText(m, field+"description", text.Description, 2000, true)
		record.CheckText(m, field+"price", text.Price, 100, false)
		record.CheckText(m, field+"cancelText", text.CancelText, 1000, true)
		if text != (store.TypeText{}) {
			texts[language] = text
		}
	}
	if p.Texts = texts; len(texts) == 0 {
		p.Texts = nil
	}
	p.Questions = checkQuestions(m, at, p.Questions)
	if p.ApprovalHours != 0 && (p.ApprovalHours < 1 || p.ApprovalHours > MaxApprovalHours) {
		m.Add(at+"approvalHours", "must be 1 to %d hours, or 0 for the default of %d", MaxApprovalHours,
			DefaultApprovalHours)
	}
	if p.VideoLink != "" {
		if !p.Remote {
			m.Add(at+"videoLink", "is only for a remote type; set remote, too")
		}
		checkLink(m, at+"videoLink", strings.ReplaceAll(p.VideoLink, "{appointment}", "appointment"))
	}
}

// checkQuestions trims and checks a type's questions. A question without an id gets the next free one.
func checkQuestions(m *record.Mistakes, at string, list []store.Question) []store.Question {
	if len(list) > maxQuestions {
		m.Add(at+"questions", "at most %d questions", maxQuestions)
		return list
	}
	if len(list) == 0 {
		return nil
	}
	list = slices.Clone(list)
	nameQuestions(list)
	for i := range list {
		q, field := &list[i], at+indexed("questions", i)+"."
		if slices.ContainsFunc(list[:i], func(earlier store.Question) bool { return earlier.ID == q.ID }) {
			m.Add(field+"id", "%q is the id of another question", record.Clip(q.ID))
		}
		checkQuestion(m, field, q)
	}
	return list
}

// nameQuestions gives each question without an id the first of q01, q02 … that no question of the list has.
func nameQuestions(list []store.Question) {
	taken := make(map[string]bool)
	for i := range list {
		taken[list[i].ID] = true
	}
	n := 1
	for i := range list {
		for q := &list[i]; q.ID == ""; n++ {
			if id := fmt.Sprintf("q%02d", n); !taken[id] {
				q.ID = id
			}
		}
	}
}

// checkQuestion trims and checks one question. field is its path, with a trailing dot.
func checkQuestion(m *record.Mistakes, field string, q *store.Question) {
	record.CheckID(m, field+"id", q.ID)
	if q.Label = strings.TrimSpace(q.Label); q.Label == "" {
		m.Add(field+"label", "enter the question")
	}
	record.CheckText(m, field+"label", q.Label, 300, false)
	q.Options = trimmed(q.Options)
	switch {
	case q.Kind != store.AskText && q.Kind != store.AskChoice && q.Kind != store.AskYesNo:
		m.Add(field+"kind", "must be text, choice or yesno")
	case q.Kind == store.AskChoice && (len(q.Options) < 2 || len(q.Options) > maxOptions):
		m.Add(field+"options", "a choice question must have 2 to %d options", maxOptions)
	case q.Kind != store.AskChoice && len(q.Options) > 0:
		m.Add(field+"options", "only a choice question can have options")
	}
	for i, o := range q.Options {
		record.CheckText(m, field+indexed("options", i), o, 200, false)
		if o == "" || slices.Contains(q.Options[:i], o) {
			m.Add(field+indexed("options", i), "must not be empty or a duplicate")
		}
	}
	languages := slices.Sorted(maps.Keys(q.Texts))
	checkLanguages(m, field+"texts", languages)
	if len(q.Texts) == 0 {
		q.Texts = nil
	}
	for _, language := range languages {
		text, in := q.Texts[language], field+"texts."+record.Clip(language)+"."
		record.CheckText(m, in+"label", text.Label, 300, false)
		if len(text.Options) > len(q.Options) {
			m.Add(in+"options", "has more options than the question")
		}
		for i, o := range text.Options {
			record.CheckText(m, in+indexed("options", i), o, 200, false)
		}
	}
}

// checkLanguages refuses tags that are not valid language tags for a text.
func checkLanguages(m *record.Mistakes, field string, tags []string) {
	if len(tags) > maxLanguages {
		m.Add(field, "at most %d languages", maxLanguages)
	}
	for _, tag := range slices.Sorted(slices.Values(tags)) {
		if !record.ValidLocale(tag) || strings.ToLower(tag) != tag {
			m.Add(field+"."+record.Clip(tag), "must be a lower-case language tag, like en or de")
		}
	}
}

// checkLink refuses a link that is not the http or https address of a page.
func checkLink(m *record.Mistakes, field, link string) {
	_, after, found := strings.Cut(link, "://")
	if !strings.HasPrefix(link, "https://") && !strings.HasPrefix(link, "http://") || !found || after == "" ||
		len(link) > 500 || strings.ContainsAny(link, " \t\r\n\"<>") {
		m.Add(field, "must be an address like https://example.org/privacy")
	}
	record.CheckText(m, field, link, 500, false)
}

// checkNamed trims and checks the common fields of the lists in the settings: a unique id, a name, and names by
// language. field is the path of the list entry, with a trailing dot. what is the word for the entry in error messages.
func checkNamed(m *record.Mistakes, field, what, id string, name *string, names map[string]string,
	seen map[string]bool) {
	*name = strings.TrimSpace(*name)
	record.CheckID(m, field+"id", id)
	if seen[id] {
		m.Add(field+"id", "%q occurs twice", record.Clip(id))
	}
	seen[id] = true
	if *name == "" {
		m.Add(field+"name", "give the %s a name", what)
	}
	record.CheckText(m, field+"name", *name, 100, false)
	checkNames(m, field+"names", names, 100)
}

// checkTypeGroups checks the groups in the settings.
func checkTypeGroups(m *record.Mistakes, groups []TypeGroup) {
	if len(groups) > maxTypeGroups {
		m.Add("typeGroups", "at most %d groups", maxTypeGroups)
		return
	}
	seen := make(map[string]bool)
	for i := range groups {
		g, field := &groups[i], indexed("typeGroups", i)+"."
		checkNamed(m, field, "group", g.ID, &g.Name, g.Names, seen)
	}
}

// checkNames checks the versions of a one-line text in several languages. most is its maximum length, in characters.
func checkNames(m *record.Mistakes, field string, names map[string]string, most int) {
	checkLanguages(m, field, slices.Collect(maps.Keys(names)))
	for language, name := range names {
		record.CheckText(m, field+"."+record.Clip(language), name, most, false)
	}
}

func trimmed(list []string) []string {
	if len(list) == 0 {
		return nil
	}
	out := make([]string, len(list))
	for i := range list {
		out[i] = strings.TrimSpace(list[i])
	}
	return out
}

// checkSpecialistPage trims and checks the page texts of a specialist.
func checkSpecialistPage(m *record.Mistakes, at string, p *store.SpecialistPage) {
	p.Line = strings.TrimSpace(p.Line)
	record.CheckText(m, at+"line", p.Line, 120, false)
	checkNames(m, at+"lines", p.Lines, 120)
	if len(p.Lines) == 0 {
		p.Lines = nil
	}
}

// groupsOf returns the groups in the stored settings.
func groupsOf(s *store.Schedule) []TypeGroup {
	settings, err := readSettings(s.Clinic.Settings)
	if err != nil {
		return nil
	}
	return settings.TypeGroups
}

// checkUse refuses settings without a group or a place that the schedule uses.
func (s *Settings) checkUse(m *record.Mistakes, schedule *store.Schedule, now time.Time) {
	for i := range schedule.AppointmentTypes {
		t := &schedule.AppointmentTypes[i]
		if t.Page.Group != "" && !slices.ContainsFunc(s.TypeGroups, func(g TypeGroup) bool {
			return g.ID == t.Page.Group
		}) {
			m.Add("typeGroups", "the group %q contains the appointment type %q; move that type to another group "+
				"first", t.Page.Group,
				t.Name)
			break
		}
	}
	used := usedPlaces(schedule, now)
	for _, id := range slices.Sorted(maps.Keys(used)) {
		if !slices.ContainsFunc(s.Places, func(p Place) bool { return p.ID == id }) {
			m.Add("places", "the hours of the specialist %q are at %q; move these hours to another place "+
				"first", used[id], id)
			return
		}
	}
}
