package web

import (
	"testing"
	"time"

	"holdfast/store"
)

// TestExpositionGroupsSeries: the series appear below their header, whatever the order of the calls, and labels and
// help texts are escaped.
func TestExpositionGroupsSeries(t *testing.T) {
	var to exposition
	odd := &metric{"b_total", "Two\nlines, a \\ and \"quotes\".", []string{"a", "b"}}
	to.counter(odd, 3, "x", "y \"z\" \\ \n")
	to.gauge(&metric{"a", "One.", nil}, 0.25)
	to.counter(odd, 1<<53, "", "")
	want := `# HELP a One.
# TYPE a gauge
a 0.25
# HELP b_total Two\nlines, a \\ and "quotes".
# TYPE b_total counter
b_total{a="x",b="y \"z\" \\ \n"} 3
b_total{a="",b=""} 9.007199254740992e+15
`
	if got := string(to.text()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestDurationsAreAHistogram: the buckets are cumulative and in seconds, and the last one has no upper bound.
func TestDurationsAreAHistogram(t *testing.T) {
	var d store.Durations
	d.Observe(time.Millisecond)
	d.Observe(time.Minute)
	var to exposition
	to.durations(&metric{"d", "D.", []string{"k"}}, d.Counts(), "v")
	want := `# HELP d D.
# TYPE d histogram
d_bucket{k="v",le="0.0005"} 0
d_bucket{k="v",le="0.001"} 1
d_bucket{k="v",le="0.0025"} 1
d_bucket{k="v",le="0.005"} 1
d_bucket{k="v",le="0.01"} 1
d_bucket{k="v",le="0.025"} 1
d_bucket{k="v",le="0.05"} 1
d_bucket{k="v",le="0.1"} 1
d_bucket{k="v",le="0.25"} 1
d_bucket{k="v",le="0.5"} 1
d_bucket{k="v",le="1"} 1
d_bucket{k="v",le="2.5"} 1
d_bucket{k="v",le="10"} 1
d_bucket{k="v",le="+Inf"} 2
d_sum{k="v"} 60.001
d_count{k="v"} 2
`
	if got := string(to.text()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
