package store

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
)

// Migration is one numbered SQL file of a backend. Never edit a released migration: the database stores its checksum.
type Migration struct {
	Version  int // 1 for the first
	Name     string
	Text     string
	Checksum string // SHA-256 of Text, in hexadecimal
}

var migrationName = regexp.MustCompile(`^(\d{4})_[a-z0-9_]+\.sql$`)

// ReadMigrations reads migrations/*.sql in order. The error names a file whose name is not like 0001_first.sql, or
// whose number is not the next one.
func ReadMigrations(files fs.FS) ([]Migration, error) {
	names, err := fs.Glob(files, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	var all []Migration
	for i, path := range names {
		name := filepath.Base(path)
		match := migrationName.FindStringSubmatch(name)
		if match == nil {
			return nil, fmt.Errorf("migration %s is not named like 0001_first.sql", name)
		}
		if version, _ := strconv.Atoi(match[1]); version != i+1 {
			return nil, fmt.Errorf("migration %s should be number %04d", name, i+1)
		}
		text, err := fs.ReadFile(files, path)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(text)
		all = append(all, Migration{i + 1, name, string(text), hex.EncodeToString(sum[:])})
	}
	return all, nil
}

// LogMigrations logs in one line which of the known migrations were applied when the database was opened. It logs
// nothing if there were none.
func LogMigrations(log *slog.Logger, known, applied []Migration) {
	switch {
	case len(applied) == 0:
	case len(applied) == len(known):
		log.Info("database created", "schema", len(known))
	default:
		log.Info("migrations applied", "from", applied[0].Name, "to", applied[len(applied)-1].Name,
			"schema", len(known))
	}
}
