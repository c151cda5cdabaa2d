package backup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Plan sets when the server makes backups, how many of them it retains, and where it copies them. With the zero value,
// the server makes no backups.
type Plan struct {
	Daily       bool
	At          time.Duration // time of the daily backup, after midnight in the clinic's zone
	Keep        Keep
	Destination string        // absolute path of a directory, or s3://bucket/prefix; empty means none
	Access      Access        // settings for connecting to the bucket
	Every       time.Duration // interval of incremental backups; 0 means none
}

// Keep sets for how many days, weeks and months the newest backup of each is retained.
type Keep struct{ Days, Weeks, Months int }

// ParseAt sets Daily and At from a time such as 03:00, or off.
func (p *Plan) ParseAt(v string) error {
	if v == "off" {
		p.Daily = false
		return nil
	}
	at, err := time.Parse("15:04", v)
	if err != nil {
		return fmt.Errorf("%q must be a time such as 03:00, or off", v)
	}
	p.Daily, p.At = true, time.Duration(at.Hour())*time.Hour+time.Duration(at.Minute())*time.Minute
	return nil
}

// ParseEvery reads the interval of incremental backups: 1s to 24h, or off.
func ParseEvery(v string) (time.Duration, error) {
	if v == "off" {
		return 0, nil
	}
	every, err := time.ParseDuration(v)
	if err != nil || every < time.Second || every > 24*time.Hour {
		return 0, fmt.Errorf("%q must be off, or a duration from 1s to 24h, such as 1m", v)
	}
	return every, nil
}

// ParseKeep reads days, weeks and months, such as 7,4,12. Days is at least 1.
func ParseKeep(v string) (k Keep, err error) {
	parts := strings.Split(v, ",")
	numbers := []*int{&k.Days, &k.Weeks, &k.Months}
	if len(parts) != len(numbers) {
		return k, fmt.Errorf("%q must be three numbers (days, weeks and months), such as 7,4,12", v)
	}
	for i, part := range parts {
		if *numbers[i], err = strconv.Atoi(strings.TrimSpace(part)); err != nil || *numbers[i] < 0 ||
			*numbers[i] > 1000 {
			return k, fmt.Errorf("%q must be three numbers from 0 to 1000 (days, weeks and months), such as 7,4,12", v)
		}
	}
	if k.Days == 0 {
		return k, errors.New("the number of days must be at least 1. To turn backups off, set --backup-at off")
	}
	return k, nil
}

// ParseDestination returns the absolute path of a directory, or the shortest form of s3://bucket/prefix.
func ParseDestination(v string) (string, error) {
	switch {
	case v == "":
		return "", nil
	case strings.HasPrefix(v, bucketScheme):
		return parseBucket(v)
	}
	return filepath.Abs(v)
}

// due reports whether a daily backup is due: the last one is older than the latest planned time.
func (p *Plan) due(last, now time.Time, zone *time.Location) bool {
	local := now.In(zone)
	hour, minute := int(p.At/time.Hour), int(p.At%time.Hour/time.Minute)
	planned := time.Date(local.Year(), local.Month(), local.Day(), hour, minute, 0, 0, zone)
	if planned.After(now) {
		planned = time.Date(local.Year(), local.Month(), local.Day()-1, hour, minute, 0, 0, zone)
	}
	return last.Before(planned)
}

// expired returns the backups that are not the newest of a retained day, week or month. made holds the times of all
// backups, oldest first. Days are in the given zone, and weeks follow ISO 8601.
func (k Keep) expired(made []time.Time, zone *time.Location) (list []time.Time) {
	periods := []struct {
		left int
		of   func(time.Time) string
		last string
	}{
		{left: k.Days, of: func(t time.Time) string { return t.Format(time.DateOnly) }},
		{left: k.Weeks, of: func(t time.Time) string { y, w := t.ISOWeek(); return fmt.Sprint(y, "-", w) }},
		{left: k.Months, of: func(t time.Time) string { return t.Format("2006-01") }},
	}
	for i := len(made) - 1; i >= 0; i-- { // newest first
		stays := false
		for n := range periods {
			p := &periods[n]
			if of := p.of(made[i].In(zone)); of != p.last && p.left > 0 {
				p.last, stays = of, true
				p.left--
			}
		}
		if !stays {
			list = append(list, made[i])
		}
	}
	return list
}

// ownPrefix begins the name of a daily backup. The server deletes no other backups.
const ownPrefix = "auto-"

// parseName reads the name of a backup: when it was made, and whether it is a daily backup.
func parseName(name string) (at time.Time, own, ok bool) {
	stamp, own := strings.CutPrefix(name, ownPrefix)
	at, err := time.Parse(StampFormat, stamp)
	return at, own, err == nil
}

// ownName returns the name of the daily backup made at the given time.
func ownName(at time.Time) string { return ownPrefix + at.UTC().Format(StampFormat) }

// ownBackups lists when the daily backups in a directory were made, oldest first. If the directory does not exist, the
// list is empty.
func ownBackups(dir string) ([]time.Time, error) {
	entries, err := os.ReadDir(dir) // sorted by name, and so by time
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var made []time.Time
	for _, e := range entries {
		if at, own, ok := parseName(e.Name()); ok && own && e.IsDir() {
			made = append(made, at)
		}
	}
	return made, err
}
