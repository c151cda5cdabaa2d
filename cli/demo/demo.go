// Package demo contains the demo clinic: its data, the visitors and the voice agent that use it, its
// practice-management system, and the processes that its page can kill. The command demo of package cli opens the
// server and starts all of these.
package demo

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"holdfast/engine"
	"holdfast/engine/account"
	"holdfast/engine/clinic"
	"holdfast/engine/record"
	"holdfast/store"
	"holdfast/web"
)

//go:embed clinic.json
var clinicText []byte

// Clinic returns the demo's clinic exactly as in its file: in Hamburg.
func Clinic() (f clinic.File, err error) {
	d := json.NewDecoder(bytes.NewReader(clinicText))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return f, fmt.Errorf("failed to read the demo's clinic: %w", err)
	}
	return f, nil
}

// Data is the input of Seed.
type Data struct {
	Engine *engine.Engine
	Actor  record.Actor // actor of the changes, in the audit log
	Logger *slog.Logger
}

// Seed creates the demo's clinic, its appointments as of now, and its user.
func (d Data) Seed(ctx context.Context, now time.Time, f clinic.File) error {
	if _, err := d.Engine.Clinic.Import(ctx, d.Actor, f); err != nil {
		return fmt.Errorf("failed to create the demo's clinic: %w", err)
	}
	if err := d.furnish(ctx, now, f); err != nil {
		return err
	}
	if err := d.fill(ctx, now, f); err != nil {
		return err
	}
	owner := account.NewUser{Email: web.DemoEmail, Name: "Robin Harbour", Role: store.RoleOwner,
		Password: web.DemoPassword}
	if _, err := d.Engine.Account.CreateUser(ctx, d.Actor, owner); err != nil {
		return fmt.Errorf("failed to create the demo's user: %w", err)
	}
	return nil
}
