package backup

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"filippo.io/age"

	"holdfast/store/disk"
)

// Sealed copies protect the data at a backup destination that other people can read: a provider's storage, or a disk
// that is carried home. The clinic creates a key and prints its private half. The server stores only the public half
// (RecipientFile), so it cannot open the sealed files. In a sealed copy, each file of the backup is in the age format,
// which the program age can also open.

const (
	sealedSuffix = ".age" // suffix of a sealed file
	keyPrefix    = "AGE-SECRET-KEY-1"
)

// Key is the private half of a backup key.
type Key struct{ identity *age.X25519Identity }

// NewKey creates a key in memory.
func NewKey() (Key, error) {
	identity, err := age.GenerateX25519Identity()
	return Key{identity}, err
}

// String returns the key in the format of age.
func (k Key) String() string { return k.identity.String() }

// Public returns the public half.
func (k Key) Public() string { return k.identity.Recipient().String() }

// Groups returns the key in groups of six characters, which are easier to type.
func (k Key) Groups() string {
	var b strings.Builder
	for i, r := range strings.TrimPrefix(k.String(), keyPrefix) {
		if i%6 == 0 {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return keyPrefix + b.String()
}

// CreateKey creates a key, passes it to show, and then stores its public half in the data directory. If show fails,
// CreateKey stores nothing, because no copy may be sealed for a key that was not printed. If the directory already has
// a key, CreateKey returns an error unless replace is set.
func CreateKey(data string, replace bool, show func(Key) error) error {
	path := filepath.Join(data, RecipientFile)
	if known, err := os.ReadFile(path); err == nil && !replace {
		return fmt.Errorf("there is already a backup key, %s. To replace it with a new key, add --replace. Older "+
			"copies can still be opened only with the old key",
			strings.TrimSpace(string(known)))
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	key, err := NewKey()
	if err != nil {
		return err
	}
	if err := show(key); err != nil {
		return fmt.Errorf("no backup key was created, because it could not be printed: %w", err)
	}
	return key.Store(data)
}

// Store makes a data directory seal its copies for this key from now on.
func (k Key) Store(data string) error {
	return disk.Replace(filepath.Join(data, RecipientFile), []byte(k.Public()+"\n"))
}

// ParseKey reads a key as printed, or as typed by a person: in upper or lower case, with spaces and line breaks. It
// skips lines that begin with #. The key has a checksum, so a mistyped letter is an error.
func ParseKey(text string) (Key, error) {
	var typed strings.Builder
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "#") {
			typed.WriteString(strings.ToUpper(strings.Join(strings.Fields(line), "")))
		}
	}
	identity, err := age.ParseX25519Identity(typed.String())
	if err != nil {
		return Key{}, errors.New("this is not a backup key, or one of its letters is wrong. Compare your input with " +
			"the printed key. A key begins with " + keyPrefix)
	}
	return Key{identity}, nil
}

// recipientOf returns the public half of the backup key of a data directory, or nil if no key was created. It returns
// an error for a file that it cannot parse, so that no copy is written unsealed by mistake.
func recipientOf(data string) (*age.X25519Recipient, error) {
	path := filepath.Join(data, RecipientFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	to, err := age.ParseX25519Recipient(strings.TrimSpace(string(text)))
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read, so no copies are made. Restore the file, or create a new key "+
			"with holdfast backup-key --replace: %w", path, err)
	}
	return to, nil
}

// isSealed reports whether the directory at path is a sealed copy.
func isSealed(path string) bool {
	for _, name := range []string{DatabaseFile, ScriptFile} {
		if _, err := os.Stat(filepath.Join(path, name+sealedSuffix)); err == nil {
			return true
		}
	}
	return readIncremental(path).Sealed
}

// refuseUnsealed returns an error if the destination contains sealed copies. In that case, a key once existed and the
// data directory has lost its public half.
func refuseUnsealed(destination string) error {
	made, err := ownBackups(destination)
	if err != nil {
		return err
	}
	incrementals, err := incrementalsIn(destination)
	if err != nil {
		return err
	}
	var paths []string
	for _, at := range made {
		paths = append(paths, filepath.Join(destination, ownName(at)))
	}
	for _, i := range incrementals {
		paths = append(paths, i.Path)
	}
	for _, path := range paths {
		if isSealed(path) {
			return fmt.Errorf("%s is encrypted, but the data directory has no %s. The server writes no unencrypted "+
				"copy next to an encrypted one: restore that file, or create a new key with holdfast "+
				"backup-key", path, RecipientFile)
		}
	}
	return nil
}

// sealFile writes a sealed copy of a file and returns the digest of the copy.
func sealFile(from, to string, recipient age.Recipient) (digest []byte, err error) {
	source, err := os.Open(from)
	if err != nil {
		return nil, err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	written := sha256.New()
	sealed, err := age.Encrypt(io.MultiWriter(target, written), recipient)
	if err == nil {
		_, err = io.Copy(sealed, source)
		err = errors.Join(err, sealed.Close())
	}
	return written.Sum(nil), errors.Join(err, target.Sync(), target.Close())
}

// otherKey returns the error for a file that the given key does not open.
func otherKey(path string) error {
	return fmt.Errorf("%s was encrypted with a different key. Use the key that backup-key printed before this copy "+
		"was made", path)
}

// unseal decrypts the files of a sealed copy into an existing directory. age detects a changed or missing part of a
// file. Errors contain called as the name of the copy.
func unseal(from, called, into string, key Key) error {
	for _, name := range []string{DatabaseFile, ScriptFile, KeysFile} {
		err := unsealFile(filepath.Join(from, name+sealedSuffix), filepath.Join(into, name), key)
		var wrong *age.NoIdentityMatchError
		switch {
		case errors.Is(err, fs.ErrNotExist) && name != KeysFile: // a backup contains only one of the two databases
		case errors.As(err, &wrong):
			return otherKey(called + "/" + name + sealedSuffix)
		case err != nil:
			return fmt.Errorf("%s is incomplete or not an encrypted file: %w", called+"/"+name+sealedSuffix, err)
		}
	}
	return nil
}

func unsealFile(from, to string, key Key) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	plain, err := age.Decrypt(f, key.identity)
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, plain)
	return errors.Join(err, out.Close())
}
