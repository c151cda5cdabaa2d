package memory

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestClockFollowsTheWallClockWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c clock
		c.open()
		c.zero.Add(int64(-time.Hour)) // as if the wall clock had been set forward by an hour since then
		before := c.now()
		if off := time.Since(before.wall); off != time.Hour {
			t.Errorf("got a difference of %v, want one hour", off)
		}
		time.Sleep(time.Second)
		after := c.now()
		if !after.wall.Equal(time.Now()) || after.wall.Location() != time.UTC {
			t.Errorf("got %v, want %v", after.wall, time.Now().UTC())
		}
		if passed := after.mono - before.mono; passed != time.Second {
			t.Errorf("%v have passed, want one second: a step of the wall clock must not reach a deadline", passed)
		}
		if got, want := after.at(after.mono+time.Minute), after.wall.Add(time.Minute); !got.Equal(want) {
			t.Errorf("got %v in a minute, want %v", got, want)
		}
	})
}
