package stream

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/presence"
	"holdfast/holds"
	"holdfast/store"
)

// TestPresenceTranscript compares the whole presence stream with testdata/stream/presence.txt: the online specialists
// and open requests at the start, then every specialist who goes online or offline, and the outcomes of requests. The
// stream must contain no client ids and no slot events.
func TestPresenceTranscript(t *testing.T) {
	ctx := context.Background()
	synctest.Test(t, func(t *testing.T) {
		s := newStreams(t, Options{})
		must := func(_ any, err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, id := range []string{"ada", "bea"} {
			must(s.engine.Clinic.UpdateSpecialist(ctx, "system", id, func(p *store.Specialist) { p.MaxSessions = 1 }))
		}
		must(s.engine.Presence.GoOnline(ctx, "ada"))
		first, err := s.engine.Presence.RequestSession(ctx, ownClient, presence.SessionRequest{}, nil)
		must(nil, err)
		must(s.engine.Presence.AcceptSession(ctx, first.ID, "ada"))
		time.Sleep(time.Second) // open sessions are sent in the order of their requests
		waiting, err := s.engine.Presence.RequestSession(ctx, otherClient, presence.SessionRequest{}, nil)
		must(nil, err)

		synctest.Wait()
		r := s.listen(Presence, "", time.Hour)
		var got bytes.Buffer
		read := make(chan struct{})
		go func() {
			defer close(read)
			for {
				f, err := r.next()
				if err != nil {
					return
				}
				if f.Type != "ping" {
					got.WriteString(f.text + "\n\n")
				}
			}
		}()
		step := func(_ any, err error) {
			t.Helper()
			must(nil, err)
			synctest.Wait()
		}
		synctest.Wait() // until the snapshot is read
		step(s.engine.Presence.GoOnline(ctx, "bea"))
		s.claim("checkup", "ada", 1, otherClient) // not relevant to this stream
		step(s.engine.Presence.AcceptSession(ctx, waiting.ID, "bea"))
		step(s.engine.Presence.SetSessionPayment(ctx, first.ID, true))
		step(s.engine.Presence.EndSession(ctx, first.ID, "helped"))
		step(s.engine.Presence.RerouteSession(ctx, waiting.ID, "ada"))
		step(s.engine.Presence.CancelSession(ctx, waiting.ID, otherClient))
		_, err = s.engine.Presence.RequestSession(ctx, ownClient, presence.SessionRequest{}, nil)
		step(nil, err)
		for range 4 {
			time.Sleep(20 * time.Second)
			step(nil, s.engine.Presence.Beat(ctx, "ada"))
		}
		time.Sleep(40 * time.Second) // the request has expired, and bea sent no heartbeat
		step(s.engine.Clinic.UpdateSpecialist(ctx, "system", "ada", func(p *store.Specialist) { p.Active = false }))
		synctest.Wait()
		r.conn.Close()
		<-read
		for _, secret := range []holds.ClientID{ownClient, otherClient} {
			if strings.Contains(got.String(), string(secret)) {
				t.Errorf("the stream contains a client:\n%s", got.String())
			}
		}
		compareTranscript(t, "../../testdata/stream/presence.txt", namedSessions(got.String()))
	})
}

// TestPresenceStreamStartsAtNow: an event that was published before the snapshot, but reaches the ring after the stream
// has joined, is already in the snapshot. If the stream sent the event as well, a page would show a session in an
// earlier state.
func TestPresenceStreamStartsAtNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStreams(t, Options{})
		x := &subscriber{topic: new(topic)}
		event := func(status string) *holds.Event {
			return &holds.Event{Kind: holds.EventSession, SessionID: "s1", At: time.Now(), Reason: holds.Reason(status)}
		}
		late := event("requested")
		time.Sleep(time.Millisecond)
		if _, err := s.hub.snapshot(context.Background(), x, Presence, nil); err != nil {
			t.Fatal(err)
		}
		var got []byte
		for _, ev := range []*holds.Event{late, event("active"), event("ended")} {
			x.topic.ring.append(appendEvent(nil, "e", ev, ""), ev)
		}
		for b := x.next(); len(b) > 0; b = x.next() {
			got = append(got, b...)
		}
		if text := string(got); strings.Contains(text, "requested") || !strings.Contains(text, "active") ||
			!strings.Contains(text, "ended") {
			t.Errorf("the stream has\n%s\nwant only events after its snapshot", text)
		}
	})
}

var madeSession = regexp.MustCompile(`"sessionId":"([^"]+)"`)

// namedSessions replaces each session id with "session" and its number in order of appearance.
func namedSessions(text string) string {
	names := map[string]string{}
	for _, m := range madeSession.FindAllStringSubmatch(text, -1) {
		if names[m[1]] == "" {
			names[m[1]] = fmt.Sprintf("session%d", len(names)+1)
		}
	}
	for id, name := range names {
		text = strings.ReplaceAll(text, id, name)
	}
	return text
}
