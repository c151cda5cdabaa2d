package bolt

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"holdfast/store"
)

// record is an operation as the file stores it. Instants are Unix milliseconds. A missing instant is the zero time.
type record struct {
	ID            string                `json:"id"`
	Kind          store.OperationKind   `json:"kind"`
	AppointmentID string                `json:"appointmentId,omitempty"`
	Status        store.OperationStatus `json:"status"`
	NeedsReview   bool                  `json:"needsReview,omitempty"`
	Unknown       bool                  `json:"unknown,omitempty"`
	Attempts      int                   `json:"attempts,omitempty"`
	Lookups       int                   `json:"lookups,omitempty"`
	MaxAttempts   int                   `json:"maxAttempts,omitempty"`
	CreatedAt     *int64                `json:"createdAt,omitempty"`
	NextAttemptAt *int64                `json:"nextAttemptAt,omitempty"`
	AttemptedAt   *int64                `json:"attemptedAt,omitempty"`
	FinishedAt    *int64                `json:"finishedAt,omitempty"`
	Deadline      *int64                `json:"deadline,omitempty"`
	StartTime     *int64                `json:"startTime,omitempty"`
	LastError     string                `json:"lastError,omitempty"`
	Result        string                `json:"result,omitempty"`
	Payload       json.RawMessage       `json:"payload,omitempty"`
	Erased        bool                  `json:"erased,omitempty"` // the payload was emptied permanently
}

// line is one activity as the file stores it.
type line struct {
	At     int64  `json:"at"`
	Event  string `json:"event"`
	Detail string `json:"detail,omitempty"`
}

// stored is an operation as read from the file, with the fields that only this package needs.
type stored struct {
	store.Operation
	erased bool
}

func (s stored) encode() ([]byte, error) {
	op := s.Operation
	return seal(record{
		ID: op.ID, Kind: op.Kind, AppointmentID: op.AppointmentID, Status: op.Status,
		NeedsReview: op.NeedsReview, Unknown: op.Unknown,
		Attempts: op.Attempts, Lookups: op.Lookups, MaxAttempts: op.MaxAttempts,
		CreatedAt: millis(op.CreatedAt), NextAttemptAt: millis(op.NextAttemptAt),
		AttemptedAt: millis(op.AttemptedAt), FinishedAt: millis(op.FinishedAt),
		Deadline: millis(op.Deadline), StartTime: millis(op.StartTime),
		LastError: op.LastError, Result: op.Result, Payload: op.Payload, Erased: s.erased,
	})
}

func decode(sealed []byte) (stored, error) {
	var r record
	if err := unseal(sealed, &r); err != nil {
		return stored{}, err
	}
	return stored{store.Operation{
		ID: r.ID, Kind: r.Kind, AppointmentID: r.AppointmentID, Status: r.Status,
		NeedsReview: r.NeedsReview, Unknown: r.Unknown,
		Attempts: r.Attempts, Lookups: r.Lookups, MaxAttempts: r.MaxAttempts,
		CreatedAt: instant(r.CreatedAt), NextAttemptAt: instant(r.NextAttemptAt),
		AttemptedAt: instant(r.AttemptedAt), FinishedAt: instant(r.FinishedAt),
		Deadline: instant(r.Deadline), StartTime: instant(r.StartTime),
		LastError: r.LastError, Result: r.Result, Payload: r.Payload,
	}, r.Erased}, nil
}

func millis(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	ms := t.UnixMilli()
	return &ms
}

func instant(ms *int64) time.Time {
	if ms == nil {
		return time.Time{}
	}
	return time.UnixMilli(*ms).UTC()
}

// A sealed value is JSON whose last member is the CRC-32C of everything before it. bbolt has no checksum on its data
// pages, and a flipped bit in a payload must not send a message to a different patient.
const (
	sealHead = `,"sum":"`
	sealLen  = len(sealHead) + 8 + len(`"}`)
)

var errSeal = errors.New("the record's checksum does not match")

func seal(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", store.ErrInvalid, err)
	}
	b = b[:len(b)-1] // without the closing brace; every sealed value is an object with at least one member
	sum := crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))
	b = append(b, sealHead...)
	b = hex.AppendEncode(b, []byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)})
	return append(b, `"}`...), nil
}

func unseal(sealed []byte, v any) error {
	body := len(sealed) - sealLen
	if body < 0 || string(sealed[body:body+len(sealHead)]) != sealHead || string(sealed[len(sealed)-2:]) != `"}` {
		return errSeal
	}
	var sum [4]byte
	if _, err := hex.Decode(sum[:], sealed[body+len(sealHead):len(sealed)-2]); err != nil {
		return errSeal
	}
	want := uint32(sum[0])<<24 | uint32(sum[1])<<16 | uint32(sum[2])<<8 | uint32(sum[3])
	if crc32.Checksum(sealed[:body], crc32.MakeTable(crc32.Castagnoli)) != want {
		return errSeal
	}
	return json.Unmarshal(sealed, v)
}
