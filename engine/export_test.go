package engine

import "time"

// TOTPCode is what an authenticator app shows at an instant.
func TOTPCode(secret []byte, at time.Time) string { return totpCode(secret, at.Unix()/totpStep) }
