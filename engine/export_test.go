package engine

import (
	"time"

	"holdfast/engine/account"
)

// TOTPCode is what an authenticator app shows at an instant.
func TOTPCode(secret []byte, at time.Time) string {
	return account.TOTPCode(secret, at.Unix()/account.TotpStep)
}

// SetWall lets a test set the wall clock of an engine that is still to be opened. In a bubble of testing/synctest it could
// not be set at all.
func SetWall(o *Options, wall func() time.Time) { o.wall = wall }

// OffersToFiles has an engine that is still to be opened offer what becomes free although its mail only becomes files.
func OffersToFiles(o *Options) { o.OffersToFiles = true }
