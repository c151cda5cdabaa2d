package token

import (
	"bufio"
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"
)

// keyringHeader is the first line of every key file and names its format.
const keyringHeader = "holdfast-keys 1"

const secretSize = 32

// purpose is the use of a token. Each purpose has its own derived key.
type purpose int

const (
	forBookingAuth purpose = iota
	forBooking
	forManage
	forStreamTicket
	forName
	forFingerprint
	forSealing
	forCalendar
	purposes
)

func (p purpose) label() string {
	switch p {
	case forBookingAuth:
		return "holdfast/booking-auth"
	case forBooking:
		return "holdfast/booking"
	case forStreamTicket:
		return "holdfast/stream-ticket"
	case forName:
		return "holdfast/name"
	case forFingerprint:
		return "holdfast/fingerprint"
	case forSealing:
		return "holdfast/sealing"
	case forCalendar:
		return "holdfast/calendar"
	}
	return "holdfast/manage"
}

// ttl returns the maximum lifetime of a token of this purpose. A replaced key is accepted for that long.
func (p purpose) ttl() time.Duration {
	switch p {
	case forBookingAuth:
		return BookingAuthTTL
	case forBooking:
		return BookingTTL
	case forStreamTicket:
		return StreamTicketTTL
	}
	return MaxManageTTL
}

// Keyring holds the signing key and the keys that it has replaced. A replaced key is accepted until the last token that
// it can have signed has expired. A Keyring is immutable: Rotate returns a new one. Neither fmt nor slog shows its
// secrets.
type Keyring struct {
	keys []key // the signing key, then the replaced ones, newest first; never empty
}

type key struct {
	id        uint16
	secret    [secretSize]byte
	madeAt    time.Time // UTC, whole seconds
	retiredAt time.Time // UTC, whole seconds; zero for the signing key
	derived   [purposes][sha256.Size]byte
}

// Key is the public information about a key, without its secret.
type Key struct {
	ID        string    // four hexadecimal digits
	MadeAt    time.Time // UTC
	RetiredAt time.Time // UTC; zero for the signing key
}

// Generate returns a keyring with one new random key.
func Generate(now time.Time) *Keyring {
	return &Keyring{keys: []key{newKey(now, nil)}}
}

// Rotate returns a keyring that signs with a new random key. It retains the current key for the tokens that it has
// signed (at most MaxManageTTL), and drops keys whose tokens have all expired. k itself is unchanged.
func (k *Keyring) Rotate(now time.Time) *Keyring {
	keys := []key{newKey(now, k.keys)}
	for i, old := range k.keys {
		if i == 0 {
			old.retiredAt = now.UTC().Truncate(time.Second)
		}
		if old.accepts(forManage, now) {
			keys = append(keys, old)
		}
	}
	return &Keyring{keys: keys}
}

// Revoke returns a keyring with the signing key only: tokens that a replaced key has signed are refused, and text that
// it has sealed cannot be opened. k itself is unchanged.
func (k *Keyring) Revoke() *Keyring { return &Keyring{keys: k.keys[:1:1]} }

// Keys lists the keys, the signing key first.
func (k *Keyring) Keys() []Key {
	out := make([]Key, len(k.keys))
	for i, each := range k.keys {
		out[i] = Key{ID: each.name(), MadeAt: each.madeAt, RetiredAt: each.retiredAt}
	}
	return out
}

// Format hides the secrets from all formatting, including %#v.
func (k *Keyring) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "keyring of %d, signing with %s", len(k.keys), k.keys[0].name())
}

// LogValue hides the secrets from logs.
func (k *Keyring) LogValue() slog.Value { return slog.StringValue(fmt.Sprint(k)) }

// sumPrefix begins the last line of a key file: the SHA-256 of everything before that line, in hexadecimal. Older
// programs read the line as a comment.
const sumPrefix = "# sha256 "

// Marshal returns the key file: text with one key per line, the signing key first, and a checksum. The file contains
// the secrets, so the caller must restrict it to its owner (mode 0600).
func (k *Keyring) Marshal() []byte {
	var b bytes.Buffer
	b.WriteString(keyringHeader + "\n")
	b.WriteString("# key <id> <made> <replaced, or - for the one that signs> <secret>. Anyone who reads this can " +
		"forge tokens: keep it at 0600.\n")
	for _, each := range k.keys {
		retired := "-"
		if !each.retiredAt.IsZero() {
			retired = each.retiredAt.Format(time.RFC3339)
		}
		fmt.Fprintf(&b, "key %s %s %s %s\n", each.name(), each.madeAt.Format(time.RFC3339), retired,
			encode(each.secret[:]))
	}
	fmt.Fprintf(&b, "%s%x\n", sumPrefix, sha256.Sum256(b.Bytes()))
	return b.Bytes()
}

// checkSum refuses a corrupted file: a flipped bit would change a key and invalidate every link. It accepts a file
// without a checksum, because an older program or a person may have written it.
func checkSum(text []byte) error {
	line := bytes.LastIndex(text, []byte("\n"+sumPrefix))
	if line < 0 {
		return nil
	}
	body, sum := text[:line+1], bytes.TrimSpace(text[line+1+len(sumPrefix):])
	if string(sum) != fmt.Sprintf("%x", sha256.Sum256(body)) {
		return errors.New(
			"key file: checksum mismatch; restore the file from a backup or, if you changed it yourself, remove its " +
				"last line",
		)
	}
	return nil
}

// ParseKeyring parses the output of Marshal.
func ParseKeyring(text []byte) (*Keyring, error) {
	lines := bufio.NewScanner(io.LimitReader(bytes.NewReader(text), 1<<20))
	k := &Keyring{}
	header := false
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		switch {
		case line == "" || line[0] == '#':
		case !header:
			if line != keyringHeader {
				return nil, fmt.Errorf(
					"key file line %d: not a key file of this version, which begins with %q; restore the file from a "+
						"backup",
					n, keyringHeader,
				)
			}
			header = true
		default:
			each, err := parseKey(line)
			if err != nil {
				return nil, fmt.Errorf(
					"key file line %d: %w; remove the line if it is not a key, or restore the file from a backup", n,
					err,
				)
			}
			if signs := each.retiredAt.IsZero(); signs != (len(k.keys) == 0) {
				return nil, fmt.Errorf(
					"key file line %d: only the first key may have - instead of a replacement time; restore the file "+
						"from a backup",
					n,
				)
			}
			if slices.ContainsFunc(k.keys, func(o key) bool { return o.id == each.id }) {
				return nil, fmt.Errorf(
					"key file line %d: key %s occurs twice; remove this line, or restore the file from a backup",
					n, each.name(),
				)
			}
			k.keys = append(k.keys, each)
		}
	}
	if lines.Err() != nil {
		return nil, errors.New("key file: a line is too long to be a key; restore the file from a backup")
	}
	if len(k.keys) == 0 {
		return nil, errors.New(
			"key file: the file contains no key; restore it from a backup, or remove it so that the server creates a " +
				"new file (links already sent then stop working)",
		)
	}
	if err := checkSum(text); err != nil {
		return nil, err
	}
	return k, nil
}

func parseKey(line string) (key, error) {
	f := strings.Fields(line)
	if len(f) != 5 || f[0] != "key" {
		return key{}, errors.New("expected: key <id> <made> <replaced or -> <secret>")
	}
	id, err := strconv.ParseUint(f[1], 16, 16)
	if err != nil || len(f[1]) != 4 {
		return key{}, errors.New("the id must be four hexadecimal digits")
	}
	made, err := parseInstant(f[2])
	if err != nil {
		return key{}, err
	}
	var retired time.Time
	if f[3] != "-" {
		if retired, err = parseInstant(f[3]); err != nil {
			return key{}, err
		}
	}
	secret, ok := decode(f[4])
	if !ok || len(secret) != secretSize {
		return key{}, fmt.Errorf("the secret must be %d bytes in base64url", secretSize)
	}
	return derive(key{id: uint16(id), secret: [secretSize]byte(secret), madeAt: made, retiredAt: retired}), nil
}

func parseInstant(s string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil || t.IsZero() {
		return time.Time{}, errors.New("a time must look like 2026-11-23T09:00:00Z")
	}
	return t.UTC().Truncate(time.Second), nil
}

// newKey creates a random key whose id differs from those of the existing keys.
func newKey(now time.Time, others []key) key {
	fresh := key{madeAt: now.UTC().Truncate(time.Second)}
	// crypto/rand.Read never fails: it crashes the process instead.
	_, _ = rand.Read(fresh.secret[:])
	for {
		var id [2]byte
		_, _ = rand.Read(id[:])
		fresh.id = binary.BigEndian.Uint16(id[:])
		if !slices.ContainsFunc(others, func(o key) bool { return o.id == fresh.id }) {
			return derive(fresh)
		}
	}
}

// derive fills in the key of each purpose: HMAC(secret, purpose, 0, id). So every MAC includes the purpose and the
// key id without a field on the wire.
func derive(k key) key {
	for p := range purposes {
		mac := hmac.New(sha256.New, k.secret[:])
		mac.Write([]byte(p.label()))
		mac.Write([]byte{0, byte(k.id >> 8), byte(k.id)})
		mac.Sum(k.derived[p][:0])
	}
	return k
}

func (k *key) name() string { return fmt.Sprintf("%04x", k.id) }

// accepts reports whether a token of purpose p signed by k can still be valid. The extra minute allows for rounding to
// whole seconds and for a clock that was set back slightly.
func (k *key) accepts(p purpose, now time.Time) bool {
	return k.retiredAt.IsZero() || now.Before(k.retiredAt.Add(p.ttl()+time.Minute))
}

// mac returns the full 32-byte MAC of body for purpose p.
func (k *key) mac(p purpose, body []byte) []byte {
	h := hmac.New(sha256.New, k.derived[p][:])
	h.Write(body)
	return h.Sum(nil)
}

// Name returns 32 hexadecimal digits that represent a string, such as an address that is being counted. The same string
// has the same name until the keys are rotated. Without the keys, the name does not reveal the string.
func (k *Keyring) Name(text string) string {
	return hex.EncodeToString(k.signer().mac(forName, []byte(text))[:16])
}

// Names returns every Name that a string has had in the period for which a bookingAuthToken can still be valid, the
// current name first. After a rotation, there is more than one.
func (k *Keyring) Names(text string, now time.Time) []string {
	var names []string
	for i := range k.keys {
		if k.keys[i].accepts(forBookingAuth, now) {
			names = append(names, hex.EncodeToString(k.keys[i].mac(forName, []byte(text))[:16]))
		}
	}
	return names
}

// Fingerprints returns values that distinguish the keys and reveal nothing about them: first the fingerprint of the
// signing key, then those of the replaced keys.
func (k *Keyring) Fingerprints() []string {
	prints := make([]string, len(k.keys))
	for i := range k.keys {
		prints[i] = k.keys[i].name() + "-" + hex.EncodeToString(k.keys[i].mac(forFingerprint, nil)[:8])
	}
	return prints
}

// signer returns the signing key.
func (k *Keyring) signer() *key { return &k.keys[0] }

// accepted returns the key with this id if it is still accepted for p, or nil.
func (k *Keyring) accepted(id uint16, p purpose, now time.Time) *key {
	for i := range k.keys {
		if k.keys[i].id == id && k.keys[i].accepts(p, now) {
			return &k.keys[i]
		}
	}
	return nil
}
