package referee

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Hook is one webhook message that arrived at a receiver, possibly a repeat.
type Hook struct {
	ID          string // of the message: the same in every repeat
	Event       string
	Appointment string
	Version     int64 // of the appointment
	Start       time.Time
	Cancelled   bool
	Taken       bool // the receiver accepted it, even if its response was lost
}

// Receiver is the clinic's program that receives webhooks. A Receiver is not safe for concurrent use.
type Receiver struct {
	secrets []secret
	arrived map[string]map[string]Hook // the messages about each appointment, by id
}

// secret is a key that signs messages from an instant onward.
type secret struct {
	key  []byte
	from time.Time
}

// underWay is the longest time that a message may take to reach its receiver, and the largest allowed difference
// between the clocks.
const underWay = time.Minute

// secretOverlap is how long messages are also signed with the previous secret.
const secretOverlap = 24 * time.Hour

// NewReceiver returns a receiver without a secret and without messages.
func NewReceiver() *Receiver { return &Receiver{arrived: map[string]map[string]Hook{}} }

// Secret sets the secret that signs messages from now on, as "whsec_" and base64.
func (v *Receiver) Secret(text string, now time.Time) error {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(text, "whsec_"))
	v.secrets = append(v.secrets, secret{key, now})
	return err
}

// Signed judges the headers of a message by the rules of Standard Webhooks: the signature covers id, timestamp and
// body. It uses the current secret and, for a day after a change, also the previous one, so that a receiver can change
// the secret without losing a message.
func (v *Receiver) Signed(id, timestamp, signatures string, body []byte, now time.Time) error {
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || now.Sub(time.Unix(seconds, 0)).Abs() > underWay {
		return fmt.Errorf("webhook %s, received at %s, has the timestamp %q", id, now.Format(time.RFC3339), timestamp)
	}
	by := func(s secret) bool {
		mac := hmac.New(sha256.New, s.key)
		mac.Write([]byte(id + "." + timestamp + "."))
		mac.Write(body)
		return slices.Contains(strings.Fields(signatures), "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	last := len(v.secrets) - 1
	if last < 0 {
		return fmt.Errorf("webhook %s arrived before a secret was set", id)
	}
	age := now.Sub(v.secrets[last].from)
	if !by(v.secrets[last]) && (age > underWay || last == 0) {
		return fmt.Errorf("webhook %s is not signed with the secret that was set %s ago: %s", id, age, signatures)
	}
	if last > 0 && age < secretOverlap-underWay && !by(v.secrets[last-1]) {
		return fmt.Errorf("webhook %s is not signed with the previous secret, which was changed %s ago: %s", id, age, signatures)
	}
	return nil
}

// Arrives records a message. The messages about an appointment must arrive in the order of its versions: once the
// receiver has received a message, no older message may arrive that it has not accepted yet.
func (v *Receiver) Arrives(h Hook) error {
	known := v.arrived[h.Appointment]
	if known == nil {
		known = map[string]Hook{}
		v.arrived[h.Appointment] = known
	}
	before, again := known[h.ID]
	if again && (before.Event != h.Event || before.Version != h.Version) {
		return fmt.Errorf("webhook %s is %s of version %d, but was %s of version %d", h.ID, h.Event, h.Version,
			before.Event, before.Version)
	}
	if !before.Taken {
		for _, other := range known {
			if other.Version > h.Version {
				return fmt.Errorf("webhook %s, %s of %s in version %d, arrived after %s in version %d", h.ID, h.Event,
					h.Appointment, h.Version, other.Event, other.Version)
			}
		}
	}
	h.Taken = h.Taken || before.Taken
	known[h.ID] = h
	return nil
}

// Told judges the messages about an appointment once none is pending. One message must report the booking, and the last
// one must contain the current time and status.
func (v *Receiver) Told(a *Appointment) error {
	var last Hook
	created := false
	for _, h := range v.arrived[a.ID] {
		if !h.Taken {
			return fmt.Errorf("webhook %s, %s of %s, was never accepted", h.ID, h.Event, a)
		}
		created = created || h.Event == "appointment.created"
		if strings.HasPrefix(h.Event, "appointment.") && h.Version > last.Version {
			last = h
		}
	}
	switch {
	case !created:
		return fmt.Errorf("no webhook reports that %s was booked", a)
	case last.Cancelled != a.Cancelled || !a.Cancelled && !last.Start.Equal(a.Start):
		return fmt.Errorf("the last webhook about %s reports %s at %s", a, last.Event, last.Start.Format(time.RFC3339))
	}
	return nil
}

// Count returns the number of messages that have arrived, each counted once.
func (v *Receiver) Count() (n int) {
	for _, known := range v.arrived {
		n += len(known)
	}
	return n
}
