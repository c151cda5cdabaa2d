package main

import (
	"maps"
	"strings"
	"testing"
)

// small is the least that can be joined: one module that everybody shares.
func small(more map[string]string) map[string][]byte {
	files := map[string]string{
		"lib/say.js":      "export const say = 1\nexport function shout() { return say }",
		"book/common.js":  "import '../lib/say.js'",
		"book/page.js":    "import { say, shout as loud } from '../lib/say.js'\nloud(say)",
		"book/later.js":   "export { form } from './details.js'",
		"book/choose.js":  "import { say } from '../lib/say.js'\nsay",
		"book/asks.js":    "",
		"book/request.js": "",
		"book/waiting.js": "",
		"manage/page.js":  "import { form } from '../book/details.js'\nform()",
		"staff/page.js":   "import { say } from '../lib/say.js'\nsay",
		"staff/keep.js":   "",
		"plan/page.js":    "",
		"staff/more.js":   "export { hours as days } from './hours.js'",
		"staff/hours.js":  "export const hours = 24",
		"setup.html":      `<script type="module" src="{{base}}/setup/page.js"></script>`,
		"setup/page.js":   "import { hours } from '../staff/hours.js'\nhours",
		// what only comes later
		"book/details.js": "import { say } from '../lib/say.js'\nexport const form = () => say",
	}
	maps.Copy(files, more)
	raw := make(map[string][]byte)
	for name, body := range files {
		raw[name] = []byte(body)
	}
	return raw
}

// TestModulesAreJoined once each: what a file has inside, those after it take from there. That the joined pages work is
// for the browser to say.
func TestModulesAreJoined(t *testing.T) {
	files := small(nil)
	if err := join(files); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"book/common.js": "const $1=(()=>{const say = 1\nfunction shout() { return say }\nreturn{say,shout}})()\n\nexport{$1}\n",
		"book/page.js":   "import{$1}from'../book/common.js'\nconst{say,shout:loud}=$1\nloud(say)\n",
		"book/later.js":  "import{$1}from'../book/common.js'\nconst $4=(()=>{const{say}=$1\nconst form = () => say\nreturn{form}})()\nconst{form}=$4\n\nexport{$4,form}\n",
		"manage/page.js": "import{$4}from'../book/later.js'\nconst{form}=$4\nform()\n",
		"staff/more.js":  "const $4=(()=>{const hours = 24\nreturn{hours}})()\nconst{hours:days}=$4\n\nexport{days}\n",
		// Loaded by itself as well, by a document without a bundle.
		"staff/hours.js": "export const hours = 24",
		"setup/page.js":  "import { hours } from '../staff/hours.js'\nhours",
		// In a bundle alone.
		"book/details.js": "",
		"lib/say.js":      "",
	} {
		if got := string(files[name]); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
	}
}

// TestJoinRefusesUnsupportedModules before the program is built, instead of in a patient's browser.
func TestJoinRefusesUnsupportedModules(t *testing.T) {
	for _, c := range []struct{ name, file, body, want string }{
		{"a module that is not there", "book/page.js", "import { a } from '../lib/gone.js'", "lib/gone.js, which is not there"},
		{"a name that is not exported", "book/page.js", "import { whisper } from '../lib/say.js'", "imports whisper from lib/say.js"},
		{"two that import each other", "lib/say.js", "import { form } from '../book/details.js'\nexport const say = 1", "imports itself"},
		{"a whole module by a name", "book/page.js", "import * as all from '../lib/say.js'", "cannot be joined"},
		{"an export of another shape", "lib/say.js", "export let [say, shout] = [1, 2]", "cannot be joined"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := join(small(map[string]string{c.file: c.body}))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error about %q", err, c.want)
			}
		})
	}
}
