package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// guards selects the indexes, constraints and triggers of the guarantee. With it, trustSchema detects any of them that
// is dropped, invalid or disabled.
const guards = `
	SELECT 'index', indexrelid::regclass::text, indisvalid AND indisready FROM pg_index WHERE indexrelid::regclass::text = 'idx_no_double_book'
	UNION ALL
	SELECT 'constraint', conname, convalidated FROM pg_constraint
	WHERE conrelid IN (to_regclass('appointments'), to_regclass('appointment_resources')) AND contype = 'x'
	UNION ALL
	SELECT 'trigger', tgname, tgenabled IN ('O', 'A') FROM pg_trigger
	WHERE tgrelid IN (to_regclass('appointments'), to_regclass('appointment_resources')) AND NOT tgisinternal`

// guardFunctions lists the functions behind the triggers.
var guardFunctions = []string{
	"appointments_guarantee", "appointment_resources_guarantee", "appointments_resources", "appointments_of_persons",
}

// trustSchema lists the objects that differ from the migrations.
func trustSchema(ctx context.Context, c *conn, source string) (wrong []string, err error) {
	missing := map[string]bool{
		"index idx_no_double_book": true, "constraint appointments_exclude_overlap": true,
		"trigger appointments_guarantee": true, "constraint appointment_resources_exclude_overlap": true,
		"trigger appointment_resources_guarantee": true, "trigger appointments_resources_insert": true,
		"trigger appointments_resources_update": true, "trigger appointments_of_persons_insert": true,
		"trigger appointments_of_persons_update": true,
	}
	for name := range missing { // an older schema does not have every object
		if _, noun, _ := strings.Cut(name, " "); !strings.Contains(source, noun) {
			delete(missing, name)
		}
	}
	bodies := make(map[string]string)
	_, err = c.exchange(ctx, asks(func(r *row) {
		name := r.Text() + " " + r.Text()
		if expected := missing[name]; !expected {
			wrong = append(wrong, "the "+name+" was added; this program did not create it")
		} else if !r.Bool() {
			wrong = append(wrong, "the "+name+" is disabled or not valid")
		}
		delete(missing, name)
	}, guards), asks(func(r *row) { bodies[r.Text()] = r.Text() }, `SELECT proname, prosrc FROM pg_proc WHERE pronamespace = current_schema()::regnamespace`))
	if err != nil {
		return nil, err
	}
	for name := range missing {
		wrong = append(wrong, "the "+name+" is missing")
	}
	for _, name := range guardFunctions {
		if body := bodies[name]; strings.Contains(source, name) && (body == "" || !strings.Contains(source, body)) {
			wrong = append(wrong, "the function "+name+" differs from what this program created")
		}
	}
	slices.Sort(wrong)
	return wrong, nil
}

// refuseWeak returns ErrSchema if any part of the guarantee is not in place.
func refuseWeak(ctx context.Context, c *conn, source string) error {
	wrong, err := trustSchema(ctx, c, source)
	if err == nil && len(wrong) > 0 {
		err = fmt.Errorf("%w: %s", ErrSchema, strings.Join(wrong, "; "))
	}
	return err
}
