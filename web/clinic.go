package web

import (
	"context"
	"net/http"

	"holdfast/engine/clinic"
	"holdfast/store"
)

// clinicJSON is the clinic's name, time zone, language and contact.
type clinicJSON struct {
	Name     string      `json:"name"`
	Timezone string      `json:"timezone"`
	Locale   string      `json:"locale"`
	Contact  contactJSON `json:"contact"`
}

// clinicPageJSON is the clinic with the details that the booking page shows.
type clinicPageJSON struct {
	clinicJSON
	PrivacyURL string             `json:"privacyUrl,omitempty"`
	ImprintURL string             `json:"imprintUrl,omitempty"`
	Consent    clinic.Consent     `json:"consent,omitzero"` // online visitors must agree to it
	Places     []clinic.Place     `json:"places,omitempty"`
	TypeGroups []clinic.TypeGroup `json:"typeGroups,omitempty"`
	Waitlist   bool               `json:"waitlist,omitempty"` // visitors who find no time can join the waiting list
}

func (s *Server) clinicPage(c *store.Clinic) clinicPageJSON {
	settings := s.engine.Clinic.Settings()
	return clinicPageJSON{clinicOf(c), settings.PrivacyURL, settings.ImprintURL, settings.Consent, settings.Places,
		settings.TypeGroups, s.engine.Waitlist.Open()}
}

type contactJSON struct {
	Phone   string `json:"phone"`
	Email   string `json:"email"`
	Address string `json:"address"`
	Website string `json:"website"`
}

func clinicOf(c *store.Clinic) clinicJSON {
	return clinicJSON{c.Name, c.Timezone, c.Locale, contactJSON{c.Phone, c.Email, c.Address, c.Website}}
}

func (s *Server) getClinic(c *call) error {
	return c.json(http.StatusOK, map[string]clinicPageJSON{"clinic": s.clinicPage(&s.engine.Clinic.Schedule().Clinic)})
}

// clinicBody changes the clinic. A missing field keeps its value.
type clinicBody struct {
	Name     *string `json:"name"`
	Timezone *string `json:"timezone"`
	Locale   *string `json:"locale"`
	Contact  *struct {
		Phone   *string `json:"phone"`
		Email   *string `json:"email"`
		Address *string `json:"address"`
		Website *string `json:"website"`
	} `json:"contact"`
}

func (b *clinicBody) apply(to *store.Clinic) {
	set(&to.Name, b.Name)
	set(&to.Timezone, b.Timezone)
	set(&to.Locale, b.Locale)
	if b.Contact != nil {
		set(&to.Phone, b.Contact.Phone)
		set(&to.Email, b.Contact.Email)
		set(&to.Address, b.Contact.Address)
		set(&to.Website, b.Contact.Website)
	}
}

func (s *Server) putClinic(c *call, b *clinicBody) error {
	changed, err := s.engine.Clinic.UpdateClinic(c.ctx(), c.caller.actor, b.apply)
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, map[string]clinicPageJSON{"clinic": s.clinicPage(&changed)})
}

// set copies *from to *to. A nil from means that the caller did not send the value.
func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

func (s *Server) importClinic(c *call, file *clinic.File) error {
	// An import must not stop halfway because the user closed the browser.
	answer := func(n *clinic.Imported) any {
		return map[string]*clinic.Imported{"imported": n}
	}
	n, err := s.engine.Clinic.Import(context.WithoutCancel(committing(c, http.StatusOK, answer)), c.caller.actor, *file)
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, answer(&n))
}

// planImport changes nothing, so its response is not stored for a repeated request.
func (s *Server) planImport(c *call, file *clinic.File) error {
	c.once = nil
	plan, err := s.engine.Clinic.PlanImport(*file)
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, map[string]clinic.ImportPlan{"import": plan})
}

func (s *Server) exportClinic(c *call) error { return c.json(http.StatusOK, s.engine.Clinic.Export()) }
