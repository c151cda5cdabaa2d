package cli

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestMCPPageExamplesWork: the commands of docs/mcp.md print the output on the page, its table lists the server's tools
// and marks the same ones as read-only, and its configurations connect.
func TestMCPPageExamplesWork(t *testing.T) {
	t.Parallel()
	s, dir := guided(t)
	if n := examples(t, "mcp.md", s, dir); n < 5 {
		t.Errorf("only %d answers were compared", n)
	}
	b, err := os.ReadFile("../docs/mcp.md")
	if err != nil {
		t.Fatal(err)
	}
	table := make(map[string]bool) // whether it only reads, by tool
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|.*\\| ([a-z ]+) \\|$").FindAllStringSubmatch(string(b), -1) {
		table[row[1]] = row[2] == "nothing"
	}
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	tools := toolsOf(t, command(t, nil, list, "mcp", "--data", dir).stdout)
	for name, reads := range tools {
		if said, there := table[name]; !there || said != reads {
			t.Errorf("%s: reads only: %t; the page lists it: %t, and marks it: %t", name, reads, there, said)
		}
	}
	if len(table) != len(tools) {
		t.Errorf("the page lists %d tools, the server has %d", len(table), len(tools))
	}

	key := strings.TrimSpace(must(t, "apikey", "create", "--data", dir, "--name", "page", "--scope", "agent"))
	configs := 0
	for _, f := range fencesOf(t, "mcp.md") {
		if f.purpose != "config" {
			continue
		}
		type entry struct {
			Command, URL string
			Args         []string
			Headers      map[string]string
		}
		var config struct{ MCPServers, Servers map[string]entry }
		if err := json.Unmarshal([]byte(f.text), &config); err != nil {
			t.Fatalf("%v in %s", err, f.text)
		}
		at, there := config.MCPServers["holdfast"]
		if !there {
			at = config.Servers["holdfast"]
		}
		configs++
		switch {
		case at.URL != "":
			header := map[string]string{"Accept": "application/json, text/event-stream"}
			for name, value := range at.Headers {
				header[name] = regexp.MustCompile(`\$\{[^}]+\}`).ReplaceAllString(value, key)
			}
			url := strings.Replace(at.URL, "https://book.example.org", s.base, 1)
			if status, answer := posted(t, url, json.RawMessage(list), header); status != 200 ||
				len(toolsOf(t, answer)) != len(tools) {
				t.Errorf("over HTTP: %d %s", status, answer)
			}
		default:
			args := at.Args
			if at.Command == "ssh" {
				args = args[2:] // leave out the machine, and the program on it
			}
			for i := range args {
				args[i] = strings.Replace(args[i], "/var/lib/holdfast", dir, 1)
			}
			if said := command(t, nil, list, args...); said.code != 0 || len(toolsOf(t, said.stdout)) != len(tools) {
				t.Errorf("%s %v: %+v", at.Command, args, said)
			}
		}
	}
	if configs != 5 {
		t.Errorf("%d configurations were tested, want all five", configs)
	}
}

// toolsOf returns the tools in a response. The value of each tool is whether the tool only reads.
func toolsOf(t *testing.T, answer string) map[string]bool {
	t.Helper()
	var list struct {
		Result struct {
			Tools []struct {
				Name        string
				Annotations struct{ ReadOnlyHint bool }
			}
		}
	}
	if err := json.Unmarshal([]byte(answer), &list); err != nil {
		t.Fatalf("%v in %s", err, answer)
	}
	all := make(map[string]bool)
	for _, x := range list.Result.Tools {
		all[x.Name] = x.Annotations.ReadOnlyHint
	}
	return all
}
