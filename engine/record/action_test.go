package record_test

import (
	"regexp"
	"slices"
	"testing"

	"holdfast/engine/record"
)

// TestActionsAreUniqueNames: the database and the API use an action's name, and the console has a text for each name.
func TestActionsAreUniqueNames(t *testing.T) {
	all := record.Actions()
	form := regexp.MustCompile(`^[a-z]+(\.[a-z_]+)+$`)
	for i, action := range all {
		if !form.MatchString(string(action)) || slices.Contains(all[:i], action) {
			t.Errorf("%q is not a noun, a dot and a verb, or occurs twice", action)
		}
	}
}
