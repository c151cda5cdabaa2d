package node_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"holdfast/holds/node"
)

var version7 = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

// TestIDBeginsWithItsTime: ids are UUIDs of version 7, different, and sorted by the millisecond of their creation.
func TestIDBeginsWithItsTime(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for ms := range 1000 {
		now := nine.Add(time.Duration(ms) * time.Millisecond)
		id := node.NewID(now)
		if !version7.MatchString(id) || seen[id] {
			t.Fatalf("%s is not a new UUID of version 7", id)
		}
		seen[id] = true
		if got, want := strings.ReplaceAll(id[:13], "-", ""), fmt.Sprintf("%012x", now.UnixMilli()); got != want {
			t.Fatalf("%s begins with %s, want %s", id, got, want)
		}
	}
}

func replaced(text string, pairs ...string) string {
	return strings.NewReplacer(pairs...).Replace(text)
}
