package token

import (
	"testing"
	"time"
)

func TestShortManageTokenOpensItsAppointment(t *testing.T) {
	k := Generate(noon)
	m := Manage{AppointmentID: "0198c2f4-5e2a-7c3d-9f10-a1b2c3d4e5f6", Version: 7, ExpiresAt: noon.Add(90 * time.Minute)}
	short, err := k.IssueShortManage(m, noon)
	if err != nil || len(short) != 46 {
		t.Fatalf("got %q of %d characters, %v; want 46", short, len(short), err)
	}
	got, err := k.VerifyManage(short, noon)
	if err != nil || got.AppointmentID != m.AppointmentID || got.Version != 7 || got.ExpiresAt.Before(m.ExpiresAt) || got.ExpiresAt.After(m.ExpiresAt.Add(time.Hour)) {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := k.VerifyManage(short, got.ExpiresAt); err != ManageTokenExpired {
		t.Errorf("after its end: %v", err)
	}
	if _, err := Generate(noon).VerifyManage(short, noon); err != ManageTokenInvalid {
		t.Errorf("with another keyring: %v", err)
	}
	for i := range short {
		other := []byte(short)
		if other[i] = 'A'; short[i] == 'A' {
			other[i] = 'B'
		}
		if _, err := k.VerifyManage(string(other), noon); err != ManageTokenInvalid {
			t.Errorf("with character %d changed: %v", i, err)
		}
	}
}

func TestShortManageTokenFallsBackToLong(t *testing.T) {
	k := Generate(noon)
	for _, m := range []Manage{{AppointmentID: "a-1"}, {AppointmentID: "0198c2f4-5e2a-7c3d-9f10-a1b2c3d4e5f6", Version: 1 << 16}} {
		m.ExpiresAt = noon.Add(time.Hour)
		short, err := k.IssueShortManage(m, noon)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := k.VerifyManage(short, noon); err != nil || got != m {
			t.Errorf("got %+v, %v; want %+v", got, err, m)
		}
	}
}
