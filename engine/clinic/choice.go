package clinic

import (
	"context"

	"holdfast/engine/record"
	"holdfast/engine/token"
	"holdfast/store"
)

// Choice is a server that an owner chooses in the browser: the mail server, the SMS gateway or the identity provider.
// It is safe for concurrent use.
//
// The choice is stored in the clinic's settings, which every node reads from the store's feed. The secret is sealed
// with the keys in secret.key for one use, that is, for the fields that determine where the secret is sent. If one of
// these fields changes, the secret must be entered again, so a caller cannot have it sent to their own server. The
// secret never appears in a response, an audit entry or a file.
type Choice[T any] struct {
	clinic *Clinic
	keys   *token.Keys

	changed  record.Action // the audit action for a change by an owner
	resealed record.Action // the audit action for resealing the same secret with a newer key
	field    func(*Settings) **T
	sealed   func(*T) *string
	use      func(*T) string // the purpose that the secret is sealed for
	audited  func(*T) any    // the choice in the audit log, which shows only whether there is a secret
}

// ChoiceSetup describes the stored choice.
type ChoiceSetup[T any] struct {
	Chosen     *T   // without its secret; nil means no choice
	IsSet      bool // the choice has a secret
	IsReadable bool // this server has the key to the secret, or no secret is needed
}

// Stored returns the stored choice with its sealed secret, or nil if there is none. The caller must not change it.
func (c *Choice[T]) Stored() *T {
	s := c.clinic.Settings()
	return *c.field(&s)
}

// Setup describes the stored choice.
func (c *Choice[T]) Setup() (s ChoiceSetup[T]) {
	if stored := c.Stored(); stored != nil {
		shown := *stored
		*c.sealed(&shown) = ""
		s.Chosen, s.IsSet = &shown, *c.sealed(stored) != ""
		_, s.IsReadable = c.Secret(stored)
	}
	return s
}

// Secret returns a stored choice's secret, or an empty string if it has none. isReadable reports whether this server
// has the key to it.
func (c *Choice[T]) Secret(stored *T) (secret string, isReadable bool) {
	if *c.sealed(stored) == "" {
		return "", true
	}
	return c.keys.Current().Open(*c.sealed(stored), c.use(stored))
}

// HasUse reports whether the stored choice has the same use as other, so that its secret can be used for other.
func (c *Choice[T]) HasUse(stored, other *T) bool {
	return stored != nil && c.use(stored) == c.use(other)
}

// SecretFor returns the secret for a choice that replaces before: the one that was entered, or else the stored one if
// it has the same use. If there is neither, it adds a mistake to the field, with missing as its message.
func (c *Choice[T]) SecretFor(m *record.Mistakes, after, before *T, field, typed, missing string) string {
	switch {
	case typed != "":
		return typed
	case !c.HasUse(before, after) || *c.sealed(before) == "":
		m.Add(field, "%s", missing)
		return ""
	}
	secret, isReadable := c.Secret(before)
	if !isReadable {
		m.Add(field, "must be entered again: the stored value was encrypted with a different secret.key")
	}
	return secret
}

// Put stores the choice that edit returns, and its secret, which may be empty. Errors: those of edit.
func (c *Choice[T]) Put(ctx context.Context, actor record.Actor, edit func(before *T) (*T, string, error)) error {
	return c.change(ctx, actor, c.changed, func(before *T) (*T, error) {
		after, secret, err := edit(before)
		if err == nil && secret != "" {
			*c.sealed(after) = c.keys.Current().Seal(secret, c.use(after))
		}
		return after, err
	})
}

// Remove deletes the choice. It is not an error if there is none.
func (c *Choice[T]) Remove(ctx context.Context, actor record.Actor) error {
	return c.change(ctx, actor, c.changed, func(*T) (*T, error) { return nil, nil })
}

// Seal reseals the secret with the current signing key, which every node has. Call it before that key is replaced, so
// that no secret remains sealed with a key that is later dropped.
func (c *Choice[T]) Seal(ctx context.Context) error {
	if stored := c.Stored(); stored == nil || *c.sealed(stored) == "" {
		return nil
	}
	return c.change(ctx, "system", c.resealed, func(before *T) (*T, error) {
		if before == nil || *c.sealed(before) == "" {
			return before, nil
		}
		secret, isReadable := c.Secret(before)
		if !isReadable { // leave it unchanged: an owner must enter it again
			return before, nil
		}
		after := *before
		*c.sealed(&after) = c.keys.Current().Seal(secret, c.use(before))
		return &after, nil
	})
}

// change calls edit with the stored choice and stores the result. In both cases, nil means no choice. Errors: those of
// edit.
func (c *Choice[T]) change(ctx context.Context, actor record.Actor, action record.Action,
	edit func(before *T) (*T, error)) error {
	audited := func(x *T) any {
		if x == nil {
			return nil
		}
		return c.audited(x)
	}
	change := ScheduleChange{Actor: actor, Action: action, Subject: "clinic"}
	return c.clinic.changeStored(ctx, &change, func(tx store.Tx, s *store.Schedule) error {
		settings, err := readSettings(s.Clinic.Settings)
		if err != nil {
			return err
		}
		field := c.field(&settings)
		change.before = audited(*field)
		if *field, err = edit(*field); err != nil {
			return err
		}
		change.after = audited(*field)
		if s.Clinic.Settings, err = settings.stored(); err != nil {
			return err
		}
		return tx.PutClinic(ctx, s.Clinic)
	})
}
