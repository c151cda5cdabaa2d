package sqlite

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
)

// hashOwners is the Go part of migration owners: it replaces each stored client id of a booking or session with its
// owner, a hash of the client id.
func hashOwners(c *conn) error {
	for _, table := range []string{"appointments", "sessions"} {
		var clients []string
		err := c.query(context.Background(), func(r *row) { clients = append(clients, r.Text()) },
			`SELECT DISTINCT client_id FROM `+table+` WHERE client_id <> ''`)
		if err != nil {
			return err
		}
		for _, client := range clients {
			sum := sha256.Sum256([]byte(client))
			_, err := c.exec(`UPDATE `+table+` SET client_id = ? WHERE client_id = ? AND client_id <> ''`,
				hex.EncodeToString(sum[:16]), client)
			if err != nil {
				return err
			}
		}
	}
	return nil
}
