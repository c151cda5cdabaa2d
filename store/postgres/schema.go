package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// What the guarantee stands on. Any of it dropped, invalid, switched off or altered is noticed before it is missed.
const guards = `
	SELECT 'index', indexrelid::regclass::text, indisvalid AND indisready FROM pg_index WHERE indexrelid::regclass::text = 'idx_no_double_book'
	UNION ALL
	SELECT 'constraint', conname, convalidated FROM pg_constraint
	WHERE conrelid = 'appointments'::regclass AND contype = 'x' AND conname = 'appointments_exclude_overlap'
	UNION ALL
	SELECT 'trigger', tgname, tgenabled IN ('O', 'A') FROM pg_trigger
	WHERE tgrelid = 'appointments'::regclass AND NOT tgisinternal`

// trustSchema lists what is not as the migrations made it.
func trustSchema(ctx context.Context, c *conn, source string) (wrong []string, err error) {
	missing := map[string]bool{
		"index idx_no_double_book": true, "constraint appointments_exclude_overlap": true, "trigger appointments_guarantee": true,
	}
	body := ""
	_, err = c.exchange(ctx,
		asks(func(r *row) {
			name := r.text() + " " + r.text()
			if expected := missing[name]; !expected {
				wrong = append(wrong, "the "+name+" was added; this program did not make it")
			} else if !r.bool() {
				wrong = append(wrong, "the "+name+" is switched off or not valid")
			}
			delete(missing, name)
		}, guards),
		asks(func(r *row) { body = r.text() }, `SELECT prosrc FROM pg_proc WHERE oid = to_regproc('appointments_guarantee')`))
	if err != nil {
		return nil, err
	}
	for name := range missing {
		wrong = append(wrong, "the "+name+" is missing")
	}
	if !strings.Contains(source, body) || body == "" {
		wrong = append(wrong, "the function appointments_guarantee is not what this program made")
	}
	slices.Sort(wrong)
	return wrong, nil
}

// refuseWeak is ErrSchema if anything of the guarantee is not in place.
func refuseWeak(ctx context.Context, c *conn, source string) error {
	wrong, err := trustSchema(ctx, c, source)
	if err == nil && len(wrong) > 0 {
		err = fmt.Errorf("%w: %s", ErrSchema, strings.Join(wrong, "; "))
	}
	return err
}
