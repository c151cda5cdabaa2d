package main

import (
	"maps"
	"strings"
	"testing"
)

// small returns a minimal set of files that can be joined, with one module that several bundles share.
func small(more map[string]string) map[string][]byte {
	files := map[string]string{
		"lib/say.js":       "export const say = 1\nexport function shout() { return say }",
		"book/common.js":   "import '../lib/say.js'",
		"book/page.js":     "import { say, shout as loud } from '../lib/say.js'\nloud(say)",
		"book/later.js":    "export { form } from './details.js'",
		"book/choose.js":   "import { say } from '../lib/say.js'\nsay",
		"book/asks.js":     "",
		"book/request.js":  "",
		"book/waiting.js":  "",
		"book/online.js":   "",
		"book/compare.js":  "",
		"book/after.js":    "",
		"manage/arrive.js": "",
		"manage/page.js":   "import { form } from '../book/details.js'\nform()",
		"staff/page.js":    "import { say } from '../lib/say.js'\nsay",
		"staff/keep.js":    "",
		"plan/page.js":     "",
		"staff/more.js":    "export { hours as days } from './hours.js'",
		"staff/hours.js":   "export const hours = 24",
		"setup.html":       `<script type="module" src="{{base}}/setup/page.js"></script>`,
		"setup/page.js":    "import { hours } from '../staff/hours.js'\nhours",
		// Only later bundles import this module.
		"book/details.js": "import { say } from '../lib/say.js'\nexport const form = () => say",
	}
	maps.Copy(files, more)
	raw := make(map[string][]byte)
	for name, body := range files {
		raw[name] = []byte(body)
	}
	return raw
}

// TestJoinPutsEachModuleIntoOneBundle checks the code of the bundles. The browser tests check that the joined pages
// work.
func TestJoinPutsEachModuleIntoOneBundle(t *testing.T) {
	files := small(nil)
	if err := join(files); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"book/common.js": `var o=1;function r(){return 1}export{o as $b,r as $c};`,
		"book/page.js":   `import{$b as o,$c as r}from"../book/common.js";r(o);`,
		"book/later.js":  `import{$b as o}from"../book/common.js";var r=()=>o;export{r as $a,r as form};`,
		"manage/page.js": `import{$a as o}from"../book/later.js";o();`,
		"staff/more.js":  `var o=24;export{o as days};`,
		// A document without a bundle also loads this module.
		"staff/hours.js": `export const hours=24;`,
		"setup/page.js":  `import{hours as o}from"../staff/hours.js";o;`,
		// These modules are only in a bundle.
		"book/details.js": "",
		"lib/say.js":      "",
	} {
		if got := strings.TrimSpace(string(files[name])); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
	}
}

// TestJoinExportsOnlyUsedNames checks that a bundle exports only the names that later bundles use, and that identical
// names from two modules get different aliases.
func TestJoinExportsOnlyUsedNames(t *testing.T) {
	files := small(map[string]string{
		"book/common.js": "export { form as one } from './one.js'\nexport { form as two } from './two.js'",
		"book/one.js":    "export const form = () => alert(1)\nexport const unused = () => alert(11)",
		"book/two.js":    "export const form = () => alert(2)",
		"book/page.js":   "import { form } from './one.js'\nimport { form as other } from './two.js'\nform(); other()",
	})
	if err := join(files); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"book/common.js": `var o=()=>alert(1);var r=()=>alert(2);export{o as $b,r as $c,o as one,r as two};`,
		"book/page.js":   `import{$b as o,$c as r}from"../book/common.js";o();r();`,
	} {
		if got := strings.TrimSpace(string(files[name])); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
	}
}

// TestJoinRefusesUnsupportedModules checks that join reports errors that would otherwise only occur in a patient's
// browser.
func TestJoinRefusesUnsupportedModules(t *testing.T) {
	for _, c := range []struct{ name, file, body, want string }{
		{"a missing module", "book/page.js", "import { a } from '../lib/gone.js'", "lib/gone.js is missing"},
		{"a name that is not exported", "book/page.js", "import { whisper } from '../lib/say.js'", `"whisper"`},
		{"an import of a bundle", "book/page.js", "import './later.js'",
			"book/page.js imports book/later.js, which is a bundle"},
		{"an error of syntax", "lib/say.js", "export const say =", "Unexpected end of file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := join(small(map[string]string{c.file: c.body}))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error about %q", err, c.want)
			}
		})
	}
}
