package sqlite

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sort"
	"strings"

	"holdfast/store"
)

// ErrSchema means that the schema is not the one that this program creates, so its guarantees are unknown. The index
// or a trigger of the guarantee is missing or altered, or there is an additional trigger that would run with every
// change. Restore a backup.
var ErrSchema = errors.New("the schema differs from the one that this program created")

// versionsTable records the applied migrations.
const versionsTable = `CREATE TABLE IF NOT EXISTS schema_versions (
		version    INTEGER NOT NULL PRIMARY KEY,
		name       TEXT    NOT NULL,
		checksum   TEXT    NOT NULL,
		applied_at INTEGER NOT NULL
	) STRICT`

// object is one table, index, trigger or view, with the SQL text that created it.
type object struct{ kind, name, text string }

// readSchema lists everything in a database except SQLite's internal objects.
func readSchema(ctx context.Context, c *conn) (all map[string]object, err error) {
	all = map[string]object{}
	err = c.query(ctx, func(r *row) {
		o := object{r.Text(), r.Text(), r.Text()}
		all[o.kind+" "+o.name] = o
	}, `SELECT type, name, sql FROM sqlite_schema
		WHERE sql IS NOT NULL AND (type IN ('trigger', 'view') OR substr(name, 1, 7) <> 'sqlite_')`)
	return all, err
}

// expectedSchema returns the schema that the migrations create in an empty database.
func expectedSchema(ctx context.Context, known []store.Migration) (map[string]object, error) {
	c, err := openConn(":memory:")
	if err != nil {
		return nil, err
	}
	defer c.close()
	if err := c.script(versionsTable); err != nil {
		return nil, err
	}
	for _, m := range known {
		if err := c.script(m.Text); err != nil {
			return nil, fmt.Errorf("migration %s: %w", m.Name, err)
		}
	}
	return readSchema(ctx, c)
}

// schemaSums contains one line for each schema version: the sum of its migrations and the sum of the resulting schema.
// Creating the expected schema for a comparison takes longer than the rest of Open. So Open creates it only if the sum
// of the schema is not in this list.
//
//go:embed schema.sum
var schemaSums string

// schemaSum returns the line of a version in schemaSums: the sum of its migrations and the sum of all objects of its
// schema.
func schemaSum(made []store.Migration, all map[string]object) string {
	migrations, objects := sha256.New(), sha256.New()
	for _, m := range made {
		fmt.Fprintf(migrations, "%s\n", m.Checksum)
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		io.WriteString(objects, key+"\x00"+all[key].text+"\x00")
	}
	return hex.EncodeToString(migrations.Sum(nil)) + " " + hex.EncodeToString(objects.Sum(nil)) + "\n"
}

// difference is one object that differs from the migrations.
type difference struct {
	object
	what string // missing, altered or added
}

func (d difference) String() string {
	switch d.what {
	case "missing":
		return fmt.Sprintf("schema: %s is missing", d.name)
	case "added":
		return fmt.Sprintf("schema: the %s %s was added; this program did not create it", d.kind, d.name)
	}
	return fmt.Sprintf("schema: %s differs from what this program created", d.name)
}

// compareSchema compares the whole schema with the one that the migrations create. So it finds a dropped guarantee, and
// it finds an additional trigger before that runs. SQLite stores the SQL texts unchanged.
func compareSchema(ctx context.Context, c *conn, known []store.Migration) (found []difference, err error) {
	have, err := readSchema(ctx, c)
	if err != nil || strings.Contains(schemaSums, schemaSum(known, have)) {
		return nil, err
	}
	want, err := expectedSchema(ctx, known)
	if err != nil {
		return nil, err
	}
	for key, o := range want {
		switch h, ok := have[key]; {
		case !ok:
			found = append(found, difference{o, "missing"})
		case h.text != o.text:
			found = append(found, difference{o, "altered"})
		}
	}
	for key, o := range have {
		if _, ok := want[key]; !ok {
			found = append(found, difference{o, "added"})
		}
	}
	sort.Slice(found, func(i, j int) bool { return found[i].name < found[j].name })
	return found, nil
}

// trustSchema returns ErrSchema if an object of the schema is missing or altered, or if there is an additional trigger.
// It ignores other additional objects, such as an index, because they do nothing by themselves. Check reports those.
func trustSchema(ctx context.Context, c *conn, known []store.Migration) error {
	found, err := compareSchema(ctx, c, known)
	if err != nil {
		return err
	}
	var wrong []string
	for _, d := range found {
		if d.what != "added" || d.kind == "trigger" {
			wrong = append(wrong, strings.TrimPrefix(d.String(), "schema: "))
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	if more := len(wrong) - 3; more > 0 {
		wrong = append(wrong[:3], fmt.Sprintf("and %d more", more))
	}
	return fmt.Errorf("%w: %s", ErrSchema, strings.Join(wrong, "; "))
}
