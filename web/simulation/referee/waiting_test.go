package referee

import (
	"strings"
	"testing"
)

func TestRefereeFindsWrongTurns(t *testing.T) {
	t.Parallel()
	offer := func(hour int, open bool) Offer {
		return Offer{Span: newReferee().SpanOf("checkup", "ada", at(hour, 0)), Open: open, Withdrawn: !open,
			Until: at(12, 0)}
	}
	line := func(first, second []Offer) []Waiting {
		return []Waiting{{ID: "first", Place: 1, Last: "2026-11-30", Offers: first},
			{ID: "second", Place: 2, Last: "2026-11-30", Offers: second}}
	}
	for name, c := range map[string]struct {
		list []Waiting
		want string // of the error; empty means none
	}{
		"the first entry gets the offer":      {list: line([]Offer{offer(10, true)}, nil)},
		"the second entry gets the offer":     {list: line(nil, []Offer{offer(10, true)}), want: "first comes first"},
		"the first entry had an offer before": {list: line([]Offer{offer(11, false)}, []Offer{offer(10, true)})},
		"one time for two entries": {list: line([]Offer{offer(10, true)}, []Offer{offer(10, true)}),
			want: "to two entries"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReferee()
			mustNot(t, r.Waits(line(nil, nil), nil, at(8, 0)))
			err := r.Waits(c.list, nil, at(8, 20))
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
