// Package deploy contains the files for operators of Holdfast, and the tests that check them: every metric that a
// dashboard or an alert names exists in the scrape of a live server, with the labels that are used.
package deploy

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// query is one PromQL expression and its location.
type query struct{ where, expr string }

// dashboard lists the expressions of the Grafana dashboard, with its variables filled in as Grafana does.
func dashboard(t testing.TB) (all []query) {
	t.Helper()
	b, err := os.ReadFile("grafana/holdfast.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Panels []struct {
			Title   string
			Type    string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(b, &file); err != nil {
		t.Fatal(err)
	}
	fill := strings.NewReplacer("$__rate_interval", "5m", "$instance", ".*", "$job", "holdfast")
	for _, p := range file.Panels {
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("the panel %q has no query", p.Title)
		}
		for _, target := range p.Targets {
			all = append(all, query{p.Title, fill.Replace(target.Expr)})
		}
	}
	return all
}

var exprLine = regexp.MustCompile(`(?m)^\s+(?:- )?(alert|expr): (.*(?:\n {10,}\S.*)*)`)

// alerts lists the expressions of the alert rules.
func alerts(t testing.TB) (all []query) {
	t.Helper()
	b, err := os.ReadFile("prometheus/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	name := ""
	for _, m := range exprLine.FindAllStringSubmatch(string(b), -1) {
		value := strings.Join(strings.Fields(strings.TrimPrefix(m[2], ">-")), " ")
		if m[1] == "alert" {
			name = value
			continue
		}
		all = append(all, query{name, value})
	}
	return all
}

// series is the content of a scrape: the label sets of each metric.
type series map[string][]map[string]string

var (
	seriesLine = regexp.MustCompile(`^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? \S+$`)
	labelPair  = regexp.MustCompile(`([a-zA-Z_]\w*)\s*(=~|!~|!=|=)\s*"((?:[^"\\]|\\.)*)"`)
)

func parseScrape(text string) series {
	found := series{}
	for line := range strings.Lines(text) {
		m := seriesLine.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil || strings.HasPrefix(line, "#") {
			continue
		}
		labels := map[string]string{"job": "holdfast", "instance": "test"} // added by Prometheus
		for _, p := range labelPair.FindAllStringSubmatch(m[2], -1) {
			labels[p[1]] = p[3]
		}
		found[m[1]] = append(found[m[1]], labels)
	}
	return found
}

// These are the parts of PromQL that read can parse.
var (
	functions = []string{"rate", "increase", "histogram_quantile", "time"}
	operators = []string{"sum", "max", "min", "avg", "count", "topk"}
	keywords  = []string{"by", "without", "on", "ignoring", "group_left", "group_right", "and", "or", "unless", "bool",
		"offset"}
)

var token = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|\[[^\]]*\]|[a-zA-Z_:][\w:]*|\d[\w.]*|\S`)

// selector is a metric with its label matchers.
type selector struct {
	metric   string
	matchers [][3]string // label, operator, value
}

// read parses an expression: the selectors in it, the labels that it groups by, and the parts that it cannot parse.
func read(expr string) (selectors []selector, groups, strange []string) {
	words := token.FindAllString(expr, -1)
	for i := 0; i < len(words); i++ {
		w := words[i]
		next := ""
		if i+1 < len(words) {
			next = words[i+1]
		}
		switch {
		case !regexp.MustCompile(`^[a-zA-Z_:]`).MatchString(w):
		case slices.Contains(keywords, w) && next == "(" &&
			slices.Contains([]string{"by", "without", "on", "ignoring", "group_left", "group_right"}, w):
			end := i + slices.Index(words[i:], ")")
			for _, label := range words[i+2 : end] {
				if label != "," {
					groups = append(groups, label)
				}
			}
			i = end
		case slices.Contains(keywords, w):
		case next == "(" && slices.Contains(functions, w), slices.Contains(operators, w):
		case next == "(":
			strange = append(strange, w)
		default:
			s := selector{metric: w}
			if next == "{" {
				end := i + slices.Index(words[i:], "}")
				for _, p := range labelPair.FindAllStringSubmatch(strings.Join(words[i+2:end], ""), -1) {
					s.matchers = append(s.matchers, [3]string{p[1], p[2], p[3]})
				}
				i = end
			}
			selectors = append(selectors, s)
		}
	}
	return selectors, groups, strange
}

// faults lists the parts of an expression that the scrape does not contain.
func faults(expr string, there series) (wrong []string) {
	selectors, groups, strange := read(expr)
	for _, w := range strange {
		wrong = append(wrong, "no function is called "+w)
	}
	if len(selectors) == 0 {
		wrong = append(wrong, "it asks for no metric")
	}
	for _, s := range selectors {
		all := there[s.metric]
		if s.metric == "up" { // created by Prometheus for each scrape
			all = []map[string]string{{"job": "holdfast", "instance": "test"}}
		}
		if len(all) == 0 {
			wrong = append(wrong, "there is no metric "+s.metric)
			continue
		}
		if !slices.ContainsFunc(all, func(labels map[string]string) bool { return matches(labels, s.matchers) }) {
			wrong = append(wrong, "no series of "+s.metric+" has the labels that are asked for")
		}
		for _, label := range groups {
			if !slices.ContainsFunc(all, func(labels map[string]string) bool { _, ok := labels[label]; return ok }) {
				wrong = append(wrong, s.metric+" has no label "+label)
			}
		}
	}
	return wrong
}

func matches(labels map[string]string, matchers [][3]string) bool {
	for _, m := range matchers {
		value, known := labels[m[0]]
		full, err := regexp.Compile("^(?:" + m[2] + ")$")
		switch {
		case !known || err != nil, m[1] == "=" && value != m[2], m[1] == "!=" && value == m[2],
			m[1] == "=~" && !full.MatchString(value), m[1] == "!~" && full.MatchString(value):
			return false
		}
	}
	return true
}

// TestNamedMetricsExist compares the dashboard and the alerts with the scrape of a live server.
func TestNamedMetricsExist(t *testing.T) {
	there := parseScrape(newHouse(t).scrapes())
	for kind, list := range map[string][]query{"the dashboard": dashboard(t), "the alerts": alerts(t)} {
		if len(list) < 15 {
			t.Errorf("%s: found only %d expressions", kind, len(list))
		}
		for _, q := range list {
			for _, wrong := range faults(q.expr, there) {
				t.Errorf("%s, %s: %s\n\t%s", kind, q.where, wrong, q.expr)
			}
		}
	}
}

// TestMetricsAreOnDashboard: a metric that no panel shows is not needed. Build information and Go's own metrics are
// exempt.
func TestMetricsAreOnDashboard(t *testing.T) {
	shown := ""
	for _, q := range append(dashboard(t), alerts(t)...) {
		shown += q.expr + "\n"
	}
	for name := range parseScrape(newHouse(t).scrapes()) {
		name = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_sum"), "_count")
		if strings.HasPrefix(name, "holdfast_") && name != "holdfast_build_info" && !strings.Contains(shown, name) {
			t.Errorf("neither the dashboard nor an alert uses %s", name)
		}
	}
}

// TestExpressionMistakeIsFound plants one mistake of each kind.
func TestExpressionMistakeIsFound(t *testing.T) {
	there := parseScrape(`# HELP a_total x
a_total{kind="x",reason="say \"no\""} 1
b 2
c_bucket{le="+Inf"} 3
`)
	for expr, want := range map[string]string{
		`sum by (kind) (rate(a_total{kind="x",job="holdfast"}[5m])) > 0`:                   "",
		`histogram_quantile(0.99, sum by (le, instance) (rate(c_bucket[5m])))`:             "",
		`b > on (job, instance) (5000 + 3 * sum by (job, instance) (b))`:                   "",
		`rate(a_total{kind=~"x|y"}[5m]) unless on (job, kind) a_total{reason!="z"} > 1e-3`: "",
		`up{job="holdfast"} == 0`:                 "",
		`rate(a_totals[5m])`:                      "there is no metric a_totals",
		`rate(a_total{kind="z"}[5m])`:             "no series of a_total has the labels that are asked for",
		`rate(a_total{kinds="x"}[5m])`:            "no series of a_total has the labels that are asked for",
		`sum by (route) (a_total)`:                "a_total has no label route",
		`rates(a_total[5m])`:                      "no function is called rates",
		`1 > 0`:                                   "it asks for no metric",
		`a_total{kind!~"x"}`:                      "no series of a_total has the labels that are asked for",
		`b or rate(a_total{reason="no"}[5m]) > 0`: "no series of a_total has the labels that are asked for",
	} {
		if got := strings.Join(faults(expr, there), "; "); got != want {
			t.Errorf("%s: got %q, want %q", expr, got, want)
		}
	}
}
