package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// backupPlan says when the server makes backups by itself, how many of them it keeps, and where it puts a second copy. The zero
// value makes none.
type backupPlan struct {
	on     bool
	at     time.Duration // after midnight, by the clinic's clock
	keep   backupKeep
	second string        // absolute path of a directory for copies, or s3://bucket/prefix; empty: none
	s3     s3Config      // how a bucket is reached
	every  time.Duration // how often what has changed is copied to the backup destination; 0: never
}

// backupKeep is of how many days, weeks and months the newest backup is kept.
type backupKeep struct{ days, weeks, months int }

// backupSettings are the rows of the table about backups.
func backupSettings() []setting {
	return append([]setting{
		{
			name: "backup-at", fallback: "03:00", audience: forServing,
			group: "Backups", value: "HH:MM|off", help: "time of the daily backup, on the clinic's clock",
			more: "A missed backup is made one minute after the next start.",
			set:  func(c *config, v string) error { return c.backups.parseAt(v) },
		}, {
			name: "backup-keep", fallback: "7,4,12", audience: forServing,
			group: "Backups", value: "D,W,M", help: "how many daily, weekly and monthly backups are kept",
			more: "Older ones are deleted. Backups that a person made are never deleted.",
			set:  func(c *config, v string) (err error) { c.backups.keep, err = parseBackupKeep(v); return err },
		}, {
			name: "backup-to", audience: forServing,
			common: true, group: "Backups", value: "PLACE", help: "backup destination: a directory on another disk, or s3://bucket/prefix",
			more: "The directory must exist, so that the server does not write next to a disk that is not mounted. Copies are sealed once there is a key (`holdfast backup-key`). See [a bucket](backup.md#a-bucket-as-the-backup-destination).",
			set:  func(c *config, v string) (err error) { c.backups.second, err = parseBackupTo(v); return err },
		}, {
			name: "backup-every", fallback: "1m", audience: forServing,
			group: "Backups", value: "DURATION|off", help: "how often changes are copied to --backup-to; SQLite only",
			more: "See [copies of every minute](backup.md#copies-of-every-minute).",
			set:  func(c *config, v string) (err error) { c.backups.every, err = parseBackupEvery(v); return err },
		},
		{
			name: "after-rollback", fallback: "false", yes: true, audience: forServing,
			group: "Backups", value: "true|false", help: "start after a snapshot of the data directory was put back",
			more: "For one start. Every earlier booking is looked up in the practice-management system before it is written, and copies at " +
				"`--backup-to` may be newer. See [after a rollback](backup.md#after-a-rollback-of-the-machine).",
			set: func(c *config, v string) error {
				c.afterRollback = v == "true"
				return oneOf(v, "true", "false")
			},
		},
	}, s3Settings()...)
}

func (p *backupPlan) parseAt(v string) error {
	if v == "off" {
		p.on = false
		return nil
	}
	at, err := time.Parse("15:04", v)
	if err != nil {
		return fmt.Errorf("%q should be a time such as 03:00, or off", v)
	}
	p.on, p.at = true, time.Duration(at.Hour())*time.Hour+time.Duration(at.Minute())*time.Minute
	return nil
}

func parseBackupEvery(v string) (time.Duration, error) {
	if v == "off" {
		return 0, nil
	}
	every, err := time.ParseDuration(v)
	if err != nil || every < time.Second || every > 24*time.Hour {
		return 0, fmt.Errorf("%q should be off, or a time from 1s to 24h, such as 1m", v)
	}
	return every, nil
}

func parseBackupKeep(v string) (k backupKeep, err error) {
	parts := strings.Split(v, ",")
	numbers := []*int{&k.days, &k.weeks, &k.months}
	if len(parts) != len(numbers) {
		return k, fmt.Errorf("%q should be three numbers, days, weeks and months, such as 7,4,12", v)
	}
	for i, part := range parts {
		if *numbers[i], err = strconv.Atoi(strings.TrimSpace(part)); err != nil || *numbers[i] < 0 || *numbers[i] > 1000 {
			return k, fmt.Errorf("%q should be three numbers from 0 to 1000, days, weeks and months, such as 7,4,12", v)
		}
	}
	if k.days == 0 {
		return k, errors.New("at least the backup of one day has to be kept; --backup-at off makes none")
	}
	return k, nil
}

func parseBackupTo(v string) (string, error) {
	switch {
	case v == "":
		return "", nil
	case strings.HasPrefix(v, bucketScheme):
		return parseBucket(v)
	}
	return filepath.Abs(v)
}

// due reports whether a backup is to be made now: the last one is from before the latest time of day at which one was planned.
func (p *backupPlan) due(last, now time.Time, zone *time.Location) bool {
	local := now.In(zone)
	planned := time.Date(local.Year(), local.Month(), local.Day(), int(p.at/time.Hour), int(p.at%time.Hour/time.Minute), 0, 0, zone)
	if planned.After(now) {
		planned = time.Date(local.Year(), local.Month(), local.Day()-1, int(p.at/time.Hour), int(p.at%time.Hour/time.Minute), 0, 0, zone)
	}
	return last.Before(planned)
}

// expendable are the backups, given by when they were made in the order of time, that are none of the newest of their day, week
// or month that are kept. Days are the zone's, weeks those of ISO 8601.
func (k backupKeep) expendable(made []time.Time, zone *time.Location) (gone []time.Time) {
	periods := []struct {
		left int
		of   func(time.Time) string
		last string
	}{
		{left: k.days, of: func(t time.Time) string { return t.Format(time.DateOnly) }},
		{left: k.weeks, of: func(t time.Time) string { y, w := t.ISOWeek(); return fmt.Sprint(y, "-", w) }},
		{left: k.months, of: func(t time.Time) string { return t.Format("2006-01") }},
	}
	for i := len(made) - 1; i >= 0; i-- { // the newest first
		kept := false
		for n := range periods {
			p := &periods[n]
			if of := p.of(made[i].In(zone)); of != p.last && p.left > 0 {
				p.last, kept = of, true
				p.left--
			}
		}
		if !kept {
			gone = append(gone, made[i])
		}
	}
	return gone
}

// ownBackup is what the name of a backup that the server made by itself begins with: only those are ever deleted by it.
const ownBackup = "auto-"

// madeAt is when a backup in a directory was made, going by its name, and whether the server made it by itself.
func madeAt(name string) (at time.Time, own, ok bool) {
	stamp, own := strings.CutPrefix(name, ownBackup)
	at, err := time.Parse(stampFormat, stamp)
	return at, own, err == nil
}

// ownBackupsIn lists when the server's own backups in a directory were made, sealed or not, the oldest first. A directory that is not
// there has none.
func ownBackupsIn(dir string) ([]time.Time, error) {
	entries, err := os.ReadDir(dir) // by name, so by time
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var made []time.Time
	for _, e := range entries {
		if at, own, ok := madeAt(e.Name()); ok && own && e.IsDir() {
			made = append(made, at)
		}
	}
	return made, err
}

func ownBackupName(at time.Time) string { return ownBackup + at.UTC().Format(stampFormat) }
