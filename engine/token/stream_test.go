package token

import (
	"strings"
	"testing"
	"time"
)

func TestStreamTicketHidesItsClient(t *testing.T) {
	now := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	k := Generate(now)
	client := strings.Repeat("client-secret-01", 8)
	ticket, issued, err := k.IssueStreamTicket(client, now)
	if err != nil {
		t.Fatal(err)
	}
	if raw, ok := decode(ticket); !ok || strings.Contains(string(raw), "secret") {
		t.Errorf("the ticket %s is readable, or is not base64url", ticket)
	}
	rotated := k.Rotate(now)
	for name, c := range map[string]struct {
		keys   *Keyring
		ticket string
		at     time.Time
		want   error
	}{
		"at once":                 {k, ticket, now, nil},
		"a moment before its end": {k, ticket, now.Add(StreamTicketTTL - time.Millisecond), nil},
		"at its end":              {k, ticket, now.Add(StreamTicketTTL), StreamTicketExpired},
		"after a rotation":        {rotated, ticket, now.Add(time.Second), nil},
		"by another keyring":      {Generate(now), ticket, now, StreamTicketInvalid},
		"empty":                   {k, "", now, StreamTicketInvalid},
		"shortened":               {k, ticket[:len(ticket)-4], now, StreamTicketInvalid},
		"lengthened":              {k, ticket + "AAAA", now, StreamTicketInvalid},
		"with another alphabet":   {k, ticket + "=", now, StreamTicketInvalid},
		"too long":                {k, strings.Repeat("A", 4096), now, StreamTicketInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := c.keys.OpenStreamTicket(c.ticket, c.at)
			if err != c.want {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			if err == nil && got != issued {
				t.Errorf("got %+v, want %+v", got, issued)
			}
		})
	}
	for i := range ticket {
		changed := ticket[:i] + string(ticket[i]^1) + ticket[i+1:]
		if got, err := k.OpenStreamTicket(changed, now); err == nil {
			t.Errorf("with character %d changed, it opens for %v", i, got)
		}
	}
}
