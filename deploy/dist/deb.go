package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/md5"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"time"
)

// The Debian package has the program, a hardened systemd unit, and a settings file that an upgrade does not
// overwrite. It does not start the server: the operator first sets the address of the pages.

// debMachines maps the targets that have a Debian package to Debian's names of their architectures.
var debMachines = map[target]string{{"linux", "amd64"}: "amd64", {"linux", "arm64"}: "arm64"}

const unitFile = "deploy/systemd/holdfast.service"

const debDefaults = `# Settings of Holdfast, one per line; holdfast help settings lists them all. The data directory is /var/lib/holdfast.
# Afterwards: systemctl restart holdfast
#HOLDFAST_BASE_URL=https://book.example.org
#HOLDFAST_TRUSTED_PROXIES=127.0.0.1
`

// After an installation or an upgrade, systemd restarts a running server. It does not start a stopped one.
const debAfter = `#!/bin/sh
set -e
if [ "$1" = configure ] && [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	systemctl try-restart holdfast.service || echo "holdfast did not start: see journalctl -u holdfast" >&2
fi
`

const debBefore = `#!/bin/sh
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
	systemctl --no-reload disable --now holdfast.service
fi
`

// After removal, systemd reloads its units. A purge also deletes the lines of holdfast service install --domain. It
// never deletes the clinic's data.
const debGone = `#!/bin/sh
set -e
if [ "$1" = purge ]; then
	rm -f /etc/systemd/system/holdfast.service.d/https.conf
	rmdir --ignore-fail-on-non-empty /etc/systemd/system/holdfast.service.d 2>/dev/null || true
	[ ! -d /var/lib/holdfast ] || echo "The data stays in /var/lib/holdfast (/var/lib/private/holdfast)."
fi
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
`

// packDeb writes a Debian package.
func packDeb(file string, o *options, machine, program string, parts []part) error {
	unit, err := os.ReadFile(unitFile)
	if err != nil {
		return err
	}
	binary, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	licence, err := os.ReadFile("LICENSE")
	if err != nil {
		return err
	}
	content := []entry{
		{name: "./etc/default/holdfast", content: []byte(debDefaults), mode: 0o644},
		{name: "./lib/systemd/system/holdfast.service", content: unit, mode: 0o644},
		{name: "./usr/bin/holdfast", content: binary, mode: 0o755},
		{name: "./usr/share/doc/holdfast/copyright", content: append(licence, licencesOf(parts)...), mode: 0o644},
	}
	for _, e := range o.manual {
		if strings.HasSuffix(e.name, ".1") {
			if e.content, err = compressed(e.content); err != nil {
				return err
			}
			e.name += ".gz"
		}
		content = append(content, e)
	}
	size := 0
	var sums strings.Builder
	for _, e := range content {
		size += len(e.content)
		// for dpkg --verify; authenticity depends on SHA256SUMS
		fmt.Fprintf(&sums, "%x  %s\n", md5.Sum(e.content), strings.TrimPrefix(e.name, "./"))
	}
	control := fmt.Sprintf(`Package: holdfast
Version: %s
Architecture: %s
Maintainer: The Holdfast authors <holdfast@localhost>
Installed-Size: %d
Section: net
Priority: optional
Recommends: ca-certificates
Description: appointment server in one binary
 Patients book on a live page, and the database makes double bookings
 impossible. It needs no other package to run.
`, debVersion(o.version), machine, (size+1023)/1024)
	steering := []entry{
		{name: "./control", content: []byte(control), mode: 0o644},
		{name: "./conffiles", content: []byte("/etc/default/holdfast\n"), mode: 0o644},
		{name: "./md5sums", content: []byte(sums.String()), mode: 0o644},
		{name: "./postinst", content: []byte(debAfter), mode: 0o755},
		{name: "./prerm", content: []byte(debBefore), mode: 0o755},
		{name: "./postrm", content: []byte(debGone), mode: 0o755},
	}
	inner, err := tarball(steering, o.at)
	if err != nil {
		return err
	}
	data, err := tarball(content, o.at)
	if err != nil {
		return err
	}
	return pack(file, func(w io.Writer) error {
		_, err := io.WriteString(w, "!<arch>\n")
		for _, m := range []entry{{name: "debian-binary", content: []byte("2.0\n")},
			{name: "control.tar.gz", content: inner}, {name: "data.tar.gz", content: data}} {
			if err == nil {
				_, err = fmt.Fprintf(w, "%-16s%-12d%-6d%-6d%-8s%-10d`\n", m.name, o.at.Unix(), 0, 0, "100644",
					len(m.content))
			}
			if err == nil {
				_, err = w.Write(append(m.content, make([]byte, len(m.content)%2)...))
			}
		}
		return err
	})
}

// compressed returns a text as gzip writes it, without a name and a time.
func compressed(text []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(text)
	}
	if err == nil {
		err = w.Close()
	}
	return b.Bytes(), err
}

// debVersion converts a version to one that Debian sorts correctly. 1.2.0-3-gabc, three commits after 1.2.0, is
// greater than 1.2.0 and less than 1.2.1. 1.2.0-rc.1 is less than 1.2.0. The result begins with a digit, as Debian
// requires.
func debVersion(v string) string {
	v, after, _ := strings.Cut(strings.TrimPrefix(v, "v"), "-")
	switch {
	case after == "":
	case 'a' <= after[0] && after[0] <= 'z' && !strings.HasPrefix(after, "dirty"):
		v += "~" + strings.ReplaceAll(after, "-", "+")
	default:
		v += "+" + strings.ReplaceAll(after, "-", "+")
	}
	if v == "" || v[0] < '0' || v[0] > '9' {
		v = "0+" + v
	}
	return v
}

// tarball returns an archive that also has the parent directories of its files, as dpkg requires.
func tarball(content []entry, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	zipped, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	t := tar.NewWriter(zipped)
	made := map[string]bool{".": true}
	var lead func(dir string) error
	lead = func(dir string) error {
		if made[dir] {
			return nil
		}
		made[dir] = true
		return errors.Join(lead(path.Dir(dir)),
			t.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: "./" + dir + "/", Mode: 0o755, ModTime: at,
				Format: tar.FormatUSTAR}))
	}
	for _, e := range content {
		if err := lead(path.Dir(e.name)); err != nil {
			return nil, err
		}
		if err := t.WriteHeader(&tar.Header{Name: e.name, Mode: e.mode, Size: int64(len(e.content)), ModTime: at,
			Format: tar.FormatUSTAR}); err != nil {
			return nil, err
		}
		if _, err := t.Write(e.content); err != nil {
			return nil, err
		}
	}
	err = errors.Join(t.Close(), zipped.Close())
	return b.Bytes(), err
}
