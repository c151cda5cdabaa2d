package engine_test

import (
	"fmt"
	"testing"

	"holdfast/engine"
	"holdfast/engine/enginetest"
	"holdfast/engine/message"
)

// TestMailServerAppliesToAllNodes: a mail server that is configured through one node applies on the others, and their
// waiting emails are sent.
func TestMailServerAppliesToAllNodes(t *testing.T) {
	p := enginetest.NewMailProvider(t)
	c := newNodes(t, 2, func(c *nodes) {
		c.options = func(o *engine.Options) { o.Notices = message.Transport{Mailer: p.Mailer(t)} }
	})
	c.clinic("ada")
	if err := c.all[0].Message.Server.Put(t.Context(), "user:olga", p.Wish); err != nil {
		t.Fatal(err)
	}
	c.agree()
	for i, n := range c.all {
		if delivery, why := n.Message.TestMail(t.Context(), enginetest.Tester); delivery != message.MailSent {
			t.Errorf("node %d: a mail is %q (%s)", i, delivery, why)
		}
		p.Wants(t, fmt.Sprintf("node %d", i))
	}
}
