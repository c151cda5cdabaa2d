package clinic

import (
	"encoding/base64"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"holdfast/engine/record"
)

// hues are the named accents, with their colours in the light theme. The other colours of each accent are in
// web/ui/holdfast.css. The first accent is the default.
var hues = []struct{ name, colour string }{
	{"kelp", "#0A655A"}, {"ocean", "#1F56A6"}, {"plum", "#7A3F93"}, {"amber", "#8A4608"}, {"rose", "#98304F"},
	{"olive", "#4F5D16"},
}

func hueNames() (names []string) {
	for _, hue := range hues {
		names = append(names, hue.name)
	}
	return names
}

// Colour returns the accent as a colour such as #0A655A. White text is readable on it.
func (s *Settings) Colour() string {
	if strings.HasPrefix(s.Accent, "#") {
		return s.Accent
	}
	for _, hue := range hues {
		if hue.name == s.Accent {
			return hue.colour
		}
	}
	return hues[0].colour
}

const (
	// minContrast is the minimum contrast of white text on an accent, as defined by WCAG 2. Each of the hues meets it.
	minContrast = 5.8
	maxLogo     = 100 << 10
)

// checkLook checks the colour and the logo of the pages.
func checkLook(m *record.Mistakes, s *Settings) {
	if s.Accent != "" && !slices.Contains(hueNames(), s.Accent) {
		contrast, isColour := contrastOnWhite(s.Accent)
		switch {
		case !isColour:
			m.Add("accent", "must be one of %s, or a colour such as #3a4f9a", strings.Join(hueNames(), ", "))
		case contrast < minContrast:
			m.Add("accent", "must be darker: white text on it has a contrast of %.1f:1, and needs %.1f:1",
				math.Floor(contrast*10)/10, minContrast)
		}
	}
	if s.Logo != "" && !isLogo(s.Logo) {
		m.Add("logo", "must be a PNG or an SVG without scripts of at most 100 KB as a data: URL")
	}
}

// OwnAccent returns the accent if it is a colour code such as #3a4f9a, or an empty string if it is one of the hues.
func (s *Settings) OwnAccent() string {
	if _, isColour := contrastOnWhite(s.Accent); isColour {
		return s.Accent
	}
	return ""
}

// contrastOnWhite returns the contrast between a colour such as #3a4f9a and white, from 1 to 21.
func contrastOnWhite(colour string) (contrast float64, isColour bool) {
	digits, found := strings.CutPrefix(colour, "#")
	rgb, err := strconv.ParseUint(digits, 16, 32)
	if !found || err != nil || len(digits) != 6 {
		return 0, false
	}
	luminance := 0.0
	for i, share := range []float64{0.0722, 0.7152, 0.2126} { // blue, green, red
		part := float64(rgb>>(8*i)&0xff) / 255
		if part <= 0.04045 {
			luminance += share * part / 12.92
		} else {
			luminance += share * math.Pow((part+0.055)/1.055, 2.4)
		}
	}
	return 1.05 / (luminance + 0.05), true
}

// isLogo reports whether a data: URL contains a PNG or an SVG that the pages can show.
func isLogo(url string) bool {
	kind, data, _ := strings.Cut(url, ";base64,")
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil || len(raw) > maxLogo {
		return false
	}
	switch kind {
	case "data:image/png":
		return strings.HasPrefix(string(raw), "\x89PNG\r\n\x1a\n")
	case "data:image/svg+xml":
		return isDrawing(string(raw))
	}
	return false
}

// isDrawing reports whether a string is an SVG without scripts, foreign markup or entities. The pages show it as an
// image, and browsers run nothing in images. This check protects people who open the image on its own.
func isDrawing(text string) bool {
	parts, depth, elements := xml.NewDecoder(strings.NewReader(text)), 0, 0
	for {
		part, err := parts.Token()
		if errors.Is(err, io.EOF) {
			return elements > 0 && depth == 0
		}
		if err != nil {
			return false
		}
		switch part := part.(type) {
		case xml.Directive:
			if strings.Contains(string(part), "[") { // declares entities
				return false
			}
		case xml.EndElement:
			depth--
		case xml.StartElement:
			name := strings.ToLower(part.Name.Local)
			if elements == 0 && name != "svg" || name == "script" || name == "foreignobject" {
				return false
			}
			for _, a := range part.Attr {
				value := strings.ToLower(strings.TrimSpace(a.Value))
				if strings.HasPrefix(strings.ToLower(a.Name.Local), "on") || strings.HasPrefix(value, "javascript:") {
					return false
				}
			}
			elements++
			depth++
		}
	}
}
