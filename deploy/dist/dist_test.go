package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"debug/buildinfo"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func files(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{}
	for _, f := range list {
		if all[f.Name()], err = os.ReadFile(filepath.Join(dir, f.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// checkArchive compares an archive with the program in it: the bill of materials lists every linked module and no
// other, and the licence of each module is included.
func checkArchive(t *testing.T, name string, archive, sold []byte) {
	t.Helper()
	zipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	content := map[string][]byte{}
	for all := tar.NewReader(zipped); ; {
		h, err := all.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Uname+h.Gname != "" || h.Uid+h.Gid != 0 || h.ModTime.Year() != 2026 {
			t.Errorf("%s: got the owner %q and the time %s, want no owner and 2026", h.Name, h.Uname, h.ModTime)
		}
		if content[strings.TrimPrefix(h.Name, name+"/")], err = io.ReadAll(all); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"holdfast", "LICENSE", "README.md", "harbour.json", "monitoring/alerts.yml", "THIRD-PARTY-LICENSES.txt",
		"sbom.cdx.json"} {
		if len(content[want]) == 0 {
			t.Errorf("the archive has no %s", want)
		}
	}
	if !bytes.Equal(content["sbom.cdx.json"], sold) {
		t.Error("the bill of materials in the archive differs from the one next to it")
	}
	t.Setenv("HOLDFAST_DATA", "/dev/null/private clinic") // the commands in README.md must not use it
	follow(t, content)
	info, err := buildinfo.Read(bytes.NewReader(content["holdfast"]))
	if err != nil {
		t.Fatal(err)
	}
	if root, err := os.Getwd(); err != nil || bytes.Contains(content["holdfast"], []byte(root+"/")) {
		t.Errorf("the program contains its build directory: %v", err)
	}
	var b bill
	if err := json.Unmarshal(sold, &b); err != nil {
		t.Fatal(err)
	}
	want := []string{"pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go")}
	for _, m := range info.Deps {
		want = append(want, "pkg:golang/"+m.Path+"@"+m.Version)
		if !bytes.Contains(content["THIRD-PARTY-LICENSES.txt"], []byte("\n"+m.Path+" "+m.Version+": ")) {
			t.Errorf("the archive misses the licence of %s", m.Path)
		}
	}
	want = append(want, "pkg:npm/zxcvbn@4.4.2")
	var listed []string
	for _, c := range b.Components {
		listed = append(listed, c.PURL)
		if len(c.Licences) == 0 {
			t.Errorf("the bill of materials has no licence for %s", c.Name)
		}
	}
	if !slices.Equal(listed, want) || len(want) < 20 {
		t.Errorf("the bill of materials lists %v, the program has %v", listed, want)
	}
	t.Logf("%d modules, %d bytes of licences", len(info.Deps), len(content["THIRD-PARTY-LICENSES.txt"]))
}

// follow runs the commands in the archive's README.md with the files of the archive, except commands that do not end.
func follow(t *testing.T, content map[string][]byte) {
	t.Helper()
	dir := t.TempDir()
	for name, b := range content {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, b, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	lines := regexp.MustCompile(`(?m)^\./holdfast (import|apikey|service) .*$`).FindAllString(string(content["README.md"]), -1)
	if len(lines) != 3 {
		t.Errorf("the page has these commands: %q", lines)
	}
	for _, line := range lines {
		if runtime.GOOS != "linux" && strings.Contains(line, " service ") {
			continue // systemd exists only on Linux
		}
		run := exec.Command("sh", "-c", line)
		// the user may have a clinic at HOLDFAST_DATA
		run.Dir, run.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}
		if said, err := run.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", line, err, said)
		}
	}
}

// TestUnknownLicenceIsAnError: an unknown licence is an error, and so is a missing one.
func TestUnknownLicenceIsAnError(t *testing.T) {
	dir := t.TempDir()
	if _, err := readLicences(dir); err == nil {
		t.Error("a module without a licence causes no error")
	}
	path := filepath.Join(dir, "LICENSE")
	for text, id := range map[string]string{
		"All rights reserved.": "", "Permission is hereby granted,\nfree of charge, to any person": "MIT",
		"                                 Apache License\n                           Version 2.0, January 2004": "Apache-2.0",
		"Redistributions in binary form must reproduce\n* Neither the name of Google Inc.":                      "BSD-3-Clause",
		"Redistributions in binary form must reproduce the above":                                               "BSD-2-Clause",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		all, err := readLicences(dir)
		if (err != nil) != (id == "") || err == nil && all[0].id != id {
			t.Errorf("%q: got %v, %v; want %q", text, all, err, id)
		}
	}
}
