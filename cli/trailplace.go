package cli

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"time"
)

// A trail is a directory of the backup destination, trail-000007-1f2e3d4c: the first number counts the trails there, so that a clock that was set
// back does not put one before another; the other stands for the database, so that a server which was started anew with an empty one
// deletes nothing of the clinic's.

const (
	trailBegin  = "trail-"
	stepSuffix  = ".step"
	stepPartial = ".step-*" // what a step is written as until it is whole
	leastTrails = 3         // that are kept, however old

	// keepAllTrails is how long each trail is kept: whoever has restored the wrong copy, or has a server that is started again and again, needs the
	// trail that is not the newest of its day.
	keepAllTrails = 3 * 24 * time.Hour
)

// trailMark stands for a database in the names of its trails.
func trailMark(databaseID string) string {
	sum := sha256.Sum256([]byte(databaseID))
	return fmt.Sprintf("%x", sum[:4])
}

func trailName(number int, mark string) string {
	return fmt.Sprintf("%s%06d-%s", trailBegin, number, mark)
}

// parseTrailName reads the name of a trail.
func parseTrailName(name string) (number int, mark string, ok bool) {
	rest, ok := strings.CutPrefix(name, trailBegin)
	digits, mark, cut := strings.Cut(rest, "-")
	number, err := strconv.Atoi(digits)
	return number, mark, ok && cut && err == nil && number >= 0
}

// stepName is the file of a step.
func stepName(number int, sealed bool) string {
	name := fmt.Sprintf("%06d%s", number, stepSuffix)
	if sealed {
		name += sealedSuffix
	}
	return name
}

// parseStepName reads the name of a step's file.
func parseStepName(file string) (number int, sealed, ok bool) {
	name, sealed := strings.CutSuffix(file, sealedSuffix)
	digits, isStep := strings.CutSuffix(name, stepSuffix)
	number, err := strconv.Atoi(digits)
	return number, sealed, isStep && err == nil && stepName(number, sealed) == file
}

// trailAt is a trail in a backup destination, as its names tell of it: nothing of it was read.
type trailAt struct {
	path    string
	number  int
	mark    string
	sealed  bool
	steps   int       // that follow one another without a gap, the first among them; 0: it has none to begin with
	more    int       // that lie behind the gap
	begun   time.Time // when the first was made
	last    time.Time // when the last without a gap was made
	newest  time.Time // when the last of all was made
	bytes   int64
	missing string // the name of the first that is missing although there are more
	unread  error  // what could not be found out about it: there may be more of it than is said here
}

// isTrail reports whether a directory is a trail, even one whose first step is gone.
func isTrail(path string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return false
	}
	if _, _, named := parseTrailName(filepath.Base(path)); named {
		return true
	}
	return lookAtTrail(path).steps > 0
}

// lookAtTrail looks at the names and the times in a directory.
func lookAtTrail(path string) trailAt {
	entries, unread := os.ReadDir(path)
	var files []stepFile
	for _, e := range entries {
		f := stepFile{name: e.Name()}
		if _, _, ok := parseStepName(f.name); !ok {
			continue
		}
		if info, err := e.Info(); err != nil {
			unread = errors.Join(unread, err)
		} else {
			f.bytes, f.made = info.Size(), info.ModTime()
		}
		files = append(files, f)
	}
	return trailOf(path, files, unread)
}

// stepFile is a file of a trail, as a list tells of it.
type stepFile struct {
	name  string
	bytes int64
	made  time.Time // zero: not known
}

// trailOf is the trail of these files.
func trailOf(path string, files []stepFile, unread error) trailAt {
	t := trailAt{path: path, unread: unread}
	t.number, t.mark, _ = parseTrailName(filepath.Base(path))
	made := map[int]time.Time{}
	for _, f := range files {
		number, sealed, ok := parseStepName(f.name)
		if !ok {
			continue
		}
		t.sealed = t.sealed || sealed
		t.bytes += f.bytes
		made[number] = f.made
		if f.made.After(t.newest) {
			t.newest = f.made
		}
	}
	for at, there := made[t.steps]; there; at, there = made[t.steps] {
		if t.steps == 0 {
			t.begun = at
		}
		t.last = at
		t.steps++
	}
	if t.more = len(made) - t.steps; t.more > 0 {
		t.missing = stepName(t.steps, t.sealed)
	}
	return t
}

// trailsIn lists the trails in a directory in the order in which they were begun. A directory that is not there has none.
func trailsIn(dir string) (list []trailAt, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if _, _, ok := parseTrailName(e.Name()); ok && e.IsDir() {
			list = append(list, lookAtTrail(filepath.Join(dir, e.Name())))
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].number < list[j].number })
	return list, err
}

// expendableTrails are those of one database, in the order in which they were begun, that are older than all that is kept, and neither among the
// newest nor the newest of a day that is kept. Days are the zone's. One without any step is no trail, and goes, unless it is the newest; one that
// could not be read whole, or whose first step is not found although there are others, may be good, and stays.
func (k backupKeep) expendableTrails(all []trailAt, mark string, now time.Time, zone *time.Location) (gone []trailAt) {
	whole, days, day := 0, 0, ""
	for i := len(all) - 1; i >= 0; i-- {
		t := all[i]
		if t.mark != mark || t.unread != nil {
			continue
		}
		if t.steps == 0 {
			if t.more == 0 && i < len(all)-1 {
				gone = append(gone, t)
			}
			continue
		}
		kept := whole < leastTrails || now.Sub(t.newest) < keepAllTrails
		whole++
		if of := t.last.In(zone).Format(time.DateOnly); of != day {
			day = of
			days++
			kept = kept || days <= k.days
		}
		if !kept {
			gone = append(gone, t)
		}
	}
	return gone
}
