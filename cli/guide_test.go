package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdfast/cli/clitest"
	"holdfast/engine/clinic"
	"holdfast/engine/notice"
)

// fence is one fenced block of a page: "sh run" is executed, an "answer" after it is the expected output, a "call" is
// a webhook, and a "receiver" is a program that receives webhooks.
type fence struct{ language, purpose, text string }

var fences = regexp.MustCompile("(?ms)^```([a-z]+)(?: ([a-z]+))?\n(.*?)^```$")

func fencesOf(t *testing.T, page string) (all []fence) {
	t.Helper()
	b, err := os.ReadFile("../docs/" + page)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range fences.FindAllStringSubmatch(string(b), -1) {
		all = append(all, fence{m[1], m[2], m[3]})
	}
	return all
}

// told returns an error if the actual output lacks a part of a page's example. "…" matches anything; an object may have
// more fields and a list more entries, but an empty list must be empty.
func told(page, came any) error {
	switch want := page.(type) {
	case map[string]any:
		got, ok := came.(map[string]any)
		if !ok {
			return fmt.Errorf("%v is no object", came)
		}
		for name, value := range want {
			if _, there := got[name]; !there {
				return fmt.Errorf("%s is missing", name)
			}
			// the remaining time of the hold when the response is sent
			if left, whole := got[name], value; name == "ttlMs" {
				if is, ok := left.(float64); !ok || is <= whole.(float64)/2 || is > whole.(float64) {
					return fmt.Errorf("%s: got %v, want the remaining part of %v", name, left, whole)
				}
				continue
			}
			if err := told(value, got[name]); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		return nil
	case []any:
		got, ok := came.([]any)
		if !ok || len(got) < len(want) || len(want) == 0 && len(got) > 0 {
			return fmt.Errorf("got %v, want %v", came, want)
		}
		for i := range want {
			if err := told(want[i], got[i]); err != nil {
				return fmt.Errorf("%d: %w", i, err)
			}
		}
		return nil
	}
	if page != "…" && page != came {
		return fmt.Errorf("got %v, want %v", came, page)
	}
	return nil
}

// documentsOf reads JSON documents that follow one another.
func documentsOf(text string) (all []any, err error) {
	for d := json.NewDecoder(strings.NewReader(text)); ; {
		var one any
		if err := d.Decode(&one); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("%w in %s", err, text)
		}
		all = append(all, one)
	}
}

// toldAll compares a page's example with the actual output. It compares JSON by its parts, and text by its lines in
// order.
func toldAll(answer fence, printed string) error {
	if answer.language == "json" {
		page, err := documentsOf(answer.text)
		came, other := documentsOf(printed)
		if err := errors.Join(err, other); err != nil {
			return err
		}
		if len(page) != len(came) {
			return fmt.Errorf("%d documents were printed, the page has %d: %s", len(came), len(page), printed)
		}
		return told(page, came)
	}
	lines := strings.Split(strings.ReplaceAll(printed, "\r", ""), "\n")
	for want := range strings.Lines(answer.text) {
		like := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSpace(want)), "…", ".*") + "$")
		at := slices.IndexFunc(lines, like.MatchString)
		if at < 0 {
			return fmt.Errorf("the output has no line like %q: %q", want, lines)
		}
		lines = lines[at+1:]
	}
	return nil
}

// tool returns the path of a program that an example needs. If the program is missing, tool skips the test, with a
// message about the part that is not tested.
func tool(t *testing.T, name, what string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("SKIPPED: %s is not installed, so %s is not tested", name, what)
	}
	return path
}

// guided serves an open clinic, and returns its data directory.
func guided(t *testing.T, args ...string) (s *server, dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "data")
	file := filepath.Join(t.TempDir(), "clinic.json")
	writeJSON(t, file, openClinic(t))
	must(t, "import", "--data", dir, file)
	return started(t, append([]string{"serve", "--data", dir, "--listen", "127.0.0.1:0"}, args...)...), dir
}

// TestGuideExamplesWork runs the commands of docs/guide.md in order in one shell, and compares their output with the
// page.
func TestGuideExamplesWork(t *testing.T) {
	t.Parallel()
	s, dir := guided(t)
	if n := examples(t, "guide.md", s, dir); n < 14 {
		t.Errorf("only %d answers were compared; the page has fewer than before, or the test does not find them", n)
	}
}

// examples runs the commands of a page and compares their output with the page; it returns the number of compared
// outputs.
func examples(t *testing.T, page string, s *server, dir string) (answers int) {
	t.Helper()
	shell := tool(t, "bash", "docs/"+page)
	tool(t, "curl", "docs/"+page)
	tool(t, "jq", "docs/"+page)
	work, all := t.TempDir(), fencesOf(t, page)
	self, err := filepath.Abs(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("holdfast() { %s=1 %q \"$@\"; }\n", asMain, self)
	for i, f := range all {
		if f.purpose == "run" {
			script += fmt.Sprintf("{\n%s} >printed-%d\n", f.text, i)
		}
	}
	c := exec.CommandContext(t.Context(), shell, "-c", script)
	c.Dir, c.Env = work, append(os.Environ(), "B="+s.base, "HOLDFAST_DATA="+dir)
	if said, err := c.CombinedOutput(); err != nil {
		t.Fatalf("the commands of the page: %v: %s", err, said)
	}
	for i, f := range all {
		if f.purpose != "answer" {
			continue
		}
		if all[i-1].purpose != "run" {
			t.Fatalf("an answer on the page has no command: %s", f.text)
		}
		printed, err := os.ReadFile(filepath.Join(work, fmt.Sprint("printed-", i-1)))
		if err != nil {
			t.Fatal(err)
		}
		answers++
		if err := toldAll(f, string(printed)); err != nil {
			t.Errorf("%v, after\n%s", err, all[i-1].text)
		}
	}
	return answers
}

// receivers are the commands that run the guide's programs, by language.
var receivers = map[string]func(t *testing.T, file string) *exec.Cmd{
	"go": func(t *testing.T, file string) *exec.Cmd {
		binary := strings.TrimSuffix(file, ".go")
		if said, err := exec.Command(tool(t, "go", "the receiver in Go"), "build", "-o", binary,
			file).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, said)
		}
		return exec.Command(binary)
	},
	"js": func(t *testing.T, file string) *exec.Cmd {
		return exec.Command(tool(t, "node", "the receiver in JavaScript"), file)
	},
	"python": func(t *testing.T, file string) *exec.Cmd {
		return exec.Command(tool(t, "python3", "the receiver in Python"), file)
	},
}

// TestGuideReceiversVerifySignatures: while two secrets are valid, each example program accepts the server's messages
// with the older secret. It refuses messages that are altered, old, or signed with another secret.
func TestGuideReceiversVerifySignatures(t *testing.T) {
	t.Parallel()
	all := fencesOf(t, "guide.md")
	call := all[slices.IndexFunc(all, func(f fence) bool { return f.purpose == "call" })]
	for _, f := range all {
		if f.purpose != "receiver" {
			continue
		}
		t.Run(f.language, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "receiver."+f.language)
			if err := os.WriteFile(file, []byte(f.text), 0o600); err != nil {
				t.Fatal(err)
			}
			c, port, secret, printed := receivers[f.language](t, file), strconv.Itoa(clitest.Port(t)),
				notice.NewWebhookSecret(), &transcript{}
			c.Env = append(os.Environ(), "PORT="+port, "WEBHOOK_SECRET="+secret)
			c.Stdout, c.Stderr = printed, printed
			dieWithParent(c)
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
			address := "http://127.0.0.1:" + port + "/"
			waitFor(t, printed, func() bool { return receives(address, secret, time.Now(), nil) != 0 })

			for name, want := range map[string]struct {
				secret string
				at     time.Time
				alter  func([]byte)
				status int
			}{
				"a good one":     {secret, time.Now(), nil, 204},
				"an altered one": {secret, time.Now(), func(b []byte) { b[2]++ }, 401},
				"an old one":     {secret, time.Now().Add(-6 * time.Minute), nil, 401},
				"a forged one":   {notice.NewWebhookSecret(), time.Now(), nil, 401},
			} {
				if got := receives(address, want.secret, want.at, want.alter); got != want.status {
					t.Errorf("%s got %d, want %d: %s", name, got, want.status, printed)
				}
			}

			s, dir := guided(t, "--webhook-allow-private")
			key := strings.TrimSpace(must(t, "apikey", "create", "--data", dir, "--name", "guide", "--scope", "admin"))
			hook := clinic.WebhookEndpoint{ID: "crm", URL: address, Secret: secret, Active: true}
			for _, hook.Rotate = range []bool{false, true} {
				if status, answer := asked(t, "PUT", s.base+"/v1/settings",
					map[string]any{"webhooks": []clinic.WebhookEndpoint{hook}}, bearer(key)); status != 200 {
					t.Fatalf("the settings: %d %s", status, answer)
				}
			}
			_, next := asked(t, "GET", s.base+"/v1/appointment-types/checkup/next-available", nil, nil)
			status, answer := asked(t, "POST", s.base+"/v1/appointment-types/checkup/book", map[string]any{
				"clientId": "a-guided-client-0001", "slotStartDate": decoded(t, next)["slot"].(map[string]any)["start"],
				"patient": map[string]string{"name": "Rosa Winter"},
			}, nil)
			if status != 201 {
				t.Fatalf("the booking: %d %s", status, answer)
			}
			waitFor(t, printed, func() bool { return strings.Contains(printed.String(), "appointment.created") })
			for line := range strings.Lines(printed.String()) {
				if id, body, _ := strings.Cut(line, " "); strings.Contains(body, "appointment.created") {
					if err := toldAll(call, body); err != nil || id == "" {
						t.Errorf("the call %q: %v", line, err)
					}
				}
			}
		})
	}
}

// receives posts one signed message and returns the status of the response, or 0 if no server is listening.
func receives(address, secret string, at time.Time, alter func([]byte)) int {
	body := []byte(`{"type":"tried"}`)
	signature, err := notice.Sign(secret, "msg-1", at, body)
	if err != nil {
		return 0
	}
	if alter != nil {
		alter(body)
	}
	r, err := http.NewRequest("POST", address, bytes.NewReader(body))
	if err != nil {
		return 0
	}
	r.Header = http.Header{"Webhook-Id": {"msg-1"}, "Webhook-Timestamp": {strconv.FormatInt(at.Unix(), 10)},
		"Webhook-Signature": {"v1,bm8= " + signature}}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0
	}
	answer.Body.Close()
	return answer.StatusCode
}

// waitFor waits until so returns true. so depends on another process.
func waitFor(t *testing.T, printed *transcript, so func() bool) {
	t.Helper()
	for end := time.After(10 * time.Minute); !so(); {
		select {
		case <-end:
			t.Fatalf("the expected output did not appear within a minute; it printed %s", printed)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
