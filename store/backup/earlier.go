package backup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"holdfast/store/disk"
)

// ReplacedPrefix begins the name of a directory in Folder that holds the files replaced by a restore.
const ReplacedPrefix = "replaced-"

// earlierState is an earlier state of the database in Folder: the snapshot before an upgrade, or the files that a
// restore replaced.
type earlierState struct {
	name  string
	made  time.Time
	bytes int64
	note  string // shown by List
}

var upgradeSnapshot = regexp.MustCompile(`^before-(\d{4})-(.+)\.db$`)

// earlierStates lists the earlier states in a directory. If the directory does not exist, the list is empty.
func earlierStates(dir string) (all []earlierState, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		name, file := e.Name(), filepath.Join(dir, e.Name())
		var stamp, note string
		if match := upgradeSnapshot.FindStringSubmatch(name); match != nil && !e.IsDir() {
			version, _ := strconv.Atoi(match[1]) // always digits
			stamp, note = match[2], fmt.Sprintf("before an upgrade from schema version %d", version-1)
		} else if rest, ok := strings.CutPrefix(name, ReplacedPrefix); ok && e.IsDir() {
			stamp, note, file = rest, "replaced by a restore", filepath.Join(file, DatabaseFile)
		}
		if at, err := time.Parse(StampFormat, stamp); err == nil {
			all = append(all, earlierState{name, at, max(disk.Size(file), 0), note})
		}
	}
	return all, err
}

// earlier returns how long earlier states are retained: the plan's days or weeks, whichever are longer, and at least 7
// days.
func (k Keep) earlier() time.Duration {
	return time.Duration(max(k.Days, 7*k.Weeks, 7)) * 24 * time.Hour
}

// expireEarlier deletes the earlier states in a directory that are older than k.earlier.
func (k Keep) expireEarlier(dir string, now time.Time) error {
	all, err := earlierStates(dir)
	for _, s := range all {
		if now.Sub(s.made) > k.earlier() {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, s.name)))
		}
	}
	return err
}
