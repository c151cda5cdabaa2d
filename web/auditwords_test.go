package web_test

import (
	"encoding/json"
	"os"
	"testing"

	"holdfast/engine/record"
	"holdfast/engine/words"
)

// TestAuditLogDescribesEveryAction: an action without a text would appear in the console under its internal name.
func TestAuditLogDescribesEveryAction(t *testing.T) {
	for _, language := range words.Tags() {
		b, err := os.ReadFile("../engine/words/" + language + "/pages/owner.json")
		if err != nil {
			t.Fatal(err)
		}
		var texts map[string]any
		if err := json.Unmarshal(b, &texts); err != nil {
			t.Fatal(err)
		}
		for _, action := range record.Actions() {
			if texts["audit.do."+string(action)] == nil {
				t.Errorf("%s: the log has no text for %s", language, action)
			}
		}
	}
}
