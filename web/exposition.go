package web

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"holdfast/store"
)

// metric describes one metric: its name, its help text and its labels.
type metric struct {
	name, help string
	labels     []string // label names, in order
}

// exposition is a response to Prometheus, in its text format 0.0.4
// (https://prometheus.io/docs/instrumenting/exposition_formats/). This package does not use the Prometheus client
// library: that library depends on protobuf, which would make up a thirteenth of the program's size, for a format with
// one line per value.
type exposition struct {
	lines map[*metric][]byte // the lines of each metric, after its header; the format requires them to be together
}

var expositionType = []string{"text/plain; version=0.0.4; charset=utf-8"}

// text returns all lines, sorted by name.
func (e *exposition) text() []byte {
	var all []byte
	for _, s := range slices.SortedFunc(maps.Keys(e.lines), func(a, b *metric) int {
		return strings.Compare(a.name, b.name)
	}) {
		all = append(all, e.lines[s]...)
	}
	return all
}

func (e *exposition) gauge(s *metric, v float64, values ...string) { e.value(s, "gauge", v, values...) }

func (e *exposition) counter(s *metric, n uint64, values ...string) {
	e.value(s, "counter", float64(n), values...)
}

func (e *exposition) value(s *metric, kind string, v float64, values ...string) {
	e.line(s, kind, "", v, values)
}

// durations adds a histogram in seconds.
func (e *exposition) durations(s *metric, c store.DurationCounts, values ...string) {
	for i, n := range c.Within {
		e.line(s, "histogram", "_bucket", float64(n), values, "le", number(store.DurationBounds[i].Seconds()))
	}
	e.line(s, "histogram", "_bucket", float64(c.Count), values, "le", "+Inf")
	e.line(s, "histogram", "_sum", c.Sum.Seconds(), values)
	e.line(s, "histogram", "_count", float64(c.Count), values)
}

var (
	helpEscapes  = strings.NewReplacer("\\", `\\`, "\n", `\n`)
	labelEscapes = strings.NewReplacer("\\", `\\`, "\n", `\n`, `"`, `\"`)
)

// line adds one line. more is the name and the value of an additional label, if there is one.
func (e *exposition) line(s *metric, kind, suffix string, v float64, values []string, more ...string) {
	b := e.lines[s]
	if b == nil {
		if e.lines == nil {
			e.lines = map[*metric][]byte{}
		}
		b = append(b, "# HELP "+s.name+" "+helpEscapes.Replace(s.help)+"\n# TYPE "+s.name+" "+kind+"\n"...)
	}
	b = append(b, s.name+suffix...)
	before := byte('{')
	label := func(name, value string) {
		b = append(append(append(b, before), name...), `="`...)
		b = append(append(b, labelEscapes.Replace(value)...), '"')
		before = ','
	}
	for i, name := range s.labels {
		label(name, values[i])
	}
	if len(more) > 0 {
		label(more[0], more[1])
	}
	if before == ',' {
		b = append(b, '}')
	}
	e.lines[s] = append(append(append(b, ' '), number(v)...), '\n')
}

// number formats a value, including +Inf and NaN.
func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
