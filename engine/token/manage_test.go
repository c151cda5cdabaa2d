package token

import (
	"strings"
	"testing"
	"time"
)

func TestManageVectors(t *testing.T) {
	var data struct {
		Keyring string
		Cases   []struct {
			Name, Token, AppointmentID string
			Version                    uint32
			Now, ExpiresAt             time.Time
			Error                      Error
			Issued                     bool
		}
	}
	vectors(t, "manage.json", &data)
	k := keyring(t, data.Keyring)
	for _, c := range data.Cases {
		t.Run(c.Name, func(t *testing.T) {
			got, err := k.VerifyManage(c.Token, c.Now)
			if c.Error != "" {
				if err != c.Error || got != (Manage{}) {
					t.Errorf("got %+v, %v; want nothing and %v", got, err, c.Error)
				}
				return
			}
			want := Manage{AppointmentID: c.AppointmentID, Version: c.Version, ExpiresAt: c.ExpiresAt}
			if err != nil || got != want {
				t.Fatalf("got %+v, %v\nwant %+v", got, err, want)
			}
			if c.Issued {
				token, err := k.IssueManage(want, c.Now)
				if err != nil || token != c.Token {
					t.Errorf("issued here: got %s, %v\nwant %s", token, err, c.Token)
				}
			}
		})
	}
}

// TestManageLinksOfOneAppointment: the same link can be shown again without being stored. After a reschedule, the link
// is different. Each link contains its version.
func TestManageLinksOfOneAppointment(t *testing.T) {
	k := Generate(noon)
	m := Manage{AppointmentID: appointment, Version: 1, ExpiresAt: noon.Add(24*time.Hour + 700*time.Millisecond)}
	first, _ := k.IssueManage(m, noon)
	if again, _ := k.IssueManage(m, noon.Add(time.Hour)); again != first {
		t.Error("the same link issued again is different")
	}
	m.Version = 2
	second, _ := k.IssueManage(m, noon)
	if second == first {
		t.Error("a link of the next version is equal")
	}
	got, err := k.VerifyManage(first, noon)
	if err != nil || got.Version != 1 || !got.ExpiresAt.Equal(noon.Add(24*time.Hour)) {
		t.Errorf("got %+v, %v; want version 1 until the whole second", got, err)
	}
}

func TestManageTokenRefusesLongFields(t *testing.T) {
	k := Generate(noon)
	for name, m := range map[string]Manage{
		"no id":                   {ExpiresAt: noon},
		"an id of 65 characters":  {AppointmentID: strings.Repeat("x", 65), ExpiresAt: noon},
		"an id with a dot":        {AppointmentID: "a.b", ExpiresAt: noon},
		"an id with a slash":      {AppointmentID: "a/b", ExpiresAt: noon},
		"an expiry of no instant": {AppointmentID: appointment},
	} {
		if token, err := k.IssueManage(m, noon); err == nil {
			t.Errorf("%s: got %s, want an error", name, token)
		}
	}
}
