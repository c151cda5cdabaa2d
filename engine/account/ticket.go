package account

import (
	"time"

	"holdfast/engine/record"
	"holdfast/holds"
)

// maxUsedTickets is the maximum number of nonces in each of the two halves of the timed.Map. A single network would
// need 15 minutes to evict one.
const maxUsedTickets = 1 << 15

// StreamTicket issues a short-lived credential that opens one live stream as a client. This keeps the client id out of
// URLs.
func (ac *Account) StreamTicket(client holds.ClientID) (ticket string, expiresAt time.Time, err error) {
	ticket, t, err := ac.keys.Current().IssueStreamTicket(string(client), time.Now())
	return ticket, t.ExpiresAt, err
}

// UseStreamTicket returns the client that a ticket was issued for. Each ticket works once. UseStreamTicket returns
// record.ErrUnauthorized if the ticket is forged, has expired, or has already been used on this node.
func (ac *Account) UseStreamTicket(ticket string) (holds.ClientID, error) {
	now := time.Now()
	t, err := ac.keys.Current().OpenStreamTicket(ticket, now)
	if err != nil || !ac.usedTickets.PutFirst(t.Nonce, struct{}{}, now) {
		return "", record.ErrUnauthorized
	}
	return holds.ClientID(t.Client), nil
}
