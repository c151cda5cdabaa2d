package stream

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/booking"
	"holdfast/store"
)

// TestStreamTranscripts compares whole streams with testdata/stream. Each file contains the frames that one visitor
// reads while other clients act. Ids that differ in each run are replaced with numbers in their order of appearance.
func TestStreamTranscripts(t *testing.T) {
	ctx := context.Background()
	scripts := map[string]func(*streams, *reader){
		"others-hold": func(s *streams, _ *reader) {
			h := s.claim("checkup", "ada", 0, otherClient)
			time.Sleep(10 * time.Second)
			s.engine.Booking.ExtendHold(ctx, h.ID, otherClient, 0, false) // not for this reader
			time.Sleep(40 * time.Second)
		},
		"own-hold": func(s *streams, _ *reader) {
			h := s.claim("checkup", "ada", 1, ownClient)
			time.Sleep(10 * time.Second)
			s.engine.Booking.ExtendHold(ctx, h.ID, ownClient, 0, false)
			synctest.Wait()
			s.engine.Booking.ReleaseHold(ctx, h.ID, ownClient)
		},
		"another-type": func(s *streams, _ *reader) {
			s.claim("hygiene", "ada", 2, otherClient)
			s.claim("other", "bea", 3, otherClient)
		},
		"booking": func(s *streams, _ *reader) {
			h := s.claim("checkup", "bea", 4, otherClient)
			a, err := s.engine.Booking.Book(ctx, booking.Request{
				AppointmentTypeID: "checkup", HoldID: h.ID, Client: otherClient,
				Patient: store.Patient{Name: "Canary Name"}, Source: store.SourceWeb, Actor: "client",
			})
			if err != nil {
				s.t.Fatal(err)
			}
			synctest.Wait()
			if _, err := s.engine.Booking.Cancel(ctx, booking.CancelRequest{ID: a.ID, Actor: "manage"}); err != nil {
				s.t.Fatal(err)
			}
		},
		"override": func(s *streams, _ *reader) {
			_, err := s.engine.Clinic.PutOverride(ctx, "system",
				store.Override{SpecialistID: "ada", Date: store.DateOf(s.day), Closed: true}, nil)
			if err != nil {
				s.t.Fatal(err)
			}
		},
		"shutdown": func(s *streams, _ *reader) { s.stop() },
		"replaced": func(s *streams, _ *reader) { s.listen("checkup", ownClient, 0) },
		"lease":    func(s *streams, _ *reader) { time.Sleep(16 * time.Minute) },
	}
	for name, script := range scripts {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStreams(t, Options{})
				s.claim("checkup", "ada", 20, otherClient) // in the snapshot
				r := s.listen("checkup", ownClient, 0)
				var got bytes.Buffer
				read := make(chan struct{})
				go func() {
					defer close(read)
					for pings := 0; ; {
						f, err := r.next()
						if err != nil {
							return
						}
						if f.Type == "ping" {
							if pings++; pings > 1 {
								continue
							}
						}
						got.WriteString(f.text + "\n\n")
					}
				}()
				synctest.Wait()
				script(s, r)
				synctest.Wait()
				r.conn.Close()
				<-read
				compareTranscript(t, "../../testdata/stream/"+name+".txt", got.String())
			})
		})
	}
}

var made = regexp.MustCompile(`"(holdId|connectionId|epoch)":"([^"]+)"|"(generation)":(\d+)|id: (?:replaced-)?(\w+)`)

// settled replaces values that differ in each run.
func settled(text string) string {
	seen := map[string]string{}
	for _, m := range made.FindAllStringSubmatch(text, -1) {
		kind, value := m[1]+m[3], m[2]+m[4]
		if kind == "" || seen[value] != "" {
			continue
		}
		n := 1
		for _, name := range seen {
			if strings.HasPrefix(name, kind) {
				n++
			}
		}
		seen[value] = fmt.Sprintf("%s%d", kind, n)
	}
	for value, name := range seen {
		text = strings.ReplaceAll(text, value, name)
	}
	return text
}

func compareTranscript(t *testing.T, file, got string) {
	t.Helper()
	got = settled(got)
	if os.Getenv("HOLDFAST_TEST_WRITE") != "" {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: the stream is\n%s\nwant\n%s", file, got, want)
	}
}
