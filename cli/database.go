package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// needDatabase returns an error for a data directory without a database, and creates nothing. Otherwise a mistyped
// --data would create a new, empty clinic, and an API key or owner created there would be useless. Commands that can
// start a clinic (serve, import, demo, restore) do not call it. If a server is just starting there for the first time,
// needDatabase waits for it.
func needDatabase(ctx context.Context, data string) error {
	patience, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	for !hasDatabase(data) {
		if _, err := os.Lstat(filepath.Join(data, lockFile)); err == nil {
			select {
			case <-patience.Done():
			case <-time.After(50 * time.Millisecond):
				continue
			}
		}
		hint := "Set --data to the directory of your clinic, or create a clinic with: holdfast serve"
		if near := nearDatabases(data); len(near) > 0 {
			hint = "Did you mean " + strings.Join(near, " or ") + "?"
		}
		return fmt.Errorf("no database in %s. %s", data, hint)
	}
	return nil
}

func hasDatabase(dir string) bool {
	for _, file := range []string{databaseFile, postgresFile} {
		_, err := os.Stat(filepath.Join(dir, file))
		if err == nil || os.IsPermission(err) { // if access is denied, opening the database reports the reason
			return true
		}
	}
	return false
}

// nearDatabases returns at most two directories with a database that the operator may have meant: next to the named
// directory, in it, above it, and the default. The most similar names come first.
func nearDatabases(data string) []string {
	data = filepath.Clean(data)
	above := filepath.Dir(data)
	var near []string
	for _, pattern := range []string{filepath.Join(data, "*"), filepath.Join(above, "*"), above, "holdfast-data"} {
		// Brackets in a directory's name act as a pattern, so Glob can miss files.
		files, _ := filepath.Glob(filepath.Join(pattern, databaseFile))
		for _, file := range files {
			if dir := filepath.Dir(file); dir != data && !slices.Contains(near, dir) {
				near = append(near, dir)
			}
		}
	}
	slices.SortStableFunc(near, func(a, b string) int {
		return distance(filepath.Base(a), filepath.Base(data)) - distance(filepath.Base(b), filepath.Base(data))
	})
	return near[:min(len(near), 2)]
}
