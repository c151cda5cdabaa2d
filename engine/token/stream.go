package token

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"time"
)

// StreamTicketTTL is the lifetime of a stream ticket.
const StreamTicketTTL = 30 * time.Second

// A stream ticket is form 1 · key id 2 · nonce 12 · sealed(expiry in Unix ms 8 · client). It is the only token whose
// content is encrypted, because it is part of a URL, and a client id is secret.
const (
	streamForm  = 1
	streamHead  = 3
	streamNonce = 12
	// maxStream is the length of a ticket for a client id of 128 characters, in base64.
	maxStream = (streamHead + streamNonce + 8 + 128 + 16 + 2) / 3 * 4
)

// StreamTicket allows its bearer to open one live stream as a given client.
type StreamTicket struct {
	Client    string
	ExpiresAt time.Time         // UTC, whole milliseconds
	Nonce     [streamNonce]byte // identifies the ticket; the caller must ensure that it is used only once
}

// IssueStreamTicket seals a ticket for a client of at most 128 characters.
func (k *Keyring) IssueStreamTicket(client string, now time.Time) (string, StreamTicket, error) {
	t := StreamTicket{Client: client, ExpiresAt: now.Add(StreamTicketTTL).UTC().Truncate(time.Millisecond)}
	_, _ = rand.Read(t.Nonce[:]) // never fails: it crashes the process instead
	signer := k.signer()
	head := binary.BigEndian.AppendUint16([]byte{streamForm}, signer.id)
	plain := append(binary.BigEndian.AppendUint64(nil, uint64(t.ExpiresAt.UnixMilli())), client...)
	seal, err := signer.sealing(forStreamTicket)
	if err != nil {
		return "", StreamTicket{}, err
	}
	return encode(seal.Seal(append(head, t.Nonce[:]...), t.Nonce[:], plain, head)), t, nil
}

// OpenStreamTicket opens a ticket that was sealed here. It checks that the ticket is unchanged (StreamTicketInvalid;
// also for an empty or malformed ticket) and has not expired (StreamTicketExpired).
func (k *Keyring) OpenStreamTicket(ticket string, now time.Time) (StreamTicket, error) {
	if !allowed(ticket, maxStream) {
		return StreamTicket{}, StreamTicketInvalid
	}
	raw, ok := decode(ticket)
	if !ok || len(raw) < streamHead+streamNonce || raw[0] != streamForm {
		return StreamTicket{}, StreamTicketInvalid
	}
	head, nonce, sealed := raw[:streamHead], raw[streamHead:streamHead+streamNonce], raw[streamHead+streamNonce:]
	signer := k.accepted(binary.BigEndian.Uint16(head[1:]), forStreamTicket, now)
	if signer == nil {
		return StreamTicket{}, StreamTicketInvalid
	}
	seal, err := signer.sealing(forStreamTicket)
	if err != nil {
		return StreamTicket{}, err
	}
	plain, err := seal.Open(nil, nonce, sealed, head)
	if err != nil || len(plain) < 8 {
		return StreamTicket{}, StreamTicketInvalid
	}
	t := StreamTicket{Client: string(plain[8:]), ExpiresAt: time.UnixMilli(int64(binary.BigEndian.Uint64(plain))).UTC(),
		Nonce: [streamNonce]byte(nonce)}
	if !now.Before(t.ExpiresAt) {
		return StreamTicket{}, StreamTicketExpired
	}
	return t, nil
}

// sealing returns AES-256-GCM under the derived key of a purpose.
func (k *key) sealing(p purpose) (cipher.AEAD, error) {
	block, err := aes.NewCipher(k.derived[p][:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}
