package web

import (
	"context"
	"net/http"
	"time"
)

// livez reports that the process is alive. It calls no backend.
func (s *Server) livez(c *call) error {
	return c.json(http.StatusOK, map[string]string{"status": "ok"})
}

// readyTime limits how long readyz waits for the database and the live state.
const readyTime = 2 * time.Second

// readyz reports whether the server can serve requests now. Only operators get the version, because attackers could use
// it.
func (s *Server) readyz(c *call) error {
	if s.draining.Load() {
		return errStorageUnavailable.with("The server is stopping. Ask another one, or try again in a few seconds.")
	}
	ctx, cancel := context.WithTimeout(c.ctx(), readyTime)
	defer cancel()
	if err := s.engine.Ready(ctx); err != nil {
		s.log.Warn("not ready", "error", err)
		return errStorageUnavailable
	}
	answer := map[string]string{"status": "ready", "storageMode": s.options.StorageMode()}
	if s.hub.IsInterrupted() {
		answer["liveStreams"] = "interrupted"
	}
	if c.caller.may(operator) || s.onThisMachine(c.r) {
		answer["version"] = s.options.Version
	}
	return c.json(http.StatusOK, answer)
}
