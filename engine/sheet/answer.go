package sheet

import (
	"slices"
	"strings"
	"time"

	"holdfast/engine/clinic"
	"holdfast/engine/record"
	"holdfast/store"
)

// All answers are in one cell, one below another: the text of each question, a colon and the answer. A multi-line
// answer continues until the next question.

// answersCell formats the answers as a cell.
func answersCell(answers []store.Answer) string {
	lines := make([]string, len(answers))
	for i, a := range answers {
		lines[i] = oneLine(a.Question) + ": " + a.Value
	}
	return strings.Join(lines, "\n")
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// readAnswers parses such a cell with the type's current questions, in any of their languages. A line that does not
// answer a question adds a warning. If an answer does not fit its question, the row is refused.
func (r *Row) readAnswers(s *clinic.Schedule, t *store.AppointmentType, cell string, now time.Time) {
	said := make(map[string]string)
	id := ""
	for line := range strings.Lines(cell) {
		line = strings.TrimRight(line, "\r\n")
		switch q, value := questionOf(t, line); {
		case q != nil:
			id, said[q.ID] = q.ID, value
		case id != "":
			said[id] += "\n" + line
		case strings.TrimSpace(line) != "":
			r.Warnings = append(r.Warnings, Problem{"answers",
				"no_question", clipped(line), "answers no question of this appointment type and was ignored"})
		}
	}
	for id, value := range said {
		if q := t.Page.Questions[slices.IndexFunc(t.Page.Questions, func(q store.Question) bool {
			return q.ID == id
		})]; q.Kind == store.AskYesNo {
			said[id] = yesOrNo(value)
		}
	}
	var m record.Mistakes
	r.intake = clinic.CheckIntake(&m, &s.Settings, t, &clinic.Said{Answers: said}, false, now)
	for _, wrong := range m {
		r.refuse("answers", "invalid", clipped(said[strings.TrimPrefix(wrong.Field, "answers.")]), wrong.Message)
	}
}

// questionOf returns the question that a line begins with, and the rest of the line.
func questionOf(t *store.AppointmentType, line string) (*store.Question, string) {
	for i := range t.Page.Questions {
		q := &t.Page.Questions[i]
		labels := []string{q.Label, q.ID}
		for _, text := range q.Texts {
			labels = append(labels, text.Label)
		}
		for _, label := range labels {
			if label = oneLine(label); label == "" {
				continue
			}
			if rest, ok := strings.CutPrefix(line, label+":"); ok {
				return q, strings.TrimSpace(rest)
			}
		}
	}
	return nil, ""
}

// yesOrNo translates yes and no from the languages of the pages into the stored values.
func yesOrNo(text string) string {
	switch store.Fold(text) {
	case "ja", "si", "sí":
		return store.AnswerYes
	case "nein":
		return store.AnswerNo
	}
	return strings.ToLower(strings.TrimSpace(text))
}
