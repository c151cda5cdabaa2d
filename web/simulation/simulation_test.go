package simulation

import (
	"flag"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdfast/cli/clitest"
)

var (
	firstSeed = flag.Uint64("seed", 0, "the one clinic that TestSimulatedClinic lives through; 0: several")
	seeds     = flag.Int("seeds", 0, "how many clinics TestSimulatedClinic lives through; 0: as many as fit an ordinary run")
	days      = flag.Float64("days", 0, "how many virtual days of each; 0: one")
	shrinking = flag.Bool("shrink", true, "cut a failure down to the actions without which it would not be")
	onlyThese = flag.String("only", "", "the numbers of the actions that happen, with commas; empty: all")
)

// After the time ordinary, an ordinary run starts no further clinic.
const (
	ordinary = 8 * time.Second
	forEver  = time.Duration(1<<63 - 1)
)

// TestSimulatedClinic runs whole clinics, each from its seed, and stops at the first violated guarantee.
func TestSimulatedClinic(t *testing.T) {
	clitest.OnlyInFull(t)
	from, to, length := uint64(1), uint64(3), 1.0
	within := ordinary
	if *seeds > 0 {
		to, within = uint64(*seeds), forEver
	}
	if *firstSeed > 0 {
		within = forEver
		from, to = *firstSeed, *firstSeed+max(uint64(*seeds), 1)-1
	}
	if *days > 0 {
		length = *days
	}
	begun := time.Now()
	for seed := from; seed <= to && time.Since(begun) < within; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			plan := newPlan(seed, length)
			if *onlyThese != "" {
				plan = only(plan, numbers(t, *onlyThese))
			}
			began := time.Now()
			broken, counts := live(t, seed, plan)
			if broken == nil {
				t.Logf("%d actions in %.0f virtual days took %s: %v", len(plan), length,
					time.Since(began).Round(time.Millisecond), counts)
				return
			}
			t.Errorf("seed %d: %v", seed, broken)
			if !*shrinking {
				return
			}
			least := shrink(t, seed, plan, broken)
			t.Errorf("replay: make simulate SEED=%d DAYS=%g ONLY=%s", seed, length, strings.Join(least, ","))
		})
	}
}

func numbers(t *testing.T, list string) (n []int) {
	for s := range strings.SplitSeq(list, ",") {
		i, err := strconv.Atoi(s)
		if err != nil {
			t.Fatalf("-only: %v", err)
		}
		n = append(n, i)
	}
	return n
}
