// Command dist builds the files of a release: one archive for each system, with the program, its licence and those of
// all linked modules; a bill of materials for each archive; Debian packages; and SHA256SUMS of all files. `make dist`
// runs it at the root of the module.
//
// It is reproducible: the same commit, Go and version produce the same bytes on any machine. The archives carry the
// time of the commit, and contain no owner or path of the machine. The program is built with -trimpath, and without cgo
// and version control stamps.
package main

import (
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// target is a system that the program is built for.
type target struct{ system, machine string }

// targets lists all targets. linux/arm is ARMv6 and later.
var targets = []target{
	{"linux", "amd64"}, {"linux", "arm64"}, {"linux", "arm"}, {"darwin", "amd64"}, {"darwin", "arm64"},
	{"windows", "amd64"}, {"freebsd", "amd64"},
}

func (t target) String() string { return t.system + "/" + t.machine }

// options describe a release.
type options struct {
	version string
	at      time.Time // time of the commit
	into    string
	targets []target
	env     []string // environment of the go command, in addition to its own
	manual  []entry  // the manual page and the shell completions, at the paths of a Linux system
}

func main() {
	log.SetFlags(0)
	o := options{}
	only := ""
	flag.StringVar(&o.version, "version", "dev", "what the program says of itself")
	flag.StringVar(&o.into, "into", "dist", "the directory, which is made")
	flag.StringVar(&only, "only", "", "systems with commas, such as linux/amd64; empty: all")
	flag.Parse()
	for _, t := range targets {
		if only == "" || strings.Contains(","+only+",", ","+t.String()+",") {
			o.targets = append(o.targets, t)
		}
	}
	var err error
	if o.at, err = commitTime(); err == nil {
		err = release(context.Background(), o)
	}
	if err != nil {
		log.Fatal("dist: ", err)
	}
}

// commitTime returns the time of the commit, or SOURCE_DATE_EPOCH, as reproducible-builds.org defines it.
func commitTime() (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		out, err := exec.Command("git", "log", "-1", "--format=%ct").Output()
		if err != nil {
			return time.Time{}, fmt.Errorf("when was the commit? Set SOURCE_DATE_EPOCH outside of a checkout: %w", err)
		}
		text = strings.TrimSpace(string(out))
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	return time.Unix(seconds, 0).UTC(), err
}

// release builds all files.
func release(ctx context.Context, o options) error {
	if len(o.targets) == 0 {
		return errors.New("none of these systems is supported")
	}
	if err := os.MkdirAll(o.into, 0o755); err != nil {
		return err
	}
	var err error
	if o.manual, err = manualOf(ctx); err != nil {
		return err
	}
	var sums strings.Builder
	sum := func(files []string) error {
		for _, path := range files {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(b), filepath.Base(path))
			log.Printf("%s: %d bytes", filepath.Base(path), len(b))
		}
		return nil
	}
	clients, err := filepath.Glob(filepath.Join(o.into, "holdfast-client*")) // .ci/clients packed them
	if err != nil {
		return err
	}
	if err := sum(clients); err != nil {
		return err
	}
	for _, t := range o.targets {
		made, err := o.make(ctx, t)
		if err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
		if err := sum(made); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(o.into, "SHA256SUMS"), []byte(sums.String()), 0o644)
}

// manualOf runs the program on this machine for its manual page and its completions.
func manualOf(ctx context.Context) (files []entry, err error) {
	for _, f := range []struct{ path, command string }{
		{"./usr/share/man/man1/holdfast.1", "man"},
		{"./usr/share/bash-completion/completions/holdfast", "completion bash"},
		{"./usr/share/zsh/vendor-completions/_holdfast", "completion zsh"},
		{"./usr/share/fish/vendor_completions.d/holdfast.fish", "completion fish"},
	} {
		c := exec.CommandContext(ctx, "go", append([]string{"run", "."}, strings.Fields(f.command)...)...)
		var refusal strings.Builder
		c.Stderr = &refusal
		text, err := c.Output()
		if err != nil {
			return nil, fmt.Errorf("holdfast %s: %w\n%s", f.command, err, &refusal)
		}
		files = append(files, entry{name: f.path, content: text, mode: 0o644})
	}
	return files, nil
}

// make builds the program for one system and packs it. It returns the files that it has written.
func (o *options) make(ctx context.Context, t target) (made []string, err error) {
	work, err := os.MkdirTemp("", "holdfast-dist-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	program := filepath.Join(work, "holdfast")
	if t.system == "windows" {
		program += ".exe"
	}
	build := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-trimpath", "-ldflags",
		"-s -w -buildid= -X main.version="+o.version,
		"-o", program, ".")
	build.Env = append(os.Environ(), "GOOS="+t.system, "GOARCH="+t.machine, "GOARM=6", "GOAMD64=v1", "CGO_ENABLED=0",
		"GOFLAGS=")
	build.Env = append(build.Env, o.env...)
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build: %w\n%s", err, out)
	}
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return nil, err
	}
	parts, err := partsOf(ctx, info)
	if err != nil {
		return nil, err
	}
	bill, err := billOf(o, t, info.GoVersion, parts)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("holdfast_%s_%s_%s", o.version, t.system, t.machine)
	bills := filepath.Join(o.into, name+".cdx.json")
	if err := os.WriteFile(bills, bill, 0o644); err != nil {
		return nil, err
	}
	content := []entry{{name: filepath.Base(program), from: program, mode: 0o755},
		{name: "LICENSE", from: "LICENSE", mode: 0o644},
		{name: "README.md", from: "deploy/dist/README.md", mode: 0o644},
		{name: "harbour.json", from: "testdata/clinic/harbour.json", mode: 0o644},
		{name: "monitoring/alerts.yml", from: alertsFile, mode: 0o644},
		{name: "monitoring/holdfast.json", from: dashboardFile, mode: 0o644},
		{name: "THIRD-PARTY-LICENSES.txt", content: licencesOf(parts), mode: 0o644},
		{name: "sbom.cdx.json", content: bill, mode: 0o644}}
	archive := filepath.Join(o.into, name+".tar.gz")
	pack := packTar
	if t.system == "windows" {
		archive, pack = filepath.Join(o.into, name+".zip"), packZip
	}
	made = []string{archive, bills}
	packed, err := o.packages(ctx, t, program, parts)
	if err != nil {
		return nil, err
	}
	made = append(made, packed...)
	return made, pack(archive, name, content, o.at)
}
