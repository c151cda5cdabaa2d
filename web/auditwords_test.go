package web_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"holdfast/engine/words"
)

// actions are the names under which the engine writes to the log.
var actions = regexp.MustCompile(`"((?:appointments?|appointmenttypes?|person|blocks?|override|weeklyhours|specialist|clinic|settings|request|user|apikey|operation)\.[a-z_]+)"`)

// TestTheLogHasASentenceForEveryAction: the console's log says in each language what was done; an action without one would be shown as
// its bare name.
func TestTheLogHasASentenceForEveryAction(t *testing.T) {
	found := make(map[string]bool)
	err := filepath.WalkDir("../engine", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		b, err := os.ReadFile(path)
		for _, m := range actions.FindAllStringSubmatch(string(b), -1) {
			found[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	delete(found, "appointment.ics") // a file's name
	for _, kind := range []string{"attendance", "patient_changed", "undone", "updated", "upstream.completed", "upstream.failed", "upstream.needs_review", "upstream.refused"} {
		found["appointment."+kind] = true // put together from a booking.Change
	}
	if len(found) < 40 {
		t.Errorf("found only %d actions", len(found))
	}
	for _, language := range words.Tags() {
		b, err := os.ReadFile("../engine/words/" + language + "/pages/owner.json")
		if err != nil {
			t.Fatal(err)
		}
		var texts map[string]any
		if err := json.Unmarshal(b, &texts); err != nil {
			t.Fatal(err)
		}
		for action := range found {
			if texts["audit.do."+action] == nil {
				t.Errorf("%s: the log has no sentence for %s", language, action)
			}
		}
	}
}
