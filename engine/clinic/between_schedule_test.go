package clinic_test

import (
	"context"
	"errors"
	"testing"

	"holdfast/engine"
	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/engine/record"
	"holdfast/store"
)

func TestScheduleChangesAreNotLost(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, x := range []struct {
		name      string
		meanwhile func(e *engine.Engine) error
		change    func(e *engine.Engine) error
		kept      func(c *engine.Engine) bool
	}{
		{"settings",
			func(e *engine.Engine) error {
				_, err := e.Clinic.UpdateSettings(ctx, "system", func(s *clinic.Settings) { s.ReminderHours = 24 })
				return err
			},
			func(e *engine.Engine) error {
				_, err := e.Clinic.UpdateSettings(ctx, "system", func(s *clinic.Settings) { s.Accent = "plum" })
				return err
			},
			func(e *engine.Engine) bool {
				s := e.Clinic.Settings()
				return s.ReminderHours == 24 && s.Accent == "plum"
			}},
		{"the clinic and its settings",
			func(e *engine.Engine) error {
				_, err := e.Clinic.UpdateSettings(ctx, "system", func(s *clinic.Settings) { s.ReminderHours = 24 })
				return err
			},
			func(e *engine.Engine) error {
				_, err := e.Clinic.UpdateClinic(ctx, "system", func(c *store.Clinic) { c.Name = "Hill Clinic" })
				return err
			},
			func(e *engine.Engine) bool {
				return e.Clinic.Settings().ReminderHours == 24 && e.Clinic.Schedule().Clinic.Name == "Hill Clinic"
			}},
		{"an import and settings",
			func(e *engine.Engine) error {
				_, err := e.Clinic.UpdateSettings(ctx, "system", func(s *clinic.Settings) { s.ReminderHours = 24 })
				return err
			},
			func(e *engine.Engine) error {
				_, err := e.Clinic.Import(ctx, "system", enginetest.ClinicFile(map[string]int{"ada": 1}))
				return err
			},
			func(e *engine.Engine) bool { return e.Clinic.Settings().ReminderHours == 24 }},
		{"an appointment type",
			func(e *engine.Engine) error {
				_, err := e.Clinic.UpdateAppointmentType(ctx, "system", "checkup", func(t *store.AppointmentType) {
					t.Active = false
				})
				return err
			},
			func(e *engine.Engine) error {
				_, err := e.Clinic.UpdateAppointmentType(ctx, "system", "checkup", func(t *store.AppointmentType) {
					t.Description = "Once a year"
				})
				return err
			},
			func(e *engine.Engine) bool {
				t, err := e.Clinic.AppointmentType("checkup")
				return err == nil && !t.Active && t.Description == "Once a year"
			}},
		{"a specialist",
			func(e *engine.Engine) error {
				_, err := e.Clinic.UpdateSpecialist(ctx, "system", "ada", func(p *store.Specialist) {
					p.Active = false
				})
				return err
			},
			func(e *engine.Engine) error {
				_, err := e.Clinic.UpdateSpecialist(ctx, "system", "ada", func(p *store.Specialist) {
					p.Name = "Ada L."
				})
				return err
			},
			func(e *engine.Engine) bool {
				p, err := e.Clinic.Specialist("ada")
				return err == nil && !p.Active && p.Name == "Ada L."
			}},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := enginetest.NewClinic(t, map[string]int{"ada": 1, "bea": 1})
			e := c.Beside(func() {
				if err := x.meanwhile(c.Engine); err != nil {
					t.Error(err)
				}
			})
			if err := x.change(e); err != nil {
				t.Fatal(err)
			}
			if !x.kept(e) {
				t.Error("a concurrent change is lost")
			}
		})
	}
}

func TestScheduleRefusesConcurrentConflict(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1, "bea": 1})
	xray := func(name string) store.AppointmentType {
		t := clinic.DefaultAppointmentType()
		t.ID, t.Name = "xray", name
		return t
	}
	var invalid *record.ValidationError
	e := c.Beside(func() {
		if _, err := c.Clinic.CreateAppointmentType(ctx, "system", xray("X-ray")); err != nil {
			t.Error(err)
		}
	})
	if _, err := e.Clinic.CreateAppointmentType(ctx, "system", xray("Another")); !errors.As(err, &invalid) {
		t.Errorf("a type whose id was used in the meantime: got %v, want *ValidationError", err)
	}
	e = c.Beside(func() {
		if err := c.Clinic.ArchiveSpecialist(ctx, "system", "bea"); err != nil {
			t.Error(err)
		}
	})
	if _, err := e.Clinic.UpdateSpecialist(ctx, "system", "bea", func(p *store.Specialist) {
		p.Name = "Bea"
	}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a specialist who was archived in the meantime: got %v, want ErrNotFound", err)
	}
	e = c.Beside(nil)
	o, err := c.Clinic.PutOverride(ctx, "system", store.Override{SpecialistID: "ada",
		Date: store.Date{Year: 2030, Month: 1, Day: 2}, Closed: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Clinic.DeleteOverride(ctx, "system", o.ID); err != nil {
		t.Errorf("an override from another server: %v", err)
	}
}
