package web_test

import (
	"regexp"
	"strings"
	"testing"
)

// roleSentence matches a sentence in a description that states who may call an operation.
var roleSentence = regexp.MustCompile(
	`For (?:all staff|staff|owners|an owner|the reception|agent keys|presence keys|admin keys)\b[^.]*\.`)

// public is the column of callers without any credential.
var public = roleColumns[0]

// TestOpenAPISaysWhoMayCall checks the sentence in the description of every operation against the table of roles, whose
// responses TestEveryRouteByRoleAndForeignID checks.
func TestOpenAPISaysWhoMayCall(t *testing.T) {
	t.Parallel()
	doc, err := description()
	if err != nil {
		t.Fatal(err)
	}
	allowed := map[string]map[string]bool{} // callers, by the id of the operation
	for _, line := range readRoleTable(t) {
		operation := findOperation(doc, line.method, line.path)
		if operation == nil {
			t.Fatalf("line %d: %s %s is not described", line.number, line.method, line.path)
		}
		callers := allowed[operation.OperationID]
		if callers == nil {
			callers = map[string]bool{}
			allowed[operation.OperationID] = callers
		}
		for i, answer := range line.want {
			column := roleColumns[i]
			// The public and a patient may send such a request, even if the clinic's settings then refuse it.
			asks := answer == "403" && (column == public || column == "link")
			if asks || answer != "401" && answer != "403" {
				callers[column] = true
			}
		}
	}
	for path, item := range doc.Paths.Map() {
		for method, operation := range item.Operations() {
			callers, ok := allowed[operation.OperationID]
			if !ok {
				t.Errorf("%s %s has no line in the table of roles", method, path)
				continue
			}
			want := mayCall(callers, path)
			text := strings.Join(strings.Fields(operation.Description), " ")
			got := strings.Join(roleSentence.FindAllString(text, -1), " ")
			if got != want {
				t.Errorf("%s %s: its description says %q, want %q", method, path, got, want)
			}
		}
	}
}

// mayCall returns the sentence for these callers, or "" if all callers may call.
func mayCall(callers map[string]bool, path string) string {
	if callers[public] || len(callers) == 0 {
		return ""
	}
	names := map[string]string{
		"owner": "owners", "recep": "the reception", "own": "the specialist concerned", "agent": "agent keys",
		"presence": "presence keys", "admin": "admin keys", "link": "the manage link of the appointment",
	}
	switch {
	case strings.HasPrefix(path, "/v1/waitlist/"):
		names["link"] = "the link of the entry"
	case strings.HasPrefix(path, "/v1/requests/"):
		names["link"] = "the link of the request"
	case path == "/metrics": // the table has no columns for these keys and for this machine
		names["admin"] = "admin keys, metrics keys and requests from this machine"
	}
	order, said := []string{"owner", "recep", "own", "agent", "presence", "admin", "link"}, []string(nil)
	if callers["owner"] && callers["recep"] && callers["own"] && callers["foreign"] {
		order, said = order[3:], []string{"all staff"}
	}
	for _, caller := range order {
		if callers[caller] {
			said = append(said, names[caller])
		}
	}
	last := len(said) - 1
	if last == 0 {
		return "For " + said[0] + "."
	}
	join := " and "
	if strings.Contains(said[last], " and ") {
		join = ", "
	}
	return "For " + strings.Join(said[:last], ", ") + join + said[last] + "."
}
