package clinic_test

import (
	"testing"

	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
)

// TestEmbedOriginsAreExact also covers corsOrigins: both lists accept the same origins.
func TestEmbedOriginsAreExact(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, nil)
	for origin, want := range map[string]bool{
		"https://www.example.org": true, "http://localhost:3000": true, "https://xn--mnchen-3ya.example": true,
		"http://127.0.0.1:80": true, "https://[2001:db8::1]:8443": true,
		"https://*.example.org": false, "https://*": false, "*": false, "https://example.org:*": false, "https:": false,
		"https://": false, "": false, "'self'": false,
		"https://example.org/": false, "https://example.org/book": false, "https://example.org?x": false,
		"https://example.org#x": false, "https://a@example.org": false,
		"https://example.org:": false, "https://example.org:0443": false, "https://example.org:99999": false,
		"https://Example.org": false, "HTTPS://example.org": false,
		"https://example.org https://other.example": false, "https://example.org;script-src *": false,
		"ws://example.org": false, "data:": false,
		"https://example..org": false, "https://example.org.": false, "https://münchen.example": false,
		"https://exa_mple.org": false, "https://a%2e.example": false,
	} {
		for field, list := range map[string]func(*clinic.Settings) *[]string{
			"embed": func(s *clinic.Settings) *[]string { return &s.EmbedOrigins },
			"cors":  func(s *clinic.Settings) *[]string { return &s.CORSOrigins },
		} {
			_, err := c.Clinic.UpdateSettings(t.Context(), enginetest.Jo, func(s *clinic.Settings) {
				*list(s) = []string{origin}
			})
			if got := err == nil; got != want {
				t.Errorf("%s %q: accepted %v (%v), want %v", field, origin, got, err, want)
			}
		}
	}
}
