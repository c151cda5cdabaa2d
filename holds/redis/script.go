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

// The scripts, each behind what it shares with others.
var (
	claimScript        = script("common", "claim")
	extendScript       = script("common", "extend")
	pinScript          = script("common", "pin")
	restoreScript      = script("common", "restore")
	finishScript       = script("common", "finish")
	holdScript         = script("common", "hold")
	listScript         = script("common", "list")
	sweepScript        = script("common", "selection", "sweep")
	resolveScript      = script("common", "resolve")
	selectScript       = script("common", "selection", "select")
	deselectScript     = script("common", "selection", "deselect")
	selectedScript     = script("common", "selected")
	attendScript       = script("common", "presence", "attend")
	presentScript      = script("common", "presence", "present")
	presentAgainScript = script("again")
	seedScript         = script("common", "presence", "seed")
	loadScript         = script("load")
	loadsScript        = script("loads")
	markScript         = script("mark")
	pingScript         = script("ping")
	leaveScript        = script("leave")
	leasedScript       = script("leased")
	statsScript        = script("common", "stats")
)

func script(names ...string) *redis.Script {
	var text strings.Builder
	for _, name := range names {
		b, err := sources.ReadFile("lua/" + name + ".lua")
		if err != nil {
			panic(err) // a file that is not embedded is a mistake in the list above
		}
		text.Write(b)
	}
	return redis.NewScript(text.String())
}

// run runs a script once, within the time of a call. The reply is always a list.
func (b *Backend) run(ctx context.Context, s *redis.Script, keys []string, args ...any) ([]any, error) {
	if b.closed.Load() {
		return nil, holds.ErrClosed
	}
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	// A server that does not know the script has done nothing; only then it is sent whole.
	reply, err := s.Run(ctx, b.client, keys, args...).Result()
	if err != nil {
		return nil, b.translate(err)
	}
	if list, ok := reply.([]any); ok {
		return list, nil
	}
	return []any{reply}, nil
}

// number is the integer at i of a reply.
func number(reply []any, i int) int64 {
	if i < len(reply) {
		if n, ok := reply[i].(int64); ok {
			return n
		}
	}
	return 0
}

// text is the string at i of a reply.
func text(reply []any, i int) string {
	if i < len(reply) {
		if s, ok := reply[i].(string); ok {
			return s
		}
	}
	return ""
}

// plain refuses ids that would have a meaning of their own in a key or in JSON. The engine knows no such ids.
func plain(ids ...string) error {
	for _, id := range ids {
		for _, c := range []byte(id) {
			if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c == '.') {
				return fmt.Errorf("id %q cannot be part of a key", id)
			}
		}
	}
	return nil
}
