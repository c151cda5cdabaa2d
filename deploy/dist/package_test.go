package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdfast/cli/clitest"
)

// TestPackagesInstallFiles: dpkg and rpm read the packages, and each file is at its path. The packages contain a shell
// script in place of the program.
func TestPackagesInstallFiles(t *testing.T) {
	clitest.Long(t, "nfpm is compiled")
	dpkg, err := exec.LookPath("dpkg-deb")
	if err != nil {
		t.Skip("dpkg-deb is not installed")
	}
	t.Chdir("../..")
	program := filepath.Join(t.TempDir(), "holdfast")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho made\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	o := &options{
		version: "v1.2.0-3-gabcdef0", at: time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC), into: t.TempDir(),
		manual: []entry{{name: "./usr/share/man/man1/holdfast.1", content: []byte(".TH HOLDFAST 1\n"), mode: 0o644}},
	}
	made, err := o.packages(t.Context(), target{"linux", "amd64"}, program,
		[]part{{path: "example.org/x", licences: []licence{{"LICENSE", "do as you like", "MIT"}}}})
	if err != nil || len(made) != 2 {
		t.Fatal(made, err)
	}
	deb, rpm := made[0], made[1]
	field := func(name string) string {
		out, err := exec.Command(dpkg, "--field", deb, name).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return strings.TrimSpace(string(out))
	}
	if v, m := field("Version"), field("Architecture"); v != "1.2.0+3+gabcdef0" || m != "amd64" {
		t.Errorf("got version %s for %s", v, m)
	}
	root := t.TempDir()
	if out, err := exec.Command(dpkg, "--extract", deb, root).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := exec.Command(filepath.Join(root, "usr/bin/holdfast")).Output(); err != nil ||
		string(out) != "made\n" {
		t.Errorf("the installed program: %q, %v", out, err)
	}
	for _, path := range []string{"etc/default/holdfast", "lib/systemd/system/holdfast.service",
		"usr/share/doc/holdfast/monitoring/alerts.yml", "usr/share/doc/holdfast/copyright", "usr/share/man/man1/holdfast.1.gz"} {
		if info, err := os.Stat(filepath.Join(root, path)); err != nil || info.Mode().Perm() != 0o644 {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
	scripts := t.TempDir()
	if out, err := exec.Command(dpkg, "--control", deb, scripts).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, script := range []string{"postinst", "prerm", "postrm"} {
		if out, err := exec.Command("sh", "-n", filepath.Join(scripts, script)).CombinedOutput(); err != nil {
			t.Errorf("%s: %v %s", script, err, out)
		}
	}

	if _, err := exec.LookPath("rpm"); err != nil {
		t.Skip("rpm is not installed")
	}
	out, err := exec.Command("rpm", "-qp", "--nosignature", "--queryformat",
		"%{VERSION} %{ARCH}\n[%{FILEMODES:perms} %{FILEUSERNAME} %{FILENAMES}\n]", rpm).CombinedOutput()
	if err != nil {
		t.Fatalf("rpm: %v\n%s", err, out)
	}
	for _, want := range []string{"1.2.0+3+gabcdef0 x86_64", "-rwxr-xr-x root /usr/bin/holdfast", "-rw-r--r-- root /etc/default/holdfast",
		"-rw-r--r-- root " +
			"/usr/lib/systemd/system/holdfast.service", "-rw-r--r-- root /usr/share/man/man1/holdfast.1.gz"} {
		if !strings.Contains(string(out), want+"\n") {
			t.Errorf("the RPM package misses %q:\n%s", want, out)
		}
	}
}

func TestPackageVersionsAreOrdered(t *testing.T) {
	for given, want := range map[string]string{"v1.2.0": "1.2.0", "v1.2.0-3-gabc": "1.2.0+3+gabc",
		"abc123-dirty": "0+abc123+dirty", "dev": "0+dev", "v1.2.0-rc.1": "1.2.0~rc.1"} {
		if got := packageVersion(given); got != want {
			t.Errorf("%q: got %s, want %s", given, got, want)
		}
	}
}

// TestUnitIsHardened: the exposure that systemd computes stays below 3 of 10.
func TestUnitIsHardened(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	out, err := exec.Command(analyze, "security", "--offline=true", "--no-pager",
		"../systemd/holdfast.service").CombinedOutput()
	m := regexp.MustCompile(`Overall exposure level for holdfast.service: ([0-9.]+)`).FindSubmatch(out)
	if m == nil {
		t.Skipf("this systemd-analyze cannot check files: %v %s", err, out)
	}
	if exposure, err := strconv.ParseFloat(string(m[1]), 64); err != nil || exposure >= 3 {
		t.Errorf("the exposure is %s, want less than 3\n%s", m[1], out)
	}
	t.Logf("exposure %s", m[1])
}
