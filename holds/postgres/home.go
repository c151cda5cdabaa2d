package postgres

import (
	"context"
	"strconv"
	"strings"
	"time"

	"holdfast/holds"
	"holdfast/holds/node"
)

var (
	_ holds.Decisions = (*Backend)(nil)
	_ holds.Homely    = (*Backend)(nil)
)

const (
	homeChannel = "holdfast_home"
	hasMoved    = "HF001" // the error of holds_under
)

// These are the purposes for which holds_under is called.
const (
	aChange = iota
	toFillSealed
	toFillRemembered
)

// under wraps the first argument of the function in text in holds_under, which fails unless the epoch is current.
//
//	SELECT holds_deselect($1)  →  SELECT holds_deselect(holds_under($2, $3, $1::text))
func under(text string, args []any, epoch uint64, how int) (string, []any) {
	n := len(args)
	guard := "(holds_under($" + strconv.Itoa(n+1) + ", $" + strconv.Itoa(n+2) + ", $1::text)"
	return strings.Replace(text, "($1", guard, 1), append(args[:n:n], int64(epoch), how)
}

// Enter implements holds.Homely.
func (b *Backend) Enter(epoch uint64) { b.epoch.Store(epoch) }

// Lease implements holds.Decisions.
func (b *Backend) Lease(ctx context.Context, m holds.Member) (d holds.Decision, fresh bool, err error) {
	var epoch, before int64
	err = b.call(ctx, `SELECT epoch, home, open, before, source, fresh FROM holds_lease($1, $2, $3)`,
		[]any{m.Node, int64(m.Left), m.Reaches},
		&epoch, &d.Home, &d.Open, &before, &d.Source, &fresh)
	d.Epoch, d.Before = uint64(epoch), uint64(before)
	return d, fresh, err
}

// Move implements holds.Decisions.
func (b *Backend) Move(ctx context.Context, from, above uint64, home string) (holds.Decision, error) {
	return b.decide(ctx, `SELECT epoch, home, open, before, source FROM holds_move($1, $2, $3)`, int64(from),
		int64(above), home)
}

// Open implements holds.Decisions.
func (b *Backend) Open(ctx context.Context, epoch uint64) (holds.Decision, error) {
	return b.decide(ctx, `SELECT epoch, home, open, before, source FROM holds_open($1)`, int64(epoch))
}

func (b *Backend) decide(ctx context.Context, text string, args ...any) (d holds.Decision, err error) {
	var epoch, before int64
	err = b.call(ctx, text, args, &epoch, &d.Home, &d.Open, &before, &d.Source)
	d.Epoch, d.Before = uint64(epoch), uint64(before)
	return d, err
}

// Members implements holds.Decisions.
func (b *Backend) Members(ctx context.Context) (list []holds.Member, err error) {
	err = b.read(ctx,
		`SELECT COALESCE(json_agg(json_build_object('Node', node, 'Beat', beat, 'Left', left_, 'Reaches', reaches)), '[]')
		FROM holds_nodes`, nil, &list)
	return list, err
}

// Forget implements holds.Decisions.
func (b *Backend) Forget(ctx context.Context, name string, beat int64) error {
	return b.call(ctx,
		`WITH gone AS (DELETE FROM holds_nodes WHERE node = $1 AND beat = $2 RETURNING 1) SELECT count(*) > 0 FROM gone`,
		[]any{name, beat}, new(bool))
}

// Decided implements holds.Decisions.
func (b *Backend) Decided() <-chan struct{} { return b.decided }

func (b *Backend) hasDecided() {
	select {
	case b.decided <- struct{}{}:
	default:
	}
}

// Whole implements holds.Homely.
func (b *Backend) Whole(ctx context.Context, epoch uint64) (whole bool, err error) {
	err = b.read(ctx, `SELECT EXISTS (SELECT 1 FROM holds_whole WHERE epoch = $1)`, []any{int64(epoch)}, &whole)
	return whole, err
}

// Snapshot implements holds.Homely.
func (b *Backend) Snapshot(ctx context.Context) (s holds.Snapshot, err error) {
	s.Asked = time.Now()
	var at int64
	var live, looks []string
	var deadlines []int64
	err = b.read(ctx, `WITH clock AS MATERIALIZED (SELECT holds_clock() AS at)
		SELECT (SELECT at FROM clock),
			(SELECT COALESCE(json_agg(holds_json(h)::text), '[]') FROM holds_live h WHERE h.deadline > (SELECT at FROM clock)),
			(SELECT COALESCE(json_agg(holds_selection_json(x)::text ORDER BY x.owner), '[]') FROM holds_selections x
				WHERE x.deadline > (SELECT at FROM clock)),
			(SELECT COALESCE(json_agg(x.deadline ORDER BY x.owner), '[]') FROM holds_selections x WHERE x.deadline > (SELECT at FROM clock))`, nil, &at, &live, &looks, &deadlines)
	if err != nil {
		return s, err
	}
	s.At = node.Instant(at)
	for _, text := range live {
		r, err := node.ReadRemains(text)
		if err != nil {
			return s, b.translate(err)
		}
		s.Holds = append(s.Holds, r)
	}
	for i, text := range looks {
		x, err := node.ReadSelection(text, deadlines[i])
		if err != nil {
			return s, b.translate(err)
		}
		s.Selections = append(s.Selections, x)
	}
	s.Present, err = b.present(ctx,
		`SELECT specialist_id, online, deactivated, heartbeat_at, load, capacity FROM holds_presence`)
	return s, err
}

// Fill implements holds.Homely.
func (b *Backend) Fill(ctx context.Context, epoch uint64, s holds.Snapshot,
	from holds.Origin) ([]holds.Restored, error) {
	how := toFillRemembered
	if from == holds.Sealed {
		how = toFillSealed
		if err := b.call(ctx, `SELECT holds_seal($1)`, []any{int64(epoch)}, new(bool)); err != nil {
			return nil, err
		}
	}
	s = s.Local()
	restored, err := b.restoreAll(ctx, s.Holds, epoch, how)
	if err != nil {
		return nil, err
	}
	for _, x := range s.Selections {
		text, args := under(selectText, selectArgs(x.Owner, &x.Span, max(time.Millisecond, time.Until(x.ExpiresAt))),
			epoch, how)
		if err := b.call(ctx, text, args, new(string), new(int64)); err != nil {
			return nil, err
		}
	}
	if len(s.Present) > 0 {
		seed := seedText
		if from == holds.Remembered {
			seed = rememberText
		}
		text, args := under(seed, seedArgs(s.Present), epoch, how)
		if err := b.call(ctx, text, args, new(bool)); err != nil {
			return nil, err
		}
	}
	return restored, nil
}
