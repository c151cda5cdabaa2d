package notice

import (
	"bytes"
	"errors"
	"io/fs"
	"net/mail"
	"os"
	"path/filepath"
	"slices"
	"strings"

	gomail "github.com/wneessen/go-mail"
)

// fileSuffix is the end of the name of a file that contains one email. If no mail server is configured, each message
// becomes one file, named after its id.
const fileSuffix = ".eml"

// write writes a message to a file in the folder, either completely or not at all.
func (m *Mailer) write(id string, msg *gomail.Msg) error {
	if err := os.MkdirAll(m.options.Dir, 0o700); err != nil {
		return errors.New("cannot create the folder for email files")
	}
	var b bytes.Buffer
	if _, err := msg.WriteTo(&b); err != nil {
		return errors.New("the message could not be composed")
	}
	file := filepath.Join(m.options.Dir, filepath.Base(id)+fileSuffix)
	temporary := file + ".part"
	if err := os.WriteFile(temporary, b.Bytes(), 0o600); err != nil {
		return errors.New("the message could not be written to a file")
	}
	if err := os.Rename(temporary, file); err != nil {
		return errors.New("the message could not be written to a file")
	}
	return nil
}

// Remove deletes the files of these messages and, unless address is empty, of all messages to this address. It does so
// even if a mail server is now configured. It returns the number of deleted files, and the names of those that could
// not be read or deleted.
func (m *Mailer) Remove(ids []string, address string) (removed int, left []string) {
	entries, err := os.ReadDir(m.options.Dir)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) && m.options.Dir != "" {
			left = append(left, filepath.Base(m.options.Dir))
		}
		return 0, left
	}
	for _, entry := range entries {
		name := entry.Name()
		id, isMail := strings.CutSuffix(strings.TrimSuffix(name, ".part"), fileSuffix)
		if !isMail {
			continue
		}
		file := filepath.Join(m.options.Dir, name)
		about, err := slices.Contains(ids, id), error(nil)
		if !about && address != "" {
			about, err = isTo(file, address)
		}
		if about {
			err = os.Remove(file)
		}
		switch {
		case errors.Is(err, fs.ErrNotExist): // a .part file that has since been renamed: its writer checks again
		case err != nil:
			left = append(left, name)
		case about:
			removed++
		}
	}
	return removed, left
}

// isTo reports whether the message in a file is addressed to an address.
func isTo(file, address string) (bool, error) {
	f, err := os.Open(file)
	if err != nil {
		return false, err
	}
	defer f.Close()
	msg, err := mail.ReadMessage(f)
	if err != nil {
		return false, err
	}
	list, err := msg.Header.AddressList("To")
	return slices.ContainsFunc(list, func(a *mail.Address) bool { return strings.EqualFold(a.Address, address) }), err
}
