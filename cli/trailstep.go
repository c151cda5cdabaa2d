package cli

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash"
	"io"
	"os"
	"time"

	"filippo.io/age"

	"holdfast/store/sqlite"
)

// # A step of a trail
//
// A step is one file: a line that says what it is, a line of JSON (stepHead), then each page as its number and its length, 4 bytes each, and its
// bytes; a zero ends them. After it are the number of pages that the database has, the sum of all of them (sqlite.PageSums.State), and the
// SHA-256 of everything before. Numbers are big-endian. All of it is compressed with gzip, and then sealed where there is a key.

const (
	stepMagic   = "holdfast step 1\n"
	maxStepHead = 256 << 10
	maxPage     = 64 << 10 // the largest that SQLite has
)

// stepHead says where a step belongs.
type stepHead struct {
	Trail  string    `json:"trail"`
	Number int       `json:"number"`          // 0 is the whole database
	Made   time.Time `json:"made"`            // everything that was answered before is in it
	After  string    `json:"after,omitempty"` // the digest of the step before
	Keys   []byte    `json:"keys"`            // secret.key
}

// stepEnd is what a step leaves behind.
type stepEnd struct {
	pages  int
	state  [sha256.Size]byte
	digest string // of the step
}

// writeStep writes a step of the pages that read hands out, and returns its digest. It does not close to.
func writeStep(to io.Writer, recipient *age.X25519Recipient, head stepHead, read func(each func(int, []byte) error) (sqlite.Moment, error)) (
	m sqlite.Moment, digest string, err error) {
	ends := []io.Closer{}
	if recipient != nil {
		sealed, err := age.Encrypt(to, recipient)
		if err != nil {
			return m, "", err
		}
		to, ends = sealed, append(ends, sealed)
	}
	packed, err := gzip.NewWriterLevel(to, gzip.BestSpeed)
	if err != nil {
		return m, "", err
	}
	ends = append(ends, packed)
	sum := sha256.New()
	out := bufio.NewWriter(io.MultiWriter(packed, sum))
	text, err := json.Marshal(head)
	if err != nil {
		return m, "", err
	}
	_, err = out.WriteString(stepMagic + string(text) + "\n")
	if err != nil {
		return m, "", err
	}
	numbers := make([]byte, 8)
	m, err = read(func(number int, page []byte) error {
		binary.BigEndian.PutUint32(numbers, uint32(number))
		binary.BigEndian.PutUint32(numbers[4:], uint32(len(page)))
		_, failed := out.Write(numbers)
		_, err := out.Write(page)
		return errors.Join(failed, err)
	})
	if err != nil {
		return m, "", err
	}
	state := m.State()
	end := binary.BigEndian.AppendUint32(make([]byte, 4), uint32(m.Count))
	_, err = out.Write(append(end, state[:]...))
	if err := errors.Join(err, out.Flush()); err != nil {
		return m, "", err
	}
	whole := sum.Sum(nil)
	_, err = packed.Write(whole)
	for i := len(ends) - 1; i >= 0; i-- {
		err = errors.Join(err, ends[i].Close())
	}
	return m, hex.EncodeToString(whole), err
}

// readStep reads a step from end to end and hands its pages to each; what each was given counts only if the error is nil. begin may refuse
// by the head. A nil key reads a step that is not sealed.
func readStep(path string, key *age.X25519Identity, begin func(stepHead) error, each func(number int, page []byte) error) (end stepEnd, err error) {
	f, err := os.Open(path)
	if err != nil {
		return end, err
	}
	defer f.Close()
	var packed io.Reader = f
	if key != nil {
		if packed, err = age.Decrypt(f, key); err != nil {
			return end, err
		}
	}
	plain, err := gzip.NewReader(packed)
	if err != nil {
		return end, err
	}
	r := stepReader{bufio.NewReader(plain), sha256.New()}
	head, err := r.head()
	if err != nil {
		return end, err
	}
	if err := begin(head); err != nil {
		return end, err
	}
	for page := make([]byte, maxPage); ; {
		number, err := r.number()
		if err != nil {
			return end, err
		}
		if number == 0 {
			break
		}
		size, err := r.number()
		if err != nil || size > maxPage {
			return end, errors.Join(errNoStep, err)
		}
		if err := r.full(page[:size]); err != nil {
			return end, err
		}
		if err := each(number, page[:size]); err != nil {
			return end, err
		}
	}
	return r.end()
}

var errNoStep = errors.New("it is not as it was written")

// stepReader reads what writeStep writes.
type stepReader struct {
	from *bufio.Reader
	sum  hash.Hash
}

func (r stepReader) full(b []byte) error {
	_, err := io.ReadFull(r.from, b)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	r.sum.Write(b)
	return err
}

func (r stepReader) number() (int, error) {
	var b [4]byte
	err := r.full(b[:])
	return int(binary.BigEndian.Uint32(b[:])), err
}

func (r stepReader) head() (head stepHead, err error) {
	magic := make([]byte, len(stepMagic))
	if err := r.full(magic); err != nil || string(magic) != stepMagic {
		return head, errors.Join(errNoStep, err)
	}
	var text []byte
	for one := make([]byte, 1); ; text = append(text, one[0]) {
		if err := r.full(one); err != nil || len(text) > maxStepHead {
			return head, errors.Join(errNoStep, err)
		}
		if one[0] == '\n' {
			return head, json.Unmarshal(text, &head)
		}
	}
}

func (r stepReader) end() (end stepEnd, err error) {
	if end.pages, err = r.number(); err != nil {
		return end, err
	}
	if err := r.full(end.state[:]); err != nil {
		return end, err
	}
	want, got := r.sum.Sum(nil), make([]byte, sha256.Size)
	if err := r.full(got); err != nil || !bytes.Equal(got, want) {
		return end, errors.Join(errNoStep, err)
	}
	// Only the end of everything says that the checksums of what is around it are right.
	if _, err := r.from.ReadByte(); err != io.EOF {
		return end, errors.Join(errNoStep, err)
	}
	end.digest = hex.EncodeToString(want)
	return end, nil
}
