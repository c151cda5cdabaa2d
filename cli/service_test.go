package cli

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestServiceIsInstalled installs the service below a directory. systemd accepts the unit, with and without HTTPS, and
// uninstall removes the files.
func TestServiceIsInstalled(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	half := filepath.Join(root, serviceProgram+".new") // left by an interrupted install, with a strict umask
	if err := errors.Join(os.MkdirAll(filepath.Dir(half), 0o755),
		os.WriteFile(half, []byte("half"), 0o600)); err != nil {
		t.Fatal(err)
	}
	said := must(t, "service", "install", "--root", root, "--domain", "book.example.org,www.example.org")
	contains(t, "install", said, filepath.Join(root, serviceUnit), "/var/lib/holdfast")
	unit := read(t, filepath.Join(root, serviceUnit))
	contains(t, "the unit", unit, "ExecStart="+serviceProgram+" serve", "DynamicUser=yes", "ProtectSystem=strict")
	contains(t, "the part about HTTPS", read(t, filepath.Join(root, serviceHTTPS)),
		"HOLDFAST_DOMAIN=book.example.org,www.example.org",
		"AmbientCapabilities=CAP_NET_BIND_SERVICE")
	if info, err := os.Stat(filepath.Join(root, serviceProgram)); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the program: %v, %v; want it with mode 0755", info, err)
	}
	if info, err := os.Stat(filepath.Join(root, serviceSettings)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the settings file, which can contain secrets: %v, %v; want mode 0600", info, err)
	}
	// These targets exist on every machine.
	for _, around := range []string{"sysinit", "basic", "shutdown", "network-online", "multi-user"} {
		file := filepath.Join(root, "usr/lib/systemd/system", around+".target")
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755),
			os.WriteFile(file, []byte("[Unit]\nDescription="+around+"\n"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if analyze, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Log("!!! SKIPPED: systemd-analyze verify; there is none here")
	} else if said, err := exec.Command(analyze, "verify", "--root="+root, "--man=no",
		serviceName).CombinedOutput(); err != nil {
		t.Errorf("systemd-analyze verify: %v\n%s", err, said)
	}

	settings := filepath.Join(root, serviceSettings)
	if err := os.WriteFile(settings, []byte("HOLDFAST_LOG_FORMAT=json\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	must(t, "service", "install", "--root", root)
	if got := read(t, settings); got != "HOLDFAST_LOG_FORMAT=json\n" {
		t.Errorf("a second install has changed the settings to %q", got)
	}
	contains(t, "uninstall", must(t, "service", "uninstall", "--root", root), "Not deleted: ")
	for path, stays := range map[string]bool{serviceUnit: false, filepath.Dir(serviceHTTPS): false,
		serviceSettings: true, serviceProgram: true} {
		if _, err := os.Stat(filepath.Join(root, path)); (err == nil) != stays {
			t.Errorf("after uninstall, %s exists: %t, want %t", path, err == nil, stays)
		}
	}
	// The uninstall also removes the files that install writes next to the unit of a package. Other files there are
	// not removed.
	part, others := filepath.Join(root, serviceHTTPS), filepath.Join(root, filepath.Dir(serviceHTTPS), "memory.conf")
	if err := errors.Join(os.MkdirAll(filepath.Dir(part), 0o755), os.WriteFile(part, nil, 0o600),
		os.WriteFile(others, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	contains(t, "uninstall beside a package", must(t, "service", "uninstall", "--root", root), "apt remove holdfast")
	if got := command(t, nil, "", "service", "uninstall", "--root", root); got.code == 0 ||
		!strings.Contains(got.stderr, "nothing was installed here") {
		t.Errorf("uninstall without a service: exit %d, %q", got.code, got.stderr)
	}
	for path, stays := range map[string]bool{part: false, others: true} {
		if _, err := os.Stat(path); (err == nil) != stays {
			t.Errorf("after the second uninstall, %s exists: %t, want %t", path, err == nil, stays)
		}
	}
}

// TestServiceDryRunDoesNothing: a dry run prints all steps and changes nothing.
func TestServiceDryRunDoesNothing(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	said := must(t, "service", "install", "--dry-run", "--root", root, "--domain", "book.example.org")
	contains(t, "the dry run", said, "copy ", "    ExecStart="+serviceProgram, "    PrivateUsers=no")
	contains(t, "without a root", must(t, "service", "install", "--dry-run"), "systemctl daemon-reload",
		"systemctl enable "+serviceName)
	contains(t, "uninstall", must(t, "service", "uninstall", "--dry-run"), "systemctl disable --now "+serviceName,
		"remove "+serviceUnit)
	if left, err := os.ReadDir(root); err != nil || len(left) > 0 {
		t.Errorf("the files are %v, %v", left, err)
	}
}

// TestServiceExplainsFailure: the error explains an unsupported operating system, a user who is not root, and an
// unknown user name.
func TestServiceExplainsFailure(t *testing.T) {
	t.Parallel()
	refusal := "only root can install services"
	if _, err := os.Stat("/run/systemd/system"); err != nil {
		refusal = "systemd is not running on this machine"
	}
	for _, c := range []struct {
		name, system string
		user         int
		domains      []string
		want         string
	}{
		{"macOS", "darwin", 0, nil, "launchctl bootstrap"},
		{"Windows", "windows", 0, nil, "schtasks /Create"},
		{"FreeBSD", "freebsd", 0, nil, "rc.d"},
		{"another", "plan9", 0, nil, "the service manager of that system"},
		{"refusal", "linux", 1000, nil, refusal},
	} {
		s := service{out: new(bytes.Buffer), system: c.system, user: c.user}
		for _, err := range []error{s.install(t.Context(), c.domains), s.uninstall(t.Context())} {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %q in it", c.name, err, c.want)
			}
		}
	}
	got := command(t, nil, "", "service", "install", "--dry-run", "--domain", "192.0.2.1")
	if got.code != 2 || !strings.Contains(got.stderr, "must be a DNS name") {
		t.Errorf("an address instead of a name: exit %d, %q", got.code, got.stderr)
	}
}
