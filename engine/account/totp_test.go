package account

import (
	"context"
	"testing"
	"time"
)

// TestTOTPVectors uses the test vectors from RFC 6238, appendix B, for SHA-1. They have eight digits; ours are the last
// six of them.
func TestTOTPVectors(t *testing.T) {
	secret := []byte("12345678901234567890")
	for _, x := range []struct {
		unix int64
		code string
	}{{59, "287082"}, {1111111109, "081804"}, {1111111111, "050471"}, {1234567890, "005924"}, {2000000000, "279037"},
		{20000000000, "353130"}} {
		if got := TOTPCode(secret, x.unix/TotpStep); got != x.code {
			t.Errorf("at %d: got %s, want %s", x.unix, got, x.code)
		}
	}
	now := time.Unix(1111111109, 0)
	step, ok := checkTOTP(secret, "081804", 0, now)
	if !ok {
		t.Fatal("a correct code is refused")
	}
	if _, ok := checkTOTP(secret, "081804", step, now); ok {
		t.Error("a code works a second time")
	}
	if _, ok := checkTOTP(secret, "081804", 0, now.Add(2*time.Minute)); ok {
		t.Error("a code works two minutes later")
	}
}

func TestPasswordHash(t *testing.T) {
	p := newPasswords(argonNow)
	ctx := context.Background()
	phc, err := p.hash(ctx, "correct horse battery")
	if err != nil {
		t.Fatal(err)
	}
	for password, want := range map[string]bool{"correct horse battery": true, "correct horse batterx": false,
		"": false} {
		if got, err := p.verify(ctx, phc, password); err != nil || got != want {
			t.Errorf("verify %q: %v %v, want %v", password, got, err, want)
		}
	}
	if ok, err := p.verify(ctx, p.decoy, "anything"); ok || err != nil {
		t.Errorf("the decoy: %v %v", ok, err)
	}
	for _, bad := range []string{"", "$argon2id$v=19$m=19456,t=2,p=1$!!$AAAA", "$argon2i$v=19$m=1,t=1,p=1$AAAA$AAAA",
		"plain"} {
		if _, err := p.verify(ctx, bad, "x"); err == nil {
			t.Errorf("%q was parsed as a hash", bad)
		}
	}
}
