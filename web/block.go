package web

import (
	"net/http"
	"slices"

	"holdfast/engine/record"
	"holdfast/store"
	"holdfast/web/instant"
)

// blockJSON is a time range during which a specialist takes no bookings.
type blockJSON struct {
	ID           string `json:"id"`
	SpecialistID string `json:"specialistId"`
	Start        string `json:"start"`
	End          string `json:"end"`
	Reason       string `json:"reason,omitempty"`
	SetID        string `json:"setId,omitempty"`
	Source       string `json:"source,omitempty"` // "calendar": from the specialist's external calendar
}

func blockOf(b *store.Block) blockJSON {
	return blockJSON{b.ID, b.SpecialistID, string(instant.Append(nil, b.Start)), string(instant.Append(nil, b.End)),
		b.Reason, b.SetID, string(b.Source)}
}

// listBlocks lists the blocks of a specialist. For a colleague's blocks, a signed-in specialist gets the times but not
// the reasons.
func (s *Server) listBlocks(c *call) error {
	blocks, err := s.engine.Clinic.Blocks(c.param("id"))
	return answerList(c, "blocks", blocks, err, func(b *store.Block) blockJSON {
		j := blockOf(b)
		if !c.caller.reaches(b.SpecialistID) {
			j.Reason = ""
		}
		return j
	})
}

type blockBody struct {
	Start  string `json:"start"`
	End    string `json:"end"`
	Reason string `json:"reason"`
}

func (s *Server) createBlock(c *call, b *blockBody) error {
	if !c.caller.reaches(c.param("id")) {
		return errForbidden.with("You can change your own calendar only.")
	}
	m := &c.wrong
	block := store.Block{SpecialistID: c.param("id"), Start: m.instant("start", b.Start), End: m.instant("end", b.End),
		Reason: b.Reason}
	say := func(made *store.Block) any { return map[string]blockJSON{"block": blockOf(made)} }
	return answerChange(c, http.StatusCreated, say, func(once *record.Once) (store.Block, error) {
		return s.engine.Clinic.CreateBlock(c.ctx(), c.caller.actor, block, once)
	})
}

// ownOnly refuses a change by a signed-in specialist unless isOne matches an entry of that specialist's own calendar.
// calendar returns the entries of a calendar.
func ownOnly[T any](c *call, calendar func(specialistID string) ([]T, error), isOne func(T) bool) error {
	if c.caller.specialistID == "" {
		return nil
	}
	own, err := calendar(c.caller.specialistID)
	if err == nil && !slices.ContainsFunc(own, isOne) {
		err = errForbidden.with("You can change your own calendar only.")
	}
	return err
}

func (s *Server) deleteBlock(c *call) error {
	id := c.param("id")
	if err := ownOnly(c, s.engine.Clinic.Blocks, func(b store.Block) bool { return b.ID == id }); err != nil {
		return err
	}
	return c.done(s.engine.Clinic.DeleteBlock(c.ctx(), c.caller.actor, id))
}
