package web_test

import (
	"bufio"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestLongLeasesAreShortened: who asks for more than an hour gets an hour; what is no lease at all is refused.
func TestLongLeasesAreShortened(t *testing.T) {
	h := newHouse(t)
	for asked, want := range map[string]string{
		"60000": `"leaseMs":60000,`, "3600000": `"leaseMs":3600000,`, "3600001": `"leaseMs":3600000,`, "2147483647": `"leaseMs":3600000,`,
	} {
		answer, err := http.Get(h.server.URL + "/v1/holds/stream?appointmentTypeId=checkup&leaseMs=" + asked)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		lines := bufio.NewScanner(answer.Body)
		for lines.Scan() && !strings.Contains(lines.Text(), `"init"`) {
		}
		if answer.StatusCode != http.StatusOK || !strings.Contains(lines.Text(), want) {
			t.Errorf("leaseMs=%s: got %d %s, want %s", asked, answer.StatusCode, lines.Text(), want)
		}
	}
	for _, asked := range []string{"99", "-1", "an hour", "1.5"} {
		h.do("GET", "/v1/holds/stream?appointmentTypeId=checkup&leaseMs="+url.QueryEscape(asked), nil).problem(422, "validation_failed")
	}
}
