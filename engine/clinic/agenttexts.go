package clinic

import (
	"slices"
	"strings"

	"holdfast/engine/record"
)

// AgentTexts contains the clinic's own wording for voice and chat agents. Each field is one line of plain text. An
// empty field means the default.
type AgentTexts struct {
	Language   string `json:"language,omitempty"`   // the tag of a registered language; default: the clinic's
	Place      string `json:"place,omitempty"`      // in spoken form; default: the clinic's name
	Address    string `json:"address,omitempty"`    // in spoken form; default: the clinic's address
	Directions string `json:"directions,omitempty"` // how to find the clinic
	Guardian   string `json:"guardian,omitempty"`   // the sentence about the adult who comes with a minor
	Closing    string `json:"closing,omitempty"`    // a sentence at the end of a confirmation, such as what to bring
}

// maxAgentText is the maximum length of a text, in characters.
const maxAgentText = 300

// checkAgentTexts trims and checks the texts.
func checkAgentTexts(m *record.Mistakes, languages []string, t *AgentTexts) {
	if t.Language != "" && !slices.Contains(languages, t.Language) {
		m.Add("agentTexts.language", "must be one of %s", strings.Join(languages, ", "))
	}
	for _, f := range []struct {
		field string
		text  *string
	}{{"place", &t.Place}, {"address", &t.Address}, {"directions", &t.Directions}, {"guardian", &t.Guardian},
		{"closing", &t.Closing}} {
		*f.text = strings.TrimSpace(*f.text)
		record.CheckText(m, "agentTexts."+f.field, *f.text, maxAgentText, false)
		if strings.ContainsAny(*f.text, "{}<>") {
			m.Add("agentTexts."+f.field, "must be plain words, without { } < >")
		}
	}
}
