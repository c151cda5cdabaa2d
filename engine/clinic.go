package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"holdfast/store"
)

// UpdateClinic lets edit change the clinic itself. *ValidationError.
func (e *Engine) UpdateClinic(ctx context.Context, actor Actor, edit func(*store.Clinic)) (store.Clinic, error) {
	e.schedule.change.Lock()
	defer e.schedule.change.Unlock()
	var after store.Clinic
	c := scheduleChange{actor: actor, action: "clinic.changed", subject: "clinic"}
	err := e.changeSchedule(ctx, &c, func(tx store.Tx) error {
		s, err := storedSchedule(ctx, tx)
		if err != nil {
			return err
		}
		after = s.Clinic
		edit(&after)
		var m mistakes
		checkClinic(&m, "", "contact.", &after)
		if err := m.err(); err != nil {
			return err
		}
		after.Settings = s.Clinic.Settings
		before, audited := s.Clinic, after
		before.Settings, audited.Settings = nil, nil
		c.before, c.after = before, audited
		return tx.PutClinic(ctx, after)
	})
	return after, err
}

// UpdateSettings lets edit change what the owner has chosen. *ValidationError.
func (e *Engine) UpdateSettings(ctx context.Context, actor Actor, edit func(*Settings)) (Settings, error) {
	e.schedule.change.Lock()
	defer e.schedule.change.Unlock()
	var after Settings
	c := scheduleChange{actor: actor, action: "settings.changed", subject: "clinic"}
	err := e.changeSchedule(ctx, &c, func(tx store.Tx) error {
		s, err := storedSchedule(ctx, tx)
		if err != nil {
			return err
		}
		before, err := readSettings(s.Clinic.Settings)
		if err != nil {
			return err
		}
		after = before
		edit(&after)
		var m mistakes
		checkSettings(&m, &after, &before)
		if err := m.err(); err != nil {
			return err
		}
		c.before, c.after = before.audited(), after.audited()
		if s.Clinic.Settings, err = json.Marshal(after); err != nil {
			return err
		}
		return tx.PutClinic(ctx, s.Clinic)
	})
	return after, err
}

// storedSchedule is the schedule that a change is made on, as the transaction has it.
func storedSchedule(ctx context.Context, tx store.Tx) (store.Schedule, error) {
	s, err := tx.Schedule(ctx)
	s.Clinic.Timezone = cmp.Or(s.Clinic.Timezone, unsetZone)
	return s, err
}

// checkClinic names the fields as the document does that they came in: at stands before its own, contact before the ways to
// reach it.
func checkClinic(m *mistakes, at, contact string, c *store.Clinic) {
	for _, s := range []*string{&c.Name, &c.Locale, &c.Phone, &c.Email, &c.Address, &c.Website} {
		*s = strings.TrimSpace(*s)
	}
	if c.Name == "" {
		m.add(at+"name", "give the clinic a name")
	}
	checkText(m, at+"name", c.Name, 200, false)
	checkText(m, contact+"address", c.Address, 500, true)
	checkZone(m, at+"timezone", c.Timezone)
	if c.Locale == "" {
		c.Locale = "en"
	}
	if !validLocale(c.Locale) {
		m.add(at+"locale", "must be a language tag like en, de or pt-BR")
	}
	if c.Phone != "" {
		checkPhone(m, contact+"phone", c.Phone)
	}
	if c.Email != "" {
		checkEmail(m, contact+"email", c.Email)
	}
	if c.Website != "" && (len(c.Website) > 500 || !strings.HasPrefix(c.Website, "https://") && !strings.HasPrefix(c.Website, "http://")) {
		m.add(contact+"website", "must be an address like https://example.org")
	}
	checkText(m, contact+"website", c.Website, 500, false)
}

// validLocale accepts the shape of BCP 47: groups of 1 to 8 letters or digits, joined by hyphens, the first of letters.
func validLocale(s string) bool {
	groups := strings.Split(s, "-")
	if len(s) > 35 || len(groups[0]) < 2 {
		return false
	}
	for i, g := range groups {
		if len(g) < 1 || len(g) > 8 {
			return false
		}
		for _, r := range g {
			letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
			if !letter && !(i > 0 && r >= '0' && r <= '9') {
				return false
			}
		}
	}
	return true
}
