package main

import (
	"slices"
	"testing"
)

// TestTheDeskHasOneFileOfWordsAndOneSheet: what it asks for beside its scripts is one file each, and what no document asks
// for by itself is left out.
func TestTheDeskHasOneFileOfWordsAndOneSheet(t *testing.T) {
	files := map[string][]byte{
		"setup.html":       []byte(`<html data-strings="setup hours"><link rel="stylesheet" href="{{base}}/holdfast.css">`),
		"i18n/en.js":       []byte("export default {a:1}"),
		"i18n/staff.en.js": []byte("export default {b:2}"), "i18n/owner.en.js": []byte("export default {c:3}"), "i18n/hours.en.js": []byte("export default {d:4}"),
		"holdfast.css": []byte("a{}"), "desk.css": []byte("b{}"), "staff.css": []byte("c{}"), "owner.css": []byte("d{}"),
	}
	if err := gather(files); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"staff/page.css":  "a{}\nb{}\nc{}\nd{}\n",
		"i18n/desk.en.js": "const $0= {a:1}\nconst $1= {b:2}\nconst $2= {c:3}\nconst $3= {d:4}\nexport default{...$0,...$1,...$2,...$3,}\n",
	} {
		if got := string(files[name]); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
	}
	var left []string
	for name := range files {
		left = append(left, name)
	}
	slices.Sort(left)
	if want := []string{"holdfast.css", "i18n/desk.en.js", "i18n/en.js", "i18n/hours.en.js", "setup.html", "staff/page.css"}; !slices.Equal(left, want) {
		t.Errorf("left are %v, want %v", left, want)
	}
	if err := gather(map[string][]byte{"holdfast.css": nil}); err == nil {
		t.Error("a sheet that is not there is passed over")
	}
}
