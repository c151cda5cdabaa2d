package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"
)

// earlierState is an earlier state of the database in backups: the snapshot before an upgrade (before-….db), or the files
// that a restore replaced (replaced-…).
type earlierState struct {
	name  string
	made  time.Time
	bytes int64
	note  string // for restore --list
}

const replacedPrefix = "replaced-"

var upgradeSnapshot = regexp.MustCompile(`^before-(\d{4})-(.+)\.db$`)

// earlierStatesIn lists the earlier states in a directory. A directory that does not exist has none.
func earlierStatesIn(dir string) (all []earlierState, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		name, file := e.Name(), filepath.Join(dir, e.Name())
		var stamp, note string
		if match := upgradeSnapshot.FindStringSubmatch(name); match != nil && !e.IsDir() {
			version, _ := strconv.Atoi(match[1]) // digits
			stamp, note = match[2], fmt.Sprintf("before an upgrade from schema version %d", version-1)
		} else if len(name) > len(replacedPrefix) && name[:len(replacedPrefix)] == replacedPrefix && e.IsDir() {
			stamp, note, file = name[len(replacedPrefix):], "replaced by a restore", filepath.Join(file, databaseFile)
		}
		if at, err := time.Parse(stampFormat, stamp); err == nil {
			all = append(all, earlierState{name, at, max(size(file), 0), note})
		}
	}
	return all, err
}

// earlier is how long the earlier states are kept: for the days and weeks of the plan, 7 days at least.
func (k backupKeep) earlier() time.Duration {
	return time.Duration(max(k.days, 7*k.weeks, 7)) * 24 * time.Hour
}

// expireEarlier deletes the earlier states in a directory that are older than the plan keeps them.
func (k backupKeep) expireEarlier(dir string, now time.Time) error {
	all, err := earlierStatesIn(dir)
	for _, s := range all {
		if now.Sub(s.made) > k.earlier() {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, s.name)))
		}
	}
	return err
}
