package holdstest

import (
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"holdfast/holds"
)

// TestModelOfFaultsJudgesHistories checks the model itself: it accepts everything that a correct backend can do during
// a fault, and rejects what no correct backend does. Times are in milliseconds. A reply with the error "lost" has an
// outcome that the client does not know; its call stays pending until the history ends.
func TestModelOfFaultsJudgesHistories(t *testing.T) {
	const end = 5000
	owners := []holds.Owner{client(0), client(1)}
	day := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	claim := func(from, to, by, minute, ttl int, id string, until int, err error) porcupine.Operation {
		start := day.Add(time.Duration(minute) * time.Minute)
		stop := start.Add(30 * time.Minute)
		return porcupine.Operation{ClientId: by, Call: int64(ms(from)), Return: int64(ms(to)),
			Input: call{op: "claim", at: ms(from), client: owners[by], ttl: ms(ttl), max: ms(3600),
				span: holds.Span{SpecialistID: "ada", SlotStart: start, SlotEnd: stop, BusyStart: start,
					BusyEnd: stop}},
			Output: reply{id: id, until: ms(until), err: err, at: ms(to)}}
	}
	lost := holds.ErrUnavailable
	ann := claim(100, 110, 0, 0, 600, "h1", 705, nil)
	for _, c := range []struct {
		name    string
		history []porcupine.Operation
		want    porcupine.CheckResult
	}{
		{"another client's claim is refused while a hold is live", []porcupine.Operation{
			ann, claim(300, 310, 1, 15, 600, "", 705, errHeld)}, porcupine.Ok},
		{"two clients hold the same time", []porcupine.Operation{
			ann, claim(300, 310, 1, 15, 600, "h2", 905, nil)}, porcupine.Illegal},
		{"a lost claim renewed the client's own hold", []porcupine.Operation{
			ann, claim(400, end, 0, 0, 600, "", 0, lost), claim(900, 910, 1, 15, 600, "", 1050, errHeld)},
			porcupine.Ok},
		{"a lost claim arrived after the client's own hold expired, and created another", []porcupine.Operation{
			ann, claim(400, end, 0, 0, 600, "", 0, lost),
			claim(1100, 1110, 1, 15, 600, "", 1619, errHeld),
			{ClientId: 0, Call: int64(ms(1200)), Return: int64(ms(1210)),
				Input: call{op: "extend", at: ms(1200), client: owners[0], id: "h1", ttl: ms(600),
					span: holds.Span{SpecialistID: "ada"}}, Output: reply{err: holds.ErrNotFound, at: ms(1210)}},
			claim(1300, 1310, 1, 15, 600, "", 1619, errHeld)}, porcupine.Ok},
		{"a claim is refused although the time is free", []porcupine.Operation{
			ann, claim(1100, 1110, 1, 15, 600, "", 1619, errHeld)}, porcupine.Illegal},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := model{quota: 1 << 30, slack: ms(60)}
			if got := porcupine.CheckOperationsTimeout(m.faulty().ToModel(), c.history, time.Minute); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
