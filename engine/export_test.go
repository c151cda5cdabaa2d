package engine

import (
	"time"

	"holdfast/engine/account"
)

// TOTPCode returns the code that an authenticator app shows at an instant.
func TOTPCode(secret []byte, at time.Time) string {
	return account.TOTPCode(secret, at.Unix()/account.TotpStep)
}

// SetWall sets the wall clock of an engine that is not open yet. In a bubble of testing/synctest the clock itself
// cannot be set.
func SetWall(o *Options, wall func() time.Time) { o.wall = wall }

// OffersToFiles makes an engine that is not open yet offer freed times although its emails are only written to files.
func OffersToFiles(o *Options) { o.OffersToFiles = true }
