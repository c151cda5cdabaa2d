package main

import (
	"slices"
	"testing"
)

// TestGatherJoinsDeskSheets checks that gather joins the desk's style sheets, and removes those that no document loads
// separately.
func TestGatherJoinsDeskSheets(t *testing.T) {
	files := map[string][]byte{
		"setup.html":   []byte(`<html data-strings="setup hours"><link rel="stylesheet" href="{{base}}/holdfast.css">`),
		"holdfast.css": []byte("a{}"), "desk.css": []byte("b{}"), "staff.css": []byte("c{}"),
		"owner.css": []byte("d{}"),
	}
	if err := gather(files); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"staff/page.css": "a{}\nb{}\nc{}\nd{}\n",
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
	if want := []string{"holdfast.css", "setup.html", "staff/page.css"}; !slices.Equal(left, want) {
		t.Errorf("the remaining files are %v, want %v", left, want)
	}
	if err := gather(map[string][]byte{"holdfast.css": nil}); err == nil {
		t.Error("a missing style sheet causes no error")
	}
}
