package token

import (
	"testing"
	"time"
)

func TestBookingVectors(t *testing.T) {
	var data struct {
		Keyring, AppointmentTypeID, SpecialistID, Nonce string
		Start, ExpiresAt                                time.Time
		Minutes                                         int
		Cases                                           []struct {
			Name, Token    string
			Now, ExpiresAt time.Time
			Error          Error
		}
	}
	vectors(t, "booking.json", &data)
	k := keyring(t, data.Keyring)
	for _, c := range data.Cases {
		t.Run(c.Name, func(t *testing.T) {
			want := Booking{
				AppointmentType: AppointmentTypeHash(data.AppointmentTypeID),
				Specialist:      SpecialistHash(data.SpecialistID),
				Start:           data.Start, Minutes: data.Minutes, ExpiresAt: data.ExpiresAt, Nonce: data.Nonce,
			}
			if !c.ExpiresAt.IsZero() {
				want.ExpiresAt = c.ExpiresAt
			}
			got, err := k.VerifyBooking(c.Token, c.Now)
			switch c.Error {
			case "", BookingTokenExpired: // an expired token still shows what it was for
				var wantErr error
				if c.Error != "" {
					wantErr = c.Error
				}
				if err != wantErr || got != want {
					t.Errorf("got %+v, %v\nwant %+v, %v", got, err, want, wantErr)
				}
			default:
				if err != c.Error || got != (Booking{}) {
					t.Errorf("got %+v, %v; want nothing and %v", got, err, c.Error)
				}
			}
		})
	}
	token, err := k.signBooking(Booking{
		AppointmentType: AppointmentTypeHash(data.AppointmentTypeID), Specialist: SpecialistHash(data.SpecialistID),
		Start: data.Start, Minutes: data.Minutes, ExpiresAt: data.ExpiresAt, Nonce: data.Nonce,
	})
	if err != nil || token != data.Cases[0].Token {
		t.Errorf("signed here: got %s, %v\nwant %s", token, err, data.Cases[0].Token)
	}
}

func TestBookingTokenHas63CharactersAndIsUnique(t *testing.T) {
	k := Generate(noon)
	seen := map[string]bool{}
	for range 1000 {
		token, b, err := k.IssueBooking("a long appointment type id of a clinic", "ada", noon, 1440, noon)
		if err != nil {
			t.Fatal(err)
		}
		if len(token) != bookingLength {
			t.Fatalf("got %d characters, want %d: %s", len(token), bookingLength, token)
		}
		if seen[token] || seen[b.Nonce] {
			t.Fatal("two tokens for one slot have the same text or the same nonce")
		}
		seen[token], seen[b.Nonce] = true, true
		if got, err := k.VerifyBooking(token, noon); err != nil || got != b {
			t.Fatalf("got %+v, %v\nwant %+v", got, err, b)
		}
	}
}

func TestBookingLivesFifteenMinutes(t *testing.T) {
	k := Generate(noon)
	now := noon.Add(700 * time.Millisecond)
	token, _, _ := k.IssueBooking("checkup", "ada", noon, 30, now)
	if _, err := k.VerifyBooking(token, now.Add(BookingTTL-time.Millisecond)); err != nil {
		t.Errorf("1 ms before its end: got %v, want no error", err)
	}
	if _, err := k.VerifyBooking(token, now.Add(BookingTTL+time.Second)); err != BookingTokenExpired {
		t.Errorf("a second after its end: got %v, want %v", err, BookingTokenExpired)
	}
}

func TestBookingStartKeepsItsInstantNotItsZone(t *testing.T) {
	k := Generate(noon)
	start := time.Date(2026, 11, 23, 10, 0, 0, 0, time.FixedZone("", 3600))
	token, _, _ := k.IssueBooking("checkup", "ada", start, 30, noon)
	got, err := k.VerifyBooking(token, noon)
	if err != nil || !got.Start.Equal(start) || got.Start.Location() != time.UTC {
		t.Errorf("got %v, %v; want the instant %v in UTC", got.Start, err, start)
	}
}

func TestBookingTokenRefusesLongFields(t *testing.T) {
	k := Generate(noon)
	for name, c := range map[string]struct {
		start   time.Time
		minutes int
	}{
		"a start between two seconds": {noon.Add(time.Millisecond), 30},
		"a start before 1970":         {time.Unix(-1, 0), 30},
		"a start after 2106":          {time.Unix(1<<32, 0), 30},
		"no minutes":                  {noon, 0},
		"minutes past 16 bits":        {noon, 65536},
		"minutes below zero":          {noon, -30},
	} {
		if token, _, err := k.IssueBooking("checkup", "ada", c.start, c.minutes, noon); err == nil {
			t.Errorf("%s: got %s, want an error", name, token)
		}
	}
	if _, _, err := k.IssueBooking("checkup", "ada", noon, 30, time.Unix(1<<32, 0)); err == nil {
		t.Error("an expiry after 2106: got a token, want an error")
	}
	if _, err := k.signBooking(Booking{Start: noon, Minutes: 30, ExpiresAt: noon, Nonce: "short"}); err == nil {
		t.Error("a nonce of another length: got a token, want an error")
	}
}

func TestHashesOfTypesAndSpecialistsDiffer(t *testing.T) {
	if AppointmentTypeHash("x") == SpecialistHash("x") {
		t.Error("one id as a type and as a specialist: got the same hash, want two")
	}
	if AppointmentTypeHash("a") == AppointmentTypeHash("b") {
		t.Error("two types: got the same hash")
	}
}
