package engine

import (
	"context"
	"encoding/json"
	"strings"

	"holdfast/store"
)

// UpdateClinic lets edit change the clinic itself. *ValidationError.
func (e *Engine) UpdateClinic(ctx context.Context, actor Actor, edit func(*store.Clinic)) (store.Clinic, error) {
	e.schedule.change.Lock()
	defer e.schedule.change.Unlock()
	before := e.schedule.current.Load().Clinic
	c := before
	edit(&c)
	var m mistakes
	checkClinic(&m, "", "contact.", &c)
	if err := m.err(); err != nil {
		return c, err
	}
	before.Settings, c.Settings = nil, before.Settings
	audited := c
	audited.Settings = nil
	return c, e.changeSchedule(ctx, scheduleChange{actor: actor, action: "clinic.changed", subject: "clinic", before: before, after: audited},
		func(tx store.Tx) error { return tx.PutClinic(ctx, c) })
}

// UpdateSettings lets edit change what the owner has chosen. *ValidationError.
func (e *Engine) UpdateSettings(ctx context.Context, actor Actor, edit func(*Settings)) (Settings, error) {
	e.schedule.change.Lock()
	defer e.schedule.change.Unlock()
	before := e.Settings()
	after := before
	edit(&after)
	var m mistakes
	checkSettings(&m, &after)
	if err := m.err(); err != nil {
		return before, err
	}
	raw, err := json.Marshal(after)
	if err != nil {
		return before, err
	}
	c := e.schedule.current.Load().Clinic
	c.Settings = raw
	return after, e.changeSchedule(ctx, scheduleChange{actor: actor, action: "settings.changed", subject: "clinic", before: before.audited(), after: after.audited()},
		func(tx store.Tx) error { return tx.PutClinic(ctx, c) })
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
