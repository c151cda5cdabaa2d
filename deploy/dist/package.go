package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// nfpm writes the Debian and RPM packages. It runs as a program, so that its modules are not those of Holdfast.
const nfpm = "github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.44.1"

// packageMachines maps the targets that have packages to the names of their architectures in each format.
var packageMachines = map[target]map[string]string{
	{"linux", "amd64"}: {"deb": "amd64", "rpm": "x86_64"},
	{"linux", "arm64"}: {"deb": "arm64", "rpm": "aarch64"},
}

const (
	unitFile      = "deploy/systemd/holdfast.service"
	alertsFile    = "deploy/prometheus/alerts.yml"
	dashboardFile = "deploy/grafana/holdfast.json"
)

const packageDefaults = `# Settings of Holdfast, one per line; holdfast help settings lists them all. The data directory is /var/lib/holdfast.
# After a change, run: systemctl restart holdfast
#HOLDFAST_BASE_URL=https://book.example.org
#HOLDFAST_TRUSTED_PROXIES=127.0.0.1
`

// These are the scripts of the packages, for both formats. dpkg calls them with a word, and rpm with the number of
// versions that remain afterwards.
const (
	// After an installation or an upgrade, systemd restarts a running server. It does not start a stopped one.
	afterInstall = `#!/bin/sh
set -e
case "$1" in configure | [1-9]*)
	if [ -d /run/systemd/system ]; then
		systemctl daemon-reload
		systemctl try-restart holdfast.service || echo "holdfast did not start: see journalctl -u holdfast" >&2
	fi
esac
`
	beforeRemove = `#!/bin/sh
set -e
case "$1" in remove | 0)
	if [ -d /run/systemd/system ]; then
		systemctl --no-reload disable --now holdfast.service
	fi
esac
`
	// After a removal, systemd reloads its units. A purge also deletes the lines of holdfast service install --domain.
	// It never deletes the clinic's data.
	afterRemove = `#!/bin/sh
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
)

type packageFile struct {
	Source      string   `json:"src"`
	Destination string   `json:"dst"`
	Type        string   `json:"type,omitempty"`
	Packager    string   `json:"packager,omitempty"` // empty means both
	Info        fileInfo `json:"file_info"`
}

type fileInfo struct {
	Mode  int64     `json:"mode"`
	Time  time.Time `json:"mtime"`
	Owner string    `json:"owner"`
	Group string    `json:"group"`
}

// packages writes the packages of one program into the directory of the release: the program, a hardened systemd unit,
// and a settings file that an upgrade does not overwrite. They do not start the server: the operator first sets the
// address of the pages.
func (o *options) packages(ctx context.Context, t target, program string, parts []part) (made []string, err error) {
	if packageMachines[t] == nil {
		return nil, nil
	}
	licence, err := os.ReadFile("LICENSE")
	if err != nil {
		return nil, err
	}
	work := filepath.Dir(program)
	content := append([]entry{
		{name: "./etc/default/holdfast", content: []byte(packageDefaults), mode: 0o644},
		{name: "./lib/systemd/system/holdfast.service", from: unitFile, mode: 0o644},
		{name: "./usr/bin/holdfast", from: program, mode: 0o755},
		{name: "./usr/share/doc/holdfast/monitoring/alerts.yml", from: alertsFile, mode: 0o644},
		{name: "./usr/share/doc/holdfast/monitoring/holdfast.json", from: dashboardFile, mode: 0o644},
		{name: "./usr/share/doc/holdfast/copyright", content: append(licence, licencesOf(parts)...), mode: 0o644},
	}, o.manual...)
	var contents []packageFile
	for i, e := range content {
		if e.from == "" {
			if strings.HasSuffix(e.name, ".1") {
				if e.content, err = compressed(e.content); err != nil {
					return nil, err
				}
				e.name += ".gz"
			}
			e.from = filepath.Join(work, fmt.Sprint("file", i))
			if err := os.WriteFile(e.from, e.content, 0o600); err != nil {
				return nil, err
			}
		}
		f := packageFile{Source: e.from, Destination: path.Clean("/" + e.name),
			Info: fileInfo{e.mode, o.at, "root", "root"}}
		switch {
		case strings.HasPrefix(f.Destination, "/etc/"):
			f.Type = "config|noreplace"
		case strings.HasPrefix(f.Destination, "/lib/"): // earlier Debian packages put the unit there
			rpm := f
			rpm.Destination, rpm.Packager, f.Packager = "/usr"+f.Destination, "rpm", "deb"
			contents = append(contents, rpm)
		}
		contents = append(contents, f)
	}
	scripts := map[string]string{"postinstall": afterInstall, "preremove": beforeRemove, "postremove": afterRemove}
	for name, text := range scripts {
		scripts[name] = filepath.Join(work, name)
		if err := os.WriteFile(scripts[name], []byte(text), 0o700); err != nil {
			return nil, err
		}
	}
	description, err := json.Marshal(map[string]any{ // JSON is valid YAML
		"name": "holdfast", "version": packageVersion(o.version), "version_schema": "none", "platform": "linux",
		"arch": t.machine, "section": "net", "priority": "optional", "license": "Apache-2.0", "mtime": o.at,
		"maintainer": "The Holdfast authors <holdfast@localhost>", "recommends": []string{"ca-certificates"},
		"description": "appointment server in one binary\nPatients book on a live page, and the database makes " +
			"double bookings\nimpossible. It needs no other package to run.",
		"contents": contents, "scripts": scripts,
		"rpm": map[string]string{"buildhost": "localhost", "summary": "appointment server in one binary"},
	})
	if err != nil {
		return nil, err
	}
	config := filepath.Join(work, "nfpm.yaml")
	if err := os.WriteFile(config, description, 0o600); err != nil {
		return nil, err
	}
	for _, kind := range []string{"deb", "rpm"} {
		form := map[string]string{"deb": "holdfast_%s_%s.deb", "rpm": "holdfast-%s-1.%s.rpm"}[kind]
		file := filepath.Join(o.into, fmt.Sprintf(form, packageVersion(o.version), packageMachines[t][kind]))
		pack := exec.CommandContext(ctx, "go", "run", nfpm,
			"package", "--config", config, "--packager", kind, "--target", file)
		if said, err := pack.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("nfpm: %w\n%s", err, said)
		}
		made = append(made, file)
	}
	return made, nil
}

// packageVersion converts a version to one that Debian and RPM sort correctly. 1.2.0-3-gabc, three commits after
// 1.2.0, is greater than 1.2.0 and less than 1.2.1. 1.2.0-rc.1 is less than 1.2.0. The result begins with a digit, as
// Debian requires.
func packageVersion(v string) string {
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

// compressed returns text in the gzip format, without a name or a time.
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
