package simulation

import (
	"maps"
	"math/rand/v2"
	"slices"
	"time"
)

// action is one event of a plan. All its random choices are drawn from dice, among the possibilities at that time.
type action struct {
	n     int // its position in the whole plan
	pause time.Duration
	kind  string
	dice  uint64
}

// kinds are the kinds of actions, with their relative frequencies and their functions.
var kinds = []struct {
	name  string
	often int
	do    func(*life, *rand.Rand) error
}{
	{"hold", 22, (*life).hold},
	{"book what is held", 16, (*life).bookHeld},
	{"book", 10, (*life).book},
	{"extend", 4, (*life).extend},
	{"release", 5, (*life).release},
	{"cancel", 7, (*life).cancel},
	{"move", 8, (*life).move},
	{"race", 4, (*life).race},
	{"desk books", 6, (*life).deskBooks},
	{"overbook", 1, (*life).overbook},
	{"desk cancels and undoes", 3, (*life).undo},
	{"series", 2, (*life).series},
	{"visit", 5, (*life).visit},
	{"block", 2, (*life).block},
	{"unblock", 2, (*life).unblock},
	{"override", 1, (*life).override},
	{"list", 8, (*life).list},
	{"agent", 5, (*life).agent},
	{"read", 3, (*life).read},
	{"webhooks", 1, (*life).hooks},
	{"presence", 4, (*life).presence},
	{"session", 5, (*life).session},
	{"waiting list", 5, (*life).waiting},
	{"calendar feed", 2, (*life).feed},
	{"staff", 4, (*life).staff},
	{"erase a person", 1, (*life).erase},
	{"change at once", 3, (*life).changeAtOnce},
	{"give up", 2, (*life).giveUp},
	{"come back", 2, (*life).comeBack},
	{"lose a request", 2, (*life).loseRequest},
	{"lose a reply", 5, (*life).loseReply},
	{"full disk", 2, (*life).fullDisk},
	{"no internet", 1, (*life).noInternet},
	{"cut the power", 2, (*life).cutPower},
	{"restart", 1, (*life).restart},
	// newPlan adds these newer kinds separately, so that the other actions of a seed stay the same.
	{"absence", 0, (*life).away},
	{"text messages", 0, (*life).text},
}

// newPlan draws the actions for a number of days.
func newPlan(seed uint64, days float64) (plan []action) {
	r := rand.New(rand.NewPCG(seed, 2))
	later, last := rand.New(rand.NewPCG(seed, 7)), rand.New(rand.NewPCG(seed, 9))
	total := 0
	for _, k := range kinds {
		total += k.often
	}
	left := time.Duration(days * float64(24*time.Hour))
	for left > 0 {
		a := action{n: len(plan), pause: pause(r), dice: r.Uint64()}
		left -= a.pause
		at := r.IntN(total)
		for _, k := range kinds {
			if at -= k.often; at < 0 {
				a.kind = k.name
				break
			}
		}
		plan = append(plan, a)
		if later.IntN(16) == 0 {
			plan = append(plan, action{n: len(plan), pause: time.Second, kind: "absence", dice: later.Uint64()})
		}
		if last.IntN(20) == 0 {
			plan = append(plan, action{n: len(plan), pause: time.Second, kind: "text messages", dice: last.Uint64()})
		}
	}
	return plan
}

// pause draws the time before an action: mostly seconds, so that holds collide, and sometimes hours. An hour without an
// action takes as long to run as a dozen actions, because the server checks for due work every second.
func pause(r *rand.Rand) time.Duration {
	most := 2 * time.Second
	switch n := r.IntN(100); {
	case n < 2:
		most = 3 * time.Hour
	case n < 12:
		most = 30 * time.Minute
	case n < 60:
		most = time.Minute
	}
	return time.Duration(r.Int64N(int64(most)))
}

// only returns the actions of a plan with the given numbers. The pauses of the other actions remain, so that the
// returned actions happen at their original times.
func only(plan []action, keep []int) (kept []action) {
	var waited time.Duration
	for _, a := range plan {
		waited += a.pause
		if slices.Contains(keep, a.n) {
			a.pause, waited = waited, 0
			kept = append(kept, a)
		}
	}
	return kept
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// oneOf draws an element of a list. It returns the zero value if the list is empty.
func oneOf[T any](r *rand.Rand, list []T) (one T) {
	if len(list) == 0 {
		return one
	}
	return list[r.IntN(len(list))]
}
