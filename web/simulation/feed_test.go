package simulation

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

var (
	eventOfFeed = regexp.MustCompile(`(?s)UID:([0-9a-f-]+)@holdfast\r\n.*?DTSTART:([0-9TZ]+).*?SUMMARY:([^\r]+)`)
	// sessionOfFeed is the summary of a group session, such as "class 2/3".
	sessionOfFeed = regexp.MustCompile(`^\w+ \d+/\d+$`)
)

// feed reads a specialist's calendar as a calendar program does, at a new address. The calendar must contain the
// confirmed appointments at their current times, and no others. A group session must be one event with the number of
// its appointments. Then feed revokes the address, which must stop working.
func (l *life) feed(r *rand.Rand) error {
	who := oneOf(r, sorted(l.Specialists))
	path := "/v1/specialists/" + who + "/calendar-feed"
	a, err := l.do(&request{method: "POST", path: path, admin: true, body: map[string]any{"names": false}})
	if err != nil {
		return err
	}
	var said struct{ CalendarFeed struct{ URL string } }
	if err := a.into(&said); err != nil || a.status >= 300 {
		return fmt.Errorf("creating a calendar address got %d %s", a.status, a.raw)
	}
	address, err := url.Parse(said.CalendarFeed.URL)
	if err != nil {
		return err
	}
	if a, err = l.do(&request{method: "GET", path: address.Path}); err != nil {
		return err
	}
	if a.status != 200 {
		return fmt.Errorf("the calendar of %s got %d %s", who, a.status, a.raw)
	}
	var got, want []string
	for _, event := range eventOfFeed.FindAllStringSubmatch(a.raw, -1) {
		id, start, summary := event[1], event[2], event[3]
		if sessionOfFeed.MatchString(summary) {
			id = summary
		}
		got = append(got, start+" "+id)
	}
	booked := make(map[string]int) // by start and type of a group session
	for id, x := range l.Appointments {
		if x.Specialist != who || x.Cancelled || time.Since(x.Start) >= 30*24*time.Hour {
			continue
		}
		start := x.Start.UTC().Format("20060102T150405Z") + " "
		if l.Types[x.Type].Capacity > 1 {
			booked[start+x.Type]++
		} else {
			want = append(want, start+id)
		}
	}
	for session, n := range booked {
		_, typeID, _ := strings.Cut(session, " ")
		want = append(want, fmt.Sprintf("%s %d/%d", session, n, l.Types[typeID].Capacity))
	}
	slices.Sort(got)
	slices.Sort(want)
	if len(want) < 500 && !slices.Equal(got, want) {
		return fmt.Errorf("the calendar of %s has %v, want %v", who, got, want)
	}
	if _, err = l.do(&request{method: "DELETE", path: path, admin: true}); err != nil {
		return err
	}
	if a, err = l.do(&request{method: "GET", path: address.Path}); err == nil && a.status != 404 {
		err = fmt.Errorf("a revoked calendar address got %d", a.status)
	}
	return err
}
