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

// ErrSchema: the schema is not what this program made, so what it guarantees is not known: the index or a trigger of the
// guarantee is gone or altered, or a trigger was added that would run with every change. Only a backup helps.
var ErrSchema = errors.New("the schema is not what this program made")

// versionsTable remembers which migrations were applied.
const versionsTable = `CREATE TABLE IF NOT EXISTS schema_versions (
		version    INTEGER NOT NULL PRIMARY KEY,
		name       TEXT    NOT NULL,
		checksum   TEXT    NOT NULL,
		applied_at INTEGER NOT NULL
	) STRICT`

// object is one table, index, trigger or view, with the text that made it.
type object struct{ kind, name, text string }

// readSchema lists everything in a database but what SQLite makes for itself.
func readSchema(ctx context.Context, c *conn) (all map[string]object, err error) {
	all = map[string]object{}
	err = c.query(ctx, func(r *row) {
		o := object{r.Text(), r.Text(), r.Text()}
		all[o.kind+" "+o.name] = o
	}, `SELECT type, name, sql FROM sqlite_schema
		WHERE sql IS NOT NULL AND (type IN ('trigger', 'view') OR substr(name, 1, 7) <> 'sqlite_')`)
	return all, err
}

// expectedSchema is what the migrations make of an empty database.
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

// schemaSums has a line for every version: the sum of its migrations, and that of the schema they make. Making a schema to compare
// with takes longer than everything else that opening a database does, so that is left to a schema whose sum is not the one here.
//
//go:embed schema.sum
var schemaSums string

// schemaSum names a version by what made it, and a schema by all of its objects.
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

// difference is one object that is not as the migrations make it.
type difference struct {
	object
	what string // missing, altered or added
}

func (d difference) String() string {
	switch d.what {
	case "missing":
		return fmt.Sprintf("schema: %s is missing", d.name)
	case "added":
		return fmt.Sprintf("schema: the %s %s was added; this program did not make it", d.kind, d.name)
	}
	return fmt.Sprintf("schema: %s is not what this program made", d.name)
}

// compareSchema compares the whole schema with what the migrations make, so that it finds a guarantee that
// was dropped, and a trigger that was added before it runs. SQLite stores the texts as they were written.
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

// trustSchema refuses a database whose schema does not keep what this program promises. What was added and does nothing by
// itself, such as an index, is for Check to tell.
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
