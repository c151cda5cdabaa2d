package main

import (
	"cmp"
	"encoding/json"
	"time"
)

// The bill of materials has the format CycloneDX 1.6. The types contain only the fields that billOf uses.

type bill struct {
	Format     string      `json:"bomFormat"`
	Spec       string      `json:"specVersion"`
	Version    int         `json:"version"`
	Metadata   metadata    `json:"metadata"`
	Components []component `json:"components"`
	Needs      []needs     `json:"dependencies"`
}

type metadata struct {
	Timestamp string    `json:"timestamp"`
	Component component `json:"component"`
}

type component struct {
	Type       string       `json:"type"`
	Ref        string       `json:"bom-ref"`
	Name       string       `json:"name"`
	Version    string       `json:"version"`
	PURL       string       `json:"purl,omitempty"`
	Licences   []licenceRef `json:"licenses,omitempty"`
	Properties []property   `json:"properties,omitempty"`
}

type licenceRef struct {
	Licence struct {
		ID string `json:"id"`
	} `json:"license"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type needs struct {
	Ref string   `json:"ref"`
	On  []string `json:"dependsOn"`
}

// billOf lists the modules that are linked into the program for one system. The sums are those of go.sum, which the
// checksum database verifies.
func billOf(o *options, t target, goVersion string, parts []part) ([]byte, error) {
	self := component{Type: "application", Ref: "holdfast", Name: "holdfast", Version: o.version,
		Licences:   []licenceRef{idOf("Apache-2.0")},
		Properties: []property{{"holdfast:target", t.String()}, {"holdfast:go", goVersion}}}
	b := bill{Format: "CycloneDX", Spec: "1.6", Version: 1, Metadata: metadata{o.at.Format(time.RFC3339), self},
		Components: []component{}}
	on := []string{}
	for _, p := range parts {
		c := component{Type: "library", Name: p.path, Version: p.version, PURL: "pkg:" + cmp.Or(p.system, "golang") +
			"/" + p.path + "@" + p.version}
		c.Ref = c.PURL
		seen := map[string]bool{}
		for _, l := range p.licences {
			if l.id != "" && !seen[l.id] {
				seen[l.id] = true
				c.Licences = append(c.Licences, idOf(l.id))
			}
		}
		if p.sum != "" {
			c.Properties = []property{{"holdfast:go.sum", p.sum}}
		}
		b.Components, on = append(b.Components, c), append(on, c.Ref)
	}
	b.Needs = []needs{{"holdfast", on}}
	out, err := json.MarshalIndent(b, "", "  ")
	return append(out, '\n'), err
}

func idOf(id string) (r licenceRef) {
	r.Licence.ID = id
	return r
}
