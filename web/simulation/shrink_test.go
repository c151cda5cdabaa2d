package simulation

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// shrinkTime is the maximum time for reducing the plan of a failure.
const shrinkTime = 60 * time.Second

// shrink searches for the fewest actions of a plan that still violate a guarantee, and returns their numbers. It leaves
// out halves, quarters and so on, then single actions, until shrinkTime is over.
func shrink(t *testing.T, seed uint64, plan []action, broken *failure) (numbers []string) {
	keep := upTo(plan, broken.action.n)
	end := time.Now().Add(shrinkTime)
	tries := 0
	for size := len(keep) / 2; size > 0; {
		smaller := false
		for at := 0; at+size <= len(keep) && time.Now().Before(end); {
			without := slices.Delete(slices.Clone(keep), at, at+size)
			tries++
			if f, _ := live(t, seed, only(plan, without)); f == nil {
				at += size
				continue
			} else if f.action.n >= 0 {
				without, broken = slices.DeleteFunc(without, func(n int) bool { return n > f.action.n }), f
			}
			keep, smaller = without, true
		}
		if !smaller || size > len(keep)/2 {
			size /= 2
		}
		if time.Now().After(end) {
			break
		}
	}
	t.Logf("%d of %d actions are enough (%d tries): %v", len(keep), len(plan), tries, broken)
	for _, a := range only(plan, keep) {
		t.Logf("  %d %s", a.n, a.kind)
		numbers = append(numbers, fmt.Sprint(a.n))
	}
	return numbers
}

// upTo lists the numbers of a plan's actions up to and including last.
func upTo(plan []action, last int) (n []int) {
	for _, a := range plan {
		if a.n <= last || last < 0 {
			n = append(n, a.n)
		}
	}
	return n
}
