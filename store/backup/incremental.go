package backup

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

// The name of an incremental backup, such as trail-000007-1f2e3d4c, has two parts. The number counts the incremental
// backups of a destination, so that they stay in order if the clock is set back. The mark identifies the database, so
// that a server with a different database does not delete this database's incremental backups.

const (
	incrementalPrefix = "trail-"
	incrementSuffix   = ".step"
	incrementPartial  = ".step-*" // an increment that is being written

	// leastIncrementals is the number of newest incremental backups that are always retained.
	leastIncrementals = 3
	// keepAllIncrementals is how long every incremental backup is retained. An operator who restored the wrong copy, or
	// whose server restarts repeatedly, may need a copy that is not the newest of its day.
	keepAllIncrementals = 3 * 24 * time.Hour
)

// Incremental describes an incremental backup by the names, sizes and times of its files. The content of the files has
// not been read.
type Incremental struct {
	Path    string
	Number  int
	Mark    string // mark of the database
	Sealed  bool
	Steps   int       // number of increments from the first up to a gap; 0 if the first is missing
	More    int       // number of increments after the gap
	Begun   time.Time // when the first increment was made
	Last    time.Time // when the last increment before the gap was made
	Newest  time.Time // when the last increment was made, even if it is after the gap
	Bytes   int64
	Missing string // the name of the increment at the gap
	Unread  error  // why the list of files may be incomplete
}

// Increments returns a number of increments in words: "1 increment", "4 increments".
func Increments(n int) string {
	if n == 1 {
		return "1 increment"
	}
	return fmt.Sprintf("%d increments", n)
}

// Text returns one line that describes an incremental backup.
func (i Incremental) Text() string {
	text := Increments(i.Steps) + " since " + i.Begun.UTC().Format(time.RFC3339)
	if i.Missing != "" {
		text += ", " + i.Missing + " is missing"
	}
	if i.Unread != nil {
		text += ", there may be more: " + i.Unread.Error()
	}
	return text
}

// markOf returns the mark of a database.
func markOf(databaseID string) string {
	sum := sha256.Sum256([]byte(databaseID))
	return fmt.Sprintf("%x", sum[:4])
}

func incrementalName(number int, mark string) string {
	return fmt.Sprintf("%s%06d-%s", incrementalPrefix, number, mark)
}

// parseIncrementalName reads the name of an incremental backup.
func parseIncrementalName(name string) (number int, mark string, ok bool) {
	rest, ok := strings.CutPrefix(name, incrementalPrefix)
	digits, mark, cut := strings.Cut(rest, "-")
	number, err := strconv.Atoi(digits)
	return number, mark, ok && cut && err == nil && number >= 0
}

func incrementName(number int, sealed bool) string {
	name := fmt.Sprintf("%06d%s", number, incrementSuffix)
	if sealed {
		name += sealedSuffix
	}
	return name
}

// parseIncrementName reads the name of an increment.
func parseIncrementName(file string) (number int, sealed, ok bool) {
	name, sealed := strings.CutSuffix(file, sealedSuffix)
	digits, hasSuffix := strings.CutSuffix(name, incrementSuffix)
	number, err := strconv.Atoi(digits)
	return number, sealed, hasSuffix && err == nil && incrementName(number, sealed) == file
}

// isIncremental reports whether a directory is an incremental backup, even one whose first increment is missing.
func isIncremental(path string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return false
	}
	if _, _, named := parseIncrementalName(filepath.Base(path)); named {
		return true
	}
	return readIncremental(path).Steps > 0
}

// readIncremental describes the incremental backup in a directory.
func readIncremental(path string) Incremental {
	entries, unread := os.ReadDir(path)
	var files []incrementFile
	for _, e := range entries {
		f := incrementFile{name: e.Name()}
		if _, _, ok := parseIncrementName(f.name); !ok {
			continue
		}
		if info, err := e.Info(); err != nil {
			unread = errors.Join(unread, err)
		} else {
			f.bytes, f.made = info.Size(), info.ModTime()
		}
		files = append(files, f)
	}
	return incrementalOf(path, files, unread)
}

// incrementFile is a file of an incremental backup in a listing.
type incrementFile struct {
	name  string
	bytes int64
	made  time.Time // zero means unknown
}

// incrementalOf describes the incremental backup that consists of these files.
func incrementalOf(path string, files []incrementFile, unread error) Incremental {
	i := Incremental{Path: path, Unread: unread}
	i.Number, i.Mark, _ = parseIncrementalName(filepath.Base(path))
	made := map[int]time.Time{}
	for _, f := range files {
		number, sealed, ok := parseIncrementName(f.name)
		if !ok {
			continue
		}
		i.Sealed = i.Sealed || sealed
		i.Bytes += f.bytes
		made[number] = f.made
		if f.made.After(i.Newest) {
			i.Newest = f.made
		}
	}
	for at, found := made[i.Steps]; found; at, found = made[i.Steps] {
		if i.Steps == 0 {
			i.Begun = at
		}
		i.Last = at
		i.Steps++
	}
	if i.More = len(made) - i.Steps; i.More > 0 {
		i.Missing = incrementName(i.Steps, i.Sealed)
	}
	return i
}

// incrementalsIn lists the incremental backups in a directory in the order in which they were started. If the directory
// does not exist, the list is empty.
func incrementalsIn(dir string) (list []Incremental, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if _, _, ok := parseIncrementalName(e.Name()); ok && e.IsDir() {
			list = append(list, readIncremental(filepath.Join(dir, e.Name())))
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Number < list[j].Number })
	return list, err
}

// expiredIncrementals returns the expired incremental backups of one database. all is in the order in which they were
// started. It retains the newest three, all from the last three days, and the newest of each day that the plan keeps.
// Days are in the given zone. An incremental backup without any increment expires unless it is the newest. An
// incremental backup that could not be listed completely, or whose first increment is missing, is retained because it
// may be good.
func (k Keep) expiredIncrementals(all []Incremental, mark string, now time.Time,
	zone *time.Location) (list []Incremental) {
	whole, days, day := 0, 0, ""
	for n := len(all) - 1; n >= 0; n-- {
		i := all[n]
		if i.Mark != mark || i.Unread != nil {
			continue
		}
		if i.Steps == 0 {
			if i.More == 0 && n < len(all)-1 {
				list = append(list, i)
			}
			continue
		}
		stays := whole < leastIncrementals || now.Sub(i.Newest) < keepAllIncrementals
		whole++
		if of := i.Last.In(zone).Format(time.DateOnly); of != day {
			day = of
			days++
			stays = stays || days <= k.Days
		}
		if !stays {
			list = append(list, i)
		}
	}
	return list
}
