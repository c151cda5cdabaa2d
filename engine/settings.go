package engine

import (
	"encoding/json"
)

// Settings are what the owner of a clinic chooses. The zero value is a clinic that has chosen nothing.
type Settings struct {
	RequiredFields    []string `json:"requiredFields,omitempty"`    // of the patient besides the name: email, phone, contact, birthDate
	ChangeCutoffHours int      `json:"changeCutoffHours,omitempty"` // patients change and cancel online until so long before the start
	Accent            string   `json:"accent,omitempty"`            // one of the page's tested hues
	Logo              string   `json:"logo,omitempty"`              // a PNG as a data: URL, at most 100 KB
	EmbedOrigins      []string `json:"embedOrigins,omitempty"`      // sites that may frame the booking page; none: embedding is off
}

// Settings returns the clinic's settings as they are now.
func (e *Engine) Settings() Settings {
	var s Settings
	raw := e.schedule.current.Load().Clinic.Settings
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &s); err != nil {
			e.log.Error("the clinic's settings cannot be read and are taken as empty", "error", err)
		}
	}
	return s
}
