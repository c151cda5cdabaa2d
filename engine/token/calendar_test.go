package token

import (
	"testing"
	"time"
)

// TestManageRefusesCalendarToken: a calendar token shows an appointment and cannot change it. Neither kind of token is
// accepted in place of the other, even for the same appointment and after the key has been replaced.
func TestManageRefusesCalendarToken(t *testing.T) {
	k := Generate(noon)
	until := noon.Add(24 * time.Hour)
	want := Calendar{AppointmentID: appointment, Serial: 3, ExpiresAt: until}
	calendar, err := k.IssueCalendar(want, noon)
	if err != nil {
		t.Fatal(err)
	}
	manage, err := k.IssueManage(Manage{AppointmentID: appointment, Version: 3, ExpiresAt: until}, noon)
	if err != nil {
		t.Fatal(err)
	}
	if calendar == manage {
		t.Fatal("the calendar token and the manage token of an appointment are equal")
	}
	for _, k := range []*Keyring{k, k.Rotate(noon)} {
		if got, err := k.VerifyCalendar(calendar, noon); err != nil || got != want {
			t.Errorf("got %+v, %v; want %+v", got, err, want)
		}
		if _, err := k.VerifyManage(calendar, noon); err != ManageTokenInvalid {
			t.Errorf("a calendar token as a manage token: got %v", err)
		}
		if _, err := k.VerifyCalendar(manage, noon); err != ManageTokenInvalid {
			t.Errorf("a manage token as a calendar token: got %v", err)
		}
		if _, err := k.VerifyCalendar(calendar, until); err != ManageTokenExpired {
			t.Errorf("at its end: got %v", err)
		}
	}
}
