package backup

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
	"slices"
	"time"

	"filippo.io/age"

	"holdfast/store/sqlite"
)

// An increment is one file (000003.step). Its content, in order:
//
//	the line "holdfast step 1"
//	one line of JSON (incrementHead)
//	for each page: its number and its length (4 bytes each), and its bytes; the number 0 ends the pages
//	the number of pages of the database (4 bytes), and the digest of all of them (sqlite.PageSums.State)
//	the SHA-256 of everything before
//
// Numbers are big-endian. The content is compressed with gzip, and then sealed if there is a backup key.

const (
	incrementMagic = "holdfast step 1\n"
	maxHead        = 256 << 10
	maxPage        = 64 << 10 // SQLite's largest page size
)

// incrementHead names the incremental backup that an increment belongs to, and the increment's position in it.
type incrementHead struct {
	Set    string    `json:"trail"`
	Number int       `json:"number"`          // number 0 contains the whole database
	Made   time.Time `json:"made"`            // the increment contains every change acknowledged before this time
	After  string    `json:"after,omitempty"` // the digest of the previous increment
	Keys   []byte    `json:"keys"`            // the content of KeysFile
}

// incrementEnd is the state of the database after an increment.
type incrementEnd struct {
	pages  int
	state  [sha256.Size]byte
	digest string // digest of the increment
}

// writeIncrement writes an increment to to and returns its digest. read must call its argument with each page of the
// increment. writeIncrement does not close to.
func writeIncrement(to io.Writer, recipient *age.X25519Recipient, head incrementHead,
	read func(each func(int, []byte) error) (sqlite.Moment, error)) (m sqlite.Moment, digest string, err error) {
	closers := []io.Closer{}
	if recipient != nil {
		sealed, err := age.Encrypt(to, recipient)
		if err != nil {
			return m, "", err
		}
		to, closers = sealed, append(closers, sealed)
	}
	packed, err := gzip.NewWriterLevel(to, gzip.BestSpeed)
	if err != nil {
		return m, "", err
	}
	closers = append(closers, packed)
	sum := sha256.New()
	out := bufio.NewWriter(io.MultiWriter(packed, sum))
	text, err := json.Marshal(head)
	if err != nil {
		return m, "", err
	}
	_, err = out.WriteString(incrementMagic + string(text) + "\n")
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
	for i := len(closers) - 1; i >= 0; i-- {
		err = errors.Join(err, closers[i].Close())
	}
	return m, hex.EncodeToString(whole), err
}

// readIncrement reads an increment from its first to its last byte and calls each for every page. The pages are valid
// only if readIncrement returns nil. begin receives the head and can refuse the increment with an error. If key is nil,
// the increment is not sealed.
func readIncrement(path string, key *Key, begin func(incrementHead) error,
	each func(number int, page []byte) error) (end incrementEnd, err error) {
	f, err := os.Open(path)
	if err != nil {
		return end, err
	}
	defer f.Close()
	var packed io.Reader = f
	if key != nil {
		if packed, err = age.Decrypt(f, key.identity); err != nil {
			return end, err
		}
	}
	plain, err := gzip.NewReader(packed)
	if err != nil {
		return end, err
	}
	r := incrementReader{bufio.NewReader(plain), sha256.New()}
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
			return end, errors.Join(errDamaged, err)
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

// checkIncrement reads an increment and adds its pages to those in before. It returns an error unless the result
// matches the database that the increment was made from.
func checkIncrement(path string, key *Key, before sqlite.PageSums, begin func(incrementHead) error) (head incrementHead,
	end incrementEnd, err error) {
	sums := slices.Clone(before)
	end, err = readIncrement(path, key, func(h incrementHead) error { head = h; return begin(h) },
		func(number int, page []byte) error {
			if number > 1<<30 || len(page) < 512 {
				return errDamaged
			}
			sums.Put(number, page)
			return nil
		})
	if err != nil {
		return head, end, err
	}
	if end.pages > len(sums) || sums[:end.pages].State() != end.state {
		return head, end, errors.New("the resulting database differs from the original")
	}
	return head, end, nil
}

var errDamaged = errors.New("its content has been changed")

// incrementReader reads the parts of an increment.
type incrementReader struct {
	from *bufio.Reader
	sum  hash.Hash
}

func (r incrementReader) full(b []byte) error {
	_, err := io.ReadFull(r.from, b)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	r.sum.Write(b)
	return err
}

func (r incrementReader) number() (int, error) {
	var b [4]byte
	err := r.full(b[:])
	return int(binary.BigEndian.Uint32(b[:])), err
}

func (r incrementReader) head() (head incrementHead, err error) {
	magic := make([]byte, len(incrementMagic))
	if err := r.full(magic); err != nil || string(magic) != incrementMagic {
		return head, errors.Join(errDamaged, err)
	}
	var text []byte
	for one := make([]byte, 1); ; text = append(text, one[0]) {
		if err := r.full(one); err != nil || len(text) > maxHead {
			return head, errors.Join(errDamaged, err)
		}
		if one[0] == '\n' {
			return head, json.Unmarshal(text, &head)
		}
	}
}

func (r incrementReader) end() (end incrementEnd, err error) {
	if end.pages, err = r.number(); err != nil {
		return end, err
	}
	if err := r.full(end.state[:]); err != nil {
		return end, err
	}
	want, got := r.sum.Sum(nil), make([]byte, sha256.Size)
	if err := r.full(got); err != nil || !bytes.Equal(got, want) {
		return end, errors.Join(errDamaged, err)
	}
	// gzip and age verify their checksums only when the reader reaches the end.
	if _, err := r.from.ReadByte(); err != io.EOF {
		return end, errors.Join(errDamaged, err)
	}
	end.digest = hex.EncodeToString(want)
	return end, nil
}
