package message

import (
	"html"
	"slices"
	"strings"
)

// look is the design of an email as an HTML page. The page of a booked appointment has the same design: a large date,
// the facts below it, and one primary action. The email about several appointments has one action for each link.
type look struct {
	clinic, accent string
	day, clock     string            // of the appointment, in large type; empty means that the email shows none
	details        string            // the paragraph of the text that the card replaces
	facts          string            // the lines of details that the card shows below the day and the times
	actions        map[string]string // the labels of the buttons, by link
	cancelled      bool              // the date is struck through
}

// newLook returns the design with the clinic's name and colour.
func (ms *Messages) newLook() look {
	s := ms.clinic.Current()
	return look{clinic: s.Clinic.Name, accent: s.Settings.Colour()}
}

// asHTML returns a text as an HTML page with the same content but without a card.
func (ms *Messages) asHTML(language, title, text string, links ...string) string {
	return ms.newLook().html(language, title, text, links...)
}

// html returns a text as an HTML page with the same content. The page does not load anything from other servers. Only
// links become markup; everything else in the text is escaped. Styles are inline because mail programs drop style
// sheets.
func (l look) html(language, title, text string, links ...string) string {
	anchors := anchorsOf(links, l.accent)
	markup := func(text string) string {
		return strings.ReplaceAll(anchors.Replace(html.EscapeString(text)), "\n", "<br>")
	}
	var b strings.Builder
	b.WriteString(`<!doctype html><html lang="` + html.EscapeString(language) + `"><head><meta charset="utf-8">` +
		`<meta name="viewport" content="width=device-width"><title>` + html.EscapeString(title) + `</title></head>` +
		`<body style="margin:0;padding:24px 16px;background:#F6F5F0;color:#14201E;` +
		`font:16px/1.5 Figtree,-apple-system,'Segoe UI',Roboto,Arial,sans-serif">` +
		`<div style="max-width:560px;margin:0 auto">`)
	if l.clinic != "" {
		b.WriteString(`<p dir="auto" style="margin:0 0 16px;font-weight:600">` + html.EscapeString(l.clinic) + `</p>`)
	}
	b.WriteString(`<div style="background:#FFFFFF;border:1px solid #D8D4C8;border-top:6px solid ` + l.accent +
		`;border-radius:16px;padding:24px">`)
	for paragraph := range strings.SplitSeq(strings.Trim(text, "\n"), "\n\n") {
		plain := strings.Trim(paragraph, "\n")
		if l.details != "" && plain == l.details {
			b.WriteString(l.card(markup(l.facts)))
			continue
		}
		last := plain[strings.LastIndexByte(plain, '\n')+1:]
		to := last[strings.LastIndexByte(last, ' ')+1:]
		label := l.actions[to]
		if label == "" {
			b.WriteString(`<p dir="auto" style="margin:0 0 16px;overflow-wrap:anywhere">` + markup(plain) + `</p>`)
			continue
		}
		if above := strings.TrimSuffix(plain[:len(plain)-len(last)], "\n"); above != "" {
			b.WriteString(`<p dir="auto" style="margin:0 0 12px;overflow-wrap:anywhere">` + markup(above) + `</p>`)
		}
		b.WriteString(l.button(label, to) + `<p dir="auto" style="margin:0 0 16px;font-size:13px;color:#46534F;` +
			`overflow-wrap:anywhere">` + markup(last) + `</p>`)
	}
	b.WriteString("</div></div></body></html>\n")
	return b.String()
}

// card returns the day and the times in large type, and the facts below them.
func (l look) card(facts string) string {
	line := ""
	if l.cancelled {
		line = ";text-decoration:line-through;color:#46534F"
	}
	date := ""
	if l.day != "" {
		date = `<p dir="auto" style="margin:0;font-size:17px;line-height:1.3` + line + `">` + html.EscapeString(l.day) +
			`</p>` +
			`<p style="margin:0 0 16px;font-size:32px;line-height:1.2;font-weight:700;letter-spacing:-.02em;` +
			`white-space:nowrap` + line + `">` + html.EscapeString(l.clock) + `</p>`
	}
	return `<div style="margin:8px 0 24px;padding:16px 0;border:solid #ECEAE3;border-width:1px 0">` +
		date + `<p dir="auto" style="margin:0;color:#46534F">` + facts + `</p></div>`
}

// button returns an action. Its address appears below it as text, for mail programs that do not show links.
func (l look) button(label, to string) string {
	return `<p style="margin:0 0 12px"><a href="` + html.EscapeString(to) + `" style="display:inline-block;` +
		`padding:14px 24px;border-radius:10px;background:` + l.accent +
		`;color:#FFFFFF;font-weight:600;text-decoration:none">` + html.EscapeString(label) + `</a></p>`
}

// anchorsOf returns a replacer that turns the links in an escaped text into anchors.
func anchorsOf(links []string, colour string) *strings.Replacer {
	// Replace all links in one pass, longest first, because one link can be a prefix of another.
	slices.SortFunc(links, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, link := range links {
		if to := html.EscapeString(link); to != "" {
			pairs = append(pairs, to, `<a href="`+to+`" style="color:`+colour+`">`+to+`</a>`)
		}
	}
	return strings.NewReplacer(pairs...)
}
