package web

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"time"

	"holdfast/engine/clinic"
	"holdfast/store"
)

// settingsAnswer is the settings and the public address of the pages. The address is separate, because it does not
// always come from the settings.
type settingsAnswer struct {
	Settings clinic.Settings `json:"settings"`
	Address  addressJSON     `json:"address"`
}

// addressJSON is the public address of the pages.
type addressJSON struct {
	URL  string           `json:"url"`  // if no address is configured, the address of the request
	From clinic.URLSource `json:"from"` // start, settings or guess
}

func (c *call) pagesAddress() addressJSON {
	_, from := c.engine.Clinic.BaseURL()
	return addressJSON{c.base(), from}
}

func (s *Server) getSettings(c *call) error { return s.saySettings(c, s.engine.Clinic.Settings()) }

// answerOf returns the settings as the server sends them now.
func (c *call) answerOf(now clinic.Settings) settingsAnswer {
	return settingsAnswer{now.WithValidSecrets(time.Now()), c.pagesAddress()}
}

// saySettings returns the settings with their tag.
func (s *Server) saySettings(c *call, now clinic.Settings) error {
	if err := c.json(http.StatusOK, c.answerOf(now)); err != nil {
		return err
	}
	c.rw.Header()["Etag"] = []string{contentTag("", c.out)}
	return nil
}

// contentTag returns an entity tag that consists of prefix and a hash of the response. All nodes compute the same tag.
func contentTag(prefix string, answer []byte) string {
	sum := sha256.Sum256(answer)
	return `"` + prefix + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
}

var errSettingsChanged = errVersionMismatch.with(
	"The settings have changed since you read them. Fetch them again and retry.",
)

// ifMatch returns errSettingsChanged if the request has an If-Match header without the tag of the settings in now. A
// weak tag counts too, because a proxy that compresses responses weakens their tags.
func ifMatch(c *call, now clinic.Settings) error {
	tags := c.r.Header["If-Match"]
	if len(tags) == 0 {
		return nil
	}
	answer, err := json.Marshal(c.answerOf(now))
	if err == nil && !hasTag(tags, contentTag("", answer)) {
		err = errSettingsChanged
	}
	return err
}

// maxSettings is the size limit of a body with settings. It allows for the largest logo and the texts.
const maxSettings = 512 << 10

// putSettings replaces all settings. A field that is missing from the body gets its default.
func (s *Server) putSettings(c *call, b *clinic.Settings) error {
	return s.editSettings(c, func(to *clinic.Settings) error {
		*to = *b
		return nil
	})
}

// settingsPatch is a JSON Merge Patch (RFC 7396) of the settings. It decodes the body twice. Settings is used for the
// checks of the body, which are the same as for putSettings. patch also contains the fields that are null.
type settingsPatch struct {
	clinic.Settings
	patch map[string]any
}

// UnmarshalJSON decodes the body into Settings and into patch.
func (p *settingsPatch) UnmarshalJSON(b []byte) error {
	if err := json.Unmarshal(b, &p.Settings); err != nil {
		return err
	}
	return json.Unmarshal(b, &p.patch)
}

// patchSettings changes only the fields that the body contains. null sets a field to its default. A list in the body
// replaces the whole list.
func (s *Server) patchSettings(c *call, b *settingsPatch) error {
	return s.editSettings(c, func(to *clinic.Settings) error {
		raw, err := json.Marshal(*to)
		if err != nil {
			return err
		}
		document := make(map[string]any)
		if err := json.Unmarshal(raw, &document); err != nil {
			return err
		}
		if raw, err = json.Marshal(mergePatch(document, b.patch)); err != nil {
			return err
		}
		*to = clinic.Settings{}
		return json.Unmarshal(raw, to)
	})
}

// mergePatch applies patch to target as RFC 7396 specifies and returns the result. It may change target.
func mergePatch(target, patch any) any {
	changes, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	into, ok := target.(map[string]any)
	if !ok {
		into = make(map[string]any)
	}
	for name, value := range changes {
		if value == nil {
			delete(into, name)
		} else {
			into[name] = mergePatch(into[name], value)
		}
	}
	return into
}

// editSettings changes the settings if they match If-Match, and responds with the new settings.
func (s *Server) editSettings(c *call, edit func(*clinic.Settings) error) error {
	changed, err := s.engine.Clinic.EditSettings(c.ctx(), c.caller.actor, func(to *clinic.Settings) error {
		if err := ifMatch(c, *to); err != nil {
			return err
		}
		return edit(to)
	})
	if err != nil {
		return err
	}
	return s.saySettings(c, changed)
}

type deliveryJSON struct {
	OperationID string `json:"operationId"`
	Channel     string `json:"channel"`
	Notice      string `json:"notice"`
	State       string `json:"state"`
	Detail      string `json:"detail,omitempty"`
	UpdatedAt   string `json:"updatedAt"`
}

// listDeliveries returns the delivery state of the notices about one appointment.
func (s *Server) listDeliveries(c *call) error {
	a, err := s.engine.Booking.Appointment(c.ctx(), c.param("id"))
	if err != nil {
		return err
	}
	if !c.caller.reaches(a.SpecialistID) {
		return errForbidden.with("This appointment is in a colleague's calendar.")
	}
	list, err := s.engine.Record.Deliveries(c.ctx(), a.ID)
	if err != nil {
		return err
	}
	answer := each(list, func(d *store.Delivery) deliveryJSON {
		return deliveryJSON{d.OperationID, d.Channel, d.Notice, d.State, d.Detail, httpTime(d.UpdatedAt)}
	})
	return c.json(http.StatusOK, map[string]any{"deliveries": answer})
}
