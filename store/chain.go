package store

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// The audit chain. Every audit entry is a link of the chain, and so is every erasure of an entry's reason, before and
// after. The links are numbered from 1 in the order of their commits. The hash of each link covers the hash of the
// previous link, so an entry that is later changed, removed, inserted or moved breaks the chain at that position.
// decisions/0036 explains the design.
//
// All numbers are 8 bytes, the most significant first. A string is encoded as the number of its bytes, followed by its
// bytes (UTF-8, as stored).
//
//	hash   = SHA-256(previous hash (32 bytes; zeros before the first link) ‖ position ‖ link)
//	link   = "entry" ‖ id ‖ at in Unix milliseconds ‖ actor ‖ action ‖ subject ‖ digest (32 bytes), or
//	         "erasure" ‖ position of the entry that was erased
//	digest = SHA-256("texts" ‖ salt ‖ reason ‖ before ‖ after), where before and after are empty if there is none
//
// The words in quotes are encoded as strings, and so is the salt: 16 random bytes for each entry. An erasure removes an
// entry's reason, before, after and salt, and adds a link that records it. The digest remains, and so does the entry's
// hash. Without the salt, a reader cannot recover the erased values by computing the digests of guesses.

// ChainHead is a position in the audit chain with the hash of its link. The zero value is before the first link.
type ChainHead struct {
	Position int64
	Hash     [32]byte
}

// ChainReader reads the audit chain.
type ChainReader interface {
	// ChainLink returns the link at a position. For position 0 it returns the last link, or the zero value if the chain
	// is empty. It returns ErrNotFound if the chain has no link at that position.
	ChainLink(ctx context.Context, position int64) (ChainHead, error)
}

// Next returns the head after one more link.
func (h ChainHead) Next(link []byte) ChainHead {
	covered := binary.BigEndian.AppendUint64(h.Hash[:], uint64(h.Position+1))
	return ChainHead{h.Position + 1, sha256.Sum256(append(covered, link...))}
}

// NewSalt returns the salt of a new entry.
func NewSalt() []byte {
	salt := make([]byte, 16)
	_, _ = rand.Read(salt) // never fails
	return salt
}

// TextsDigest returns the digest of an entry's reason, before and after.
func TextsDigest(salt []byte, e *AuditEntry) [32]byte {
	var b []byte
	for _, text := range [][]byte{[]byte("texts"), salt, []byte(e.Reason), e.Before, e.After} {
		b = appendText(b, text)
	}
	return sha256.Sum256(b)
}

// EntryLink returns the bytes of an entry that its hash covers, after the previous hash and the position.
func EntryLink(e *AuditEntry, digest []byte) []byte {
	b := appendText(nil, "entry")
	b = appendText(b, e.ID)
	b = binary.BigEndian.AppendUint64(b, uint64(e.At.UnixMilli()))
	for _, text := range []string{e.Actor, e.Action, e.Subject} {
		b = appendText(b, text)
	}
	return append(b, digest...)
}

// ErasureLink returns the bytes of an erasure that its hash covers, after the previous hash and the position: the
// position of the erased entry.
func ErasureLink(entry int64) []byte {
	return binary.BigEndian.AppendUint64(appendText(nil, "erasure"), uint64(entry))
}

func appendText[T ~string | ~[]byte](b []byte, text T) []byte {
	return append(binary.BigEndian.AppendUint64(b, uint64(len(text))), text...)
}

// ChainedEntry is an audit entry as a database stores it.
type ChainedEntry struct {
	AuditEntry
	Position           int64
	Salt, Digest, Hash []byte
}

// ChainErasure is the chain link of an erasure as a database stores it.
type ChainErasure struct {
	Position int64
	Entry    int64 // the position of the erased entry
	Hash     []byte
}

// ChainCheck walks an audit chain link by link and records the first broken link. Backends pass it all erasures, then
// all entries in the order of their positions, and then the head.
type ChainCheck struct {
	last     ChainHead
	erasures map[int64]ChainErasure // by position; only those that have not been checked yet
	erased   map[int64]bool         // entries, by position
	broken   error
}

// Erasure adds one erasure.
func (c *ChainCheck) Erasure(e ChainErasure) {
	if c.erasures == nil {
		c.erasures, c.erased = map[int64]ChainErasure{}, map[int64]bool{}
	}
	c.erasures[e.Position], c.erased[e.Entry] = e, true
}

// Entry checks the next entry and the erasures before it.
func (c *ChainCheck) Entry(e *ChainedEntry) {
	c.walkErasures()
	switch blank := e.Reason == "" && e.Before == nil && e.After == nil && len(e.Salt) == 0; {
	case c.broken != nil:
	case e.Position < 1:
		c.breaks("entry %s is not part of the chain", e.ID)
	case e.Position <= c.last.Position:
		c.breaks("entry %s claims link %d, which belongs to another entry", e.ID, e.Position)
	case e.Position > c.last.Position+1:
		c.breaks("link %d is missing: the next one present is %d, entry %s", c.last.Position+1, e.Position, e.ID)
	case !bytes.Equal(c.follow(EntryLink(&e.AuditEntry, e.Digest)), e.Hash):
		c.breaks("link %d, entry %s, was altered", e.Position, e.ID)
	case c.erased[e.Position] && !blank:
		c.breaks("link %d, entry %s, was erased but still has texts", e.Position, e.ID)
	case !c.erased[e.Position]:
		if digest := TextsDigest(e.Salt, &e.AuditEntry); !bytes.Equal(digest[:], e.Digest) {
			c.breaks("link %d, entry %s: its reason, before or after was altered, and the chain has no erasure of it",
				e.Position, e.ID)
		}
	}
}

// follow advances by one link and returns the hash that the link must have.
func (c *ChainCheck) follow(link []byte) []byte {
	c.last = c.last.Next(link)
	return c.last.Hash[:]
}

func (c *ChainCheck) walkErasures() {
	for c.broken == nil {
		e, next := c.erasures[c.last.Position+1]
		if !next {
			return
		}
		delete(c.erasures, e.Position)
		if e.Entry >= e.Position || !bytes.Equal(c.follow(ErasureLink(e.Entry)), e.Hash) {
			c.breaks("link %d, an erasure, was altered", e.Position)
		}
	}
}

// End compares the last link with the head and returns the first violation, or nil.
func (c *ChainCheck) End(head ChainHead) error {
	c.walkErasures()
	switch {
	case c.broken != nil:
	case len(c.erasures) > 0:
		c.breaks("link %d is missing: an erasure comes after it", c.last.Position+1)
	case head.Position > c.last.Position:
		c.breaks("link %d is missing: the chain was %d links long", c.last.Position+1, head.Position)
	case head != c.last:
		c.breaks("link %d is not the link that was written last", c.last.Position)
	}
	return c.broken
}

func (c *ChainCheck) breaks(format string, args ...any) {
	c.broken = fmt.Errorf("audit: the chain is broken: "+format, args...)
}
