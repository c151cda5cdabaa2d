package cli

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
)

// # Copies that only a key on paper opens
//
// The backup destination belongs to somebody else: a provider, a disk that is carried home. The clinic makes a key and prints
// it; the server keeps the half that seals and cannot open what it sealed. A sealed copy is the backup's directory with each file in the age
// format, which the program age opens too.

const (
	recipientFile = "backup.pub" // of the data directory: the half of the key that seals
	sealedSuffix  = ".age"       // of a sealed file
	maxKeyText    = 64 << 10
)

// isSealed reports whether a path is the directory of a sealed copy.
func isSealed(path string) bool {
	for _, name := range []string{databaseFile, scriptFile} {
		if _, err := os.Stat(filepath.Join(path, name+sealedSuffix)); err == nil {
			return true
		}
	}
	return lookAtTrail(path).sealed
}

// sealer is what copies to the backup destination are sealed for; nil if no key was made.
func (d *dataDir) sealer() (*age.X25519Recipient, error) {
	path := d.file(recipientFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	to, err := age.ParseX25519Recipient(strings.TrimSpace(string(text)))
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read, and nothing is copied in the clear instead: put it back, or make a new key with holdfast backup-key --replace: %w", path, err)
	}
	return to, nil
}

// refuseInTheClear refuses a copy in the clear beside sealed ones: somebody made a key, and this data directory has lost its half, or is
// another than the one that had it.
func refuseInTheClear(second string) error {
	made, err := ownBackupsIn(second)
	if err != nil {
		return err
	}
	trails, err := trailsIn(second)
	if err != nil {
		return err
	}
	var paths []string
	for _, at := range made {
		paths = append(paths, filepath.Join(second, ownBackupName(at)))
	}
	for _, t := range trails {
		paths = append(paths, t.path)
	}
	for _, path := range paths {
		if isSealed(path) {
			return fmt.Errorf("%s is sealed, and this data directory has no %s, so nothing is copied in the clear beside it: put that file back, or make a "+
				"new key with holdfast backup-key", path, recipientFile)
		}
	}
	return nil
}

// newBackupKey makes a key, hands the half that opens to show, and then keeps the half that seals: a key that nobody has seen seals
// nothing.
func newBackupKey(dir string, replace bool, show func(*age.X25519Identity) error) error {
	path := filepath.Join(dir, recipientFile)
	if known, err := os.ReadFile(path); err == nil && !replace {
		return fmt.Errorf("copies of backups are sealed already, for %s. With --replace a new key is made; what was sealed until now opens with the old one only",
			strings.TrimSpace(string(known)))
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	key, err := age.GenerateX25519Identity()
	if err != nil {
		return err
	}
	if err := show(key); err != nil {
		return fmt.Errorf("no key was made, since it was not shown: %w", err)
	}
	return replaceFile(path, []byte(key.Recipient().String()+"\n"))
}

// parseBackupKey reads the half that opens, as it was printed or as somebody typed it from paper: in any case, with blanks and line
// ends. Lines that begin with # are passed over. The key has a checksum, so that a mistyped letter is noticed.
func parseBackupKey(text string) (*age.X25519Identity, error) {
	var typed strings.Builder
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "#") {
			typed.WriteString(strings.ToUpper(strings.Join(strings.Fields(line), "")))
		}
	}
	key, err := age.ParseX25519Identity(typed.String())
	if err != nil {
		return nil, errors.New("this is no key of backups, or a letter of it is wrong: compare it with the paper. It begins with AGE-SECRET-KEY-1")
	}
	return key, nil
}

// sealFile writes a sealed copy of a file and returns the digest of what was written.
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

// unseal opens the files of a sealed copy into a directory that is there. age checks each part of a file, and that there is none
// missing. A person calls the copy what called says.
func unseal(from, called, into string, key age.Identity) error {
	for _, name := range []string{databaseFile, scriptFile, secretFile} {
		path := filepath.Join(from, name+sealedSuffix)
		err := openSealed(path, filepath.Join(into, name), key)
		var wrong *age.NoIdentityMatchError
		switch {
		case errors.Is(err, fs.ErrNotExist) && name != secretFile: // it is a backup of the other database
		case errors.As(err, &wrong):
			return fmt.Errorf("%s was sealed for another key", called+"/"+name+sealedSuffix)
		case err != nil:
			return fmt.Errorf("%s is not whole, or no sealed file: %w", called+"/"+name+sealedSuffix, err)
		}
	}
	return nil
}

func openSealed(from, to string, key age.Identity) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	plain, err := age.Decrypt(f, key)
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
