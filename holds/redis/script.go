package redis

import (
	"context"
	"embed"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"holdfast/holds"
)

//go:embed lua/*.lua
var sources embed.FS

// These are the scripts, each preceded by the files that it shares with others.
var (
	claimScript        = change("common", "claim")
	extendScript       = change("common", "extend")
	pinScript          = change("common", "pin")
	transferScript     = change("common", "transfer")
	restoreScript      = change("common", "restore")
	finishScript       = change("common", "finish")
	holdScript         = script("common", "hold")
	listScript         = script("common", "list")
	sweepScript        = script("common", "selection", "sweep")
	resolveScript      = script("common", "resolve")
	selectScript       = change("common", "selection", "select")
	deselectScript     = change("common", "selection", "deselect")
	selectedScript     = script("common", "selected")
	attendScript       = change("common", "presence", "attend")
	presentScript      = script("common", "presence", "present")
	presentAgainScript = change("again")
	seedScript         = change("common", "presence", "seed")
	loadScript         = change("load")
	loadsScript        = change("loads")
	markScript         = script("mark")
	pingScript         = script("ping")
	leaveScript        = script("leave")
	leasedScript       = script("leased")
	statsScript        = script("common", "stats")
	sealScript         = script("server", "seal")
	sameScript         = script("server", "same")
	openScript         = script("server", "open")
	clearScript        = script("common", "clear")
	snapshotScript     = script("common", "presence", "snapshot")
)

// change returns a script that changes live state and that Redis refuses under an expired epoch (home.go).
// Backend.change runs it.
func change(names ...string) lua { return script(append([]string{"under"}, names...)...) }

// lua is the text of a script. {record} is a placeholder for the suffix of the event channels.
type lua string

func script(names ...string) lua {
	var text strings.Builder
	for _, name := range names {
		b, err := sources.ReadFile("lua/" + name + ".lua")
		if err != nil {
			panic(err) // a file in the list above is not embedded: a programming error
		}
		text.Write(b)
	}
	return lua(text.String())
}

// script returns the script with this backend's channel suffix.
func (b *Backend) script(s lua) *redis.Script {
	if known, ok := b.scripts.Load(s); ok {
		return known.(*redis.Script)
	}
	made, _ := b.scripts.LoadOrStore(s, redis.NewScript(strings.ReplaceAll(string(s), "{record}", b.record)))
	return made.(*redis.Script)
}

// run runs a script once, within the time limit per call. It always returns the reply as a list.
func (b *Backend) run(ctx context.Context, s lua, keys []string, args ...any) ([]any, error) {
	if b.closed.Load() {
		return nil, holds.ErrClosed
	}
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	// A server that does not have the script yet has changed nothing. Only then does the client send the whole script.
	reply, err := b.script(s).Run(ctx, b.client, keys, args...).Result()
	if err != nil {
		return nil, b.translate(err)
	}
	if list, ok := reply.([]any); ok {
		return list, nil
	}
	return []any{reply}, nil
}

// change runs a script that changes live state, under the epoch that this node has entered. If that epoch has ended, it
// returns holds.ErrMoved.
func (b *Backend) change(ctx context.Context, s lua, keys []string, args ...any) ([]any, error) {
	return b.changeUnder(ctx, b.under(), s, keys, args...)
}

func (b *Backend) changeUnder(ctx context.Context, under string, s lua, keys []string, args ...any) ([]any, error) {
	return b.run(ctx, s, keys, append(args, under)...)
}

// number returns the integer at index i of a reply.
func number(reply []any, i int) int64 {
	if i < len(reply) {
		if n, ok := reply[i].(int64); ok {
			return n
		}
	}
	return 0
}

// text returns the string at index i of a reply.
func text(reply []any, i int) string {
	if i < len(reply) {
		if s, ok := reply[i].(string); ok {
			return s
		}
	}
	return ""
}

// plain refuses ids that contain characters with a special meaning in a key or in JSON. The engine creates no such ids.
func plain(ids ...string) error {
	for _, id := range ids {
		for _, c := range []byte(id) {
			if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_' ||
				c == '.') {
				return fmt.Errorf("id %q cannot be part of a key", id)
			}
		}
	}
	return nil
}
