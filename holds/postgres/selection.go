package postgres

import (
	"context"
	"time"

	"holdfast/holds"
	"holdfast/holds/node"
)

// Select implements holds.Selections.
func (b *Backend) Select(ctx context.Context, owner holds.Owner, s holds.Span) (holds.Selection, error) {
	return b.selectFor(ctx, owner, s, holds.SelectionTTL)
}

func (b *Backend) selectFor(ctx context.Context, owner holds.Owner, s holds.Span,
	ttl time.Duration) (holds.Selection, error) {
	var text string
	var until int64
	if err := b.change(ctx, selectText, selectArgs(owner, &s, ttl), &text, &until); err != nil {
		return holds.Selection{}, err
	}
	return b.selection(text, until)
}

const selectText = `SELECT selection::text, until FROM holds_select($1, $2, $3, $4, $5, $6, $7, $8)`

func selectArgs(owner holds.Owner, s *holds.Span, ttl time.Duration) []any {
	return append(append([]any{owner.String()}, spanArgs(s)...), node.Milliseconds(ttl))
}

// selection reads one selection from a function's result.
func (b *Backend) selection(text string, deadline int64) (holds.Selection, error) {
	x, err := node.ReadSelection(text, deadline)
	return x, b.translate(err)
}

// Deselect implements holds.Selections.
func (b *Backend) Deselect(ctx context.Context, owner holds.Owner) (ok bool, err error) {
	err = b.change(ctx, `SELECT holds_deselect($1)`, []any{owner.String()}, &ok)
	return ok, err
}

// Renew implements holds.Selections.
func (b *Backend) Renew(ctx context.Context, owner holds.Owner) (ok bool, err error) {
	err = b.change(ctx, `SELECT holds_renew($1, $2)`, []any{owner.String(), node.Milliseconds(holds.SelectionTTL)}, &ok)
	return ok, err
}

// Selected implements holds.Selections.
func (b *Backend) Selected(ctx context.Context, from, to time.Time,
	specialistIDs ...string) ([]holds.Selection, error) {
	var texts []string
	var until []int64
	err := b.read(ctx,
		`SELECT COALESCE(json_agg(holds_selection_json(x)::text ORDER BY x.specialist_id, x.slot_start, x.owner), '[]'),
			COALESCE(json_agg(x.deadline ORDER BY x.specialist_id, x.slot_start, x.owner), '[]')
		FROM holds_selections x
		WHERE x.deadline > (SELECT holds_clock()) AND ($1 OR x.specialist_id = ANY ($2)) AND x.slot_start < $3 AND $4 < x.slot_end`,
		[]any{len(specialistIDs) == 0, specialistIDs, to.UnixMilli(), from.UnixMilli()}, &texts, &until)
	if err != nil {
		return nil, err
	}
	list := make([]holds.Selection, 0, len(texts))
	for i, text := range texts {
		x, err := b.selection(text, until[i])
		if err != nil {
			return nil, err
		}
		list = append(list, x)
	}
	return list, nil
}
