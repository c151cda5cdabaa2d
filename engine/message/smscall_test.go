package message_test

import (
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/enginetest"
	"holdfast/store"
)

// TestTextWithoutLinkAsksForCall: without a public address, a text message that the patient answers names the clinic's
// number. The clinic's own text and other messages do not change.
func TestTextWithoutLinkAsksForCall(t *testing.T) {
	t.Parallel()
	c, _ := enginetest.NoticeClinic(t, func(o *engine.Options) { o.BaseURL = "" })
	if _, err := c.Clinic.UpdateClinic(t.Context(), enginetest.Jo, func(x *store.Clinic) {
		x.Phone = "030 123"
	}); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		notice, own string
		isCall      bool
	}{
		{"waitlist_offer", "", true}, {"proposal", "", true}, {"recall", "", true}, {"recall", "Come again.", false},
		{"confirmation", "", false}, {"must_move", "", false},
	} {
		p, err := c.Message.PreviewSMS(x.notice, "en", x.own)
		if err != nil || strings.HasSuffix(p.Text, ". Call 030 123.") != x.isCall {
			t.Errorf("%s: %q, %v; want a call %t", x.notice, p.Text, err, x.isCall)
		}
	}
}
