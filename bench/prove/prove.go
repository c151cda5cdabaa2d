package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"holdfast/bench/planted"
)

// row is one line of the table.
type row struct {
	name, unit string
	asked      int      // the count at which the long form ends; 0 means that one run is enough
	pkg, run   string   // the tests of a package
	fuzz       string   // or one fuzz target of the package
	program    []string // or the arguments of the program itself; the duration follows them
	counted    string   // the pattern of the count in the output; empty means the number of passed tests
	args       []string // arguments of the tests; {seed} is the seed of the run
	long       []string // instead of args in the long form
	env        string   // NAME=value in the short form; {seed} as above
	longEnv    string   // NAME=value in the long form
	onlyLong   bool
	build      string // the script that builds the tests into the file named by its argument; empty means go test -c
	onDisk     bool   // not in memory: the row tests the disk
	bug        *bug
}

// bug is one or more changes that break the product. says matches the message with which a row must report the bug.
type bug struct {
	lines []planted.Bug
	says  string // a regular expression
	long  bool   // built only in the long form, because it costs a build of most of the program
}

// result is the outcome of a row.
type result struct {
	count, bad int
	note       string // why it was not run
	sees       string // whether it found its bug: yes, NO, or – if it has none
	took       time.Duration
	output     string
}

// prover runs rows. It keeps the binaries that it builds until it ends.
type prover struct {
	options
	dir string
	// receives the progress and the failures
	problems io.Writer
	built    map[string]string // binaries, by package
	done     progresses        // the progress of the rows, by name
	wrong    string            // the package and the bug of the last binary that was built with a bug
}

// isSeeded reports whether a row uses a seed.
func (r *row) isSeeded() bool {
	return strings.Contains(strings.Join(r.args, " ")+r.env+r.longEnv, "{seed}")
}

// prove runs a row, and then runs it again with its bug. In the long form, it repeats the row until the row has reached
// its count. If an earlier run of the same version stored its progress, prove continues where that run ended.
func (p *prover) prove(r *row, seen string) (x result) {
	began, at := time.Now(), p.done.of(r, seen)
	x.count, x.sees = at.Count, cmp.Or(at.Sees, "–")
	for at.Runs == 0 || p.long && x.count < r.asked {
		run := time.Now()
		all := p.sideBySide(r, p.seed+at.Runs, r.asked-x.count)
		for _, one := range all {
			x.count, x.bad, x.note = x.count+one.count, x.bad+one.bad, one.note
			if x.output == "" || one.bad > 0 {
				x.output = one.output
			}
		}
		if x.bad > 0 || x.note != "" {
			break
		}
		at.Runs, at.Count, at.Seconds = at.Runs+uint64(len(all)), x.count, at.Seconds+time.Since(run).Seconds()
		p.keep(r, at)
		if !p.long || p.most > 0 && time.Since(began) > p.most {
			break
		}
	}
	if r.bug != nil && at.Sees == "" && x.note == "" && x.bad == 0 && (p.long || !r.bug.long) {
		run := time.Now()
		x.sees = "yes"
		if err := p.seesBug(r); err != nil {
			x.sees, x.output = "NO", err.Error()
			x.bad++
		} else {
			at.Sees, at.Seconds = "yes", at.Seconds+time.Since(run).Seconds()
			p.keep(r, at)
		}
	}
	x.took = max(time.Since(began), time.Duration(at.Seconds*float64(time.Second)))
	return x
}

// plantedIn returns the name of a package's binary with a bug built in.
func plantedIn(pkg string) string { return pkg + " planted" }

// tests builds the tests of a package and returns the path of the binary. With extra arguments, the binary contains a
// bug. If there is a script, the script builds the binary instead.
func (p *prover) tests(pkg, script string, extra ...string) (binary string, err error) {
	name := pkg
	if extra != nil {
		name = plantedIn(pkg)
	}
	if script != "" {
		name = script
	}
	if binary, isBuilt := p.built[name]; isBuilt {
		return binary, nil
	}
	binary = filepath.Join(p.dir, strings.ReplaceAll(strings.TrimLeft(pkg, "./"), "/", "-")+".test")
	args := []string{"test", "-c"}
	if pkg == "." { // the program
		binary, args = filepath.Join(p.dir, "holdfast"), []string{"build"}
	}
	if extra != nil {
		binary += ".planted"
	}
	command := exec.Command("go", append(append(append(args, "-o", binary), extra...), pkg)...)
	if script != "" {
		command = exec.Command(script, binary)
	}
	if out, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s cannot be built: %w\n%s", pkg, err, out)
	}
	p.built[name] = binary
	return binary, nil
}

// builtFrom returns the package that a row runs: the package of its tests, or the program.
func (r *row) builtFrom() string {
	if r.program != nil {
		return "."
	}
	return r.pkg
}

// command returns the command of a row.
func (p *prover) command(r *row, seed uint64, extra ...string) (*exec.Cmd, error) {
	if r.fuzz != "" {
		return p.fuzzCommand(r, extra...)
	}
	binary, err := p.tests(r.builtFrom(), r.build, extra...)
	if err != nil {
		return nil, err
	}
	var c *exec.Cmd
	if r.program != nil {
		length := "5s"
		if p.long {
			length = "10m"
		}
		c = exec.Command(binary, append(append([]string(nil), r.program...), length)...)
	} else {
		args := []string{"-test.v", "-test.timeout=24h", "-test.run=" + r.run}
		own := r.args
		if p.long && r.long != nil {
			own = r.long
		}
		for _, arg := range own {
			args = append(args, seeded(arg, seed))
		}
		c = exec.Command(binary, args...)
		c.Dir = r.pkg
	}
	c.Env = os.Environ()
	if r.onDisk {
		c.Env = append(c.Env, "TMPDIR=/var/tmp")
	}
	env := r.env
	if p.long && r.longEnv != "" {
		env = r.longEnv
	}
	c.Env = append(c.Env, strings.Fields(seeded(env, seed))...)
	return c, nil
}

// fuzzCommand returns the command of a row with a fuzz target. In the short form, the target gets only known inputs, so
// that the result does not depend on chance; in the long form, go test looks for new ones.
func (p *prover) fuzzCommand(r *row, extra ...string) (*exec.Cmd, error) {
	if p.long || p.fuzz > 0 {
		length := cmp.Or(p.fuzz, 10*time.Minute)
		args := append([]string{"test", "-run=^$", "-fuzz=^" + r.fuzz + "$", "-fuzztime=" + length.String(),
			"-fuzzminimizetime=100x"}, extra...)
		return exec.Command("go", append(args, r.pkg)...), nil
	}
	binary, err := p.tests(r.pkg, "", extra...)
	if err != nil {
		return nil, err
	}
	dir, err := p.inputs(r)
	if err != nil {
		return nil, err
	}
	c := exec.Command(binary, "-test.v", "-test.run=^"+r.fuzz+"$")
	c.Dir = dir
	return c, nil
}

// inputs returns a directory to run a fuzz target in. Its testdata is a copy of the package's own, with the inputs that
// make fuzz has stored. The testdata above it is that of the repository.
func (p *prover) inputs(r *row) (string, error) {
	root := filepath.Join(p.dir, "inputs")
	dir := filepath.Join(root, r.pkg)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	fuzz := filepath.Join(dir, "testdata", "fuzz")
	if err := os.MkdirAll(fuzz, 0o700); err != nil {
		return "", err
	}
	shared, err := filepath.Abs("testdata")
	if err != nil {
		return "", err
	}
	if err := os.Symlink(shared, filepath.Join(root, "testdata")); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	own := os.DirFS(filepath.Join(r.pkg, "testdata"))
	if err := os.CopyFS(filepath.Join(dir, "testdata"), own); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	stored := exec.Command("tar", "-xzf", "testdata/fuzz.tar.gz", "-C", fuzz,
		fmt.Sprintf("--strip-components=%d", strings.Count(r.pkg, "/")+1), r.pkg)
	if out, err := stored.CombinedOutput(); err != nil {
		return "", fmt.Errorf("the stored inputs of %s cannot be unpacked: %w: %s", r.pkg, err, out)
	}
	return dir, nil
}

func seeded(text string, seed uint64) string {
	return strings.ReplaceAll(text, "{seed}", strconv.FormatUint(seed, 10))
}

var (
	failed       = regexp.MustCompile(`(?m)^--- FAIL`)
	passed       = regexp.MustCompile(`(?m)^--- PASS`)
	skipped      = regexp.MustCompile(`(?s)_test\.go:\d+: ([^\n]*)\n\s*--- SKIP`)
	executed     = regexp.MustCompile(`execs: (\d+)`)
	message      = regexp.MustCompile(`(?m)^ +\w+_test\.go:\d+: .*$`)
	known        = regexp.MustCompile(`(?m)^ +--- PASS: Fuzz`)
	overlaps     = regexp.MustCompile(`, (\d+) overlaps`)
	errNoNumbers = errors.New("no count in the output")
)

// sideBySide runs a row without a bug, starting with this seed. In the long form, it runs the row's tests in several
// processes at the same time, but no more than the row has still to count. Each process gets the next seed. A fuzz
// target and the program use all processors themselves.
func (p *prover) sideBySide(r *row, seed uint64, missing int) []result {
	n := 1
	if p.long && r.fuzz == "" && r.program == nil {
		n = max(1, min(p.jobs, missing))
	}
	all := make([]result, n)
	var running sync.WaitGroup
	for i := range all {
		c, err := p.command(r, seed+uint64(i)) // builds the binary once
		if err != nil {
			all[i] = result{bad: 1, output: err.Error()}
			continue
		}
		running.Go(func() { all[i] = once(r, c) })
	}
	running.Wait()
	return all
}

// once runs a row's command.
func once(r *row, c *exec.Cmd) (x result) {
	out, err := c.CombinedOutput()
	x.output = string(out)
	if x.bad = len(failed.FindAllString(x.output, -1)); err != nil && x.bad == 0 {
		x.bad = 1
	}
	if m := overlaps.FindStringSubmatch(x.output); r.program != nil && m != nil {
		n, _ := strconv.Atoi(m[1])
		x.bad += n
	}
	if x.count, err = r.count(x.output); err == nil || x.bad > 0 {
		return x
	}
	if m := skipped.FindStringSubmatch(x.output); m != nil {
		x.note = m[1]
		return x
	}
	x.bad, x.output = 1, err.Error()+"\n"+x.output
	return x
}

// excerpt returns what a person needs of the output of a failed row: the tests' own messages, at most 4,000 bytes of
// them, and the last 4,000 bytes. A server's log can be much longer.
func excerpt(output string) string {
	end := output[max(0, len(output)-4000):]
	messages := strings.Join(message.FindAllString(output[:len(output)-len(end)], -1), "\n")
	if messages == "" {
		return end
	}
	return messages[:min(len(messages), 4000)] + "\n…\n" + end
}

// count adds up the counts in the output. A row without a count proves nothing, so count returns an error if there is
// none.
func (r *row) count(output string) (n int, err error) {
	switch {
	case r.fuzz != "":
		all := executed.FindAllStringSubmatch(output, -1)
		if len(all) == 0 {
			n = len(known.FindAllString(output, -1))
			break
		}
		return strconv.Atoi(all[len(all)-1][1])
	case r.counted == "":
		n = len(passed.FindAllString(output, -1))
	default:
		for _, m := range regexp.MustCompile(r.counted).FindAllStringSubmatch(output, -1) {
			one, err := strconv.Atoi(m[1])
			if err != nil {
				return n, err
			}
			n += one
		}
	}
	if n == 0 {
		err = errNoNumbers
	}
	return n, err
}

// seesBug runs a row with its bug built in, through go's -overlay, which does not change the tree. It returns an
// error unless the row reports the bug as expected.
func (p *prover) seesBug(r *row) error {
	wrong, err := r.bug.applied(".")
	if err != nil {
		return err
	}
	if planted := fmt.Sprint(r.pkg, wrong); p.wrong != planted { // the previous row may have used the same bug
		delete(p.built, plantedIn(r.builtFrom()))
		p.wrong = planted
	}
	overlay, replace := filepath.Join(p.dir, "overlay.json"), map[string]string{}
	for name, content := range wrong {
		whole, err := filepath.Abs(name)
		if err != nil {
			return err
		}
		replace[whole] = filepath.Join(p.dir, fmt.Sprintf("wrong-%d%s", len(replace), filepath.Ext(name)))
		if err := os.WriteFile(replace[whole], []byte(content), 0o600); err != nil {
			return err
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	if err := os.WriteFile(overlay, list, 0o600); err != nil {
		return err
	}
	c, err := p.command(r, p.seed, "-overlay="+overlay)
	if err != nil {
		return err
	}
	out, err := c.CombinedOutput()
	return errors.Join(r.bug.isSeen(string(out), err != nil), forgetFound(r, string(out)))
}

// forgetFound removes the input that made a fuzz target find a planted bug. Go writes that input next to the target, so
// the next run would find the bug immediately.
func forgetFound(r *row, output string) error {
	found := regexp.MustCompile(`Failing input written to (\S+)`).FindStringSubmatch(output)
	if r.fuzz == "" || found == nil {
		return nil
	}
	return os.Remove(filepath.Join(r.pkg, found[1]))
}

// applied returns the files that a bug changes, by name, with the bug inserted.
func (b *bug) applied(root string) (map[string]string, error) {
	var places []planted.Place
	for _, one := range b.lines {
		place, err := one.Find(root)
		if err != nil {
			return nil, err
		}
		places = append(places, place)
	}
	return planted.Apply(root, places...)
}

// isSeen returns an error unless the row's test failed because of the planted bug. Only the expected sentence counts,
// because a program that does not start also fails.
func (b *bug) isSeen(output string, hasFailed bool) error {
	switch {
	case !hasFailed:
		return errors.New("the bug was built in, but no test failed")
	case !regexp.MustCompile(b.says).MatchString(output):
		return fmt.Errorf("the bug was built in, but the test failed without the message %q: %s", b.says, output)
	}
	return nil
}
