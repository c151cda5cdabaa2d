package account

import (
	"context"
	"crypto/hmac"

	"holdfast/engine/record"
	"holdfast/store"
)

// Proof contains the credentials that signed-in staff must enter again before their second factor is changed, because
// another person might be using the browser.
type Proof struct {
	Password string
	Code     string // from the current authenticator app, if codes are on
}

// BeginTOTP returns a new secret and its URI for the authenticator app. The secret takes effect when EnableTOTP is
// called with it.
func (ac *Account) BeginTOTP(u *store.User) (secret []byte, uri string) {
	secret = newTOTPSecret()
	return secret, totpURI(secret, ac.clinic.Schedule().Clinic.Name, u.Email)
}

// EnableTOTP requires a one-time code at every later sign-in. code must be a valid code from the new app that has not
// been used to sign in. EnableTOTP ends the user's other sign-ins.
//
// Errors: *ValidationError, and those of DisableTOTP.
func (ac *Account) EnableTOTP(ctx context.Context, s *Staff, proof Proof, secret []byte, code string) error {
	now := record.Now()
	return ac.changeTOTP(ctx, s, record.ActionUserTOTPEnabled, proof, func(u *store.User) error {
		last := int64(0)
		if hmac.Equal(secret, u.TOTPSecret) {
			last = u.TOTPLastStep
		}
		step, ok := checkTOTP(secret, code, last, now)
		if !ok || len(secret) < 16 {
			return record.Invalid("code",
				"is not the code that the app shows now; check that the phone's clock is correct")
		}
		u.TOTPSecret, u.TOTPLastStep = secret, step
		return nil
	})
}

// DisableTOTP stops requiring one-time codes and ends the user's other sign-ins.
//
// Errors: ErrWrongPassword, ErrCodeNeeded, ErrWrongCode, *BackoffError, ErrUnauthorized if the sign-in has ended since
// it was loaded.
func (ac *Account) DisableTOTP(ctx context.Context, s *Staff, proof Proof) error {
	return ac.changeTOTP(ctx, s, record.ActionUserTOTPDisabled, proof, func(u *store.User) error {
		u.TOTPSecret, u.TOTPLastStep = nil, 0
		return nil
	})
}

// changeTOTP changes the second factor of a user who enters the correct password and, if codes are on, a correct code.
// A wrong password or code counts as a failed sign-in.
func (ac *Account) changeTOTP(ctx context.Context, s *Staff, action record.Action, proof Proof,
	edit func(*store.User) error) error {
	now, guess := record.Now(), guessByDevice(s.User.Email, s.SignIn.ID)
	if until, err := ac.beginGuess(ctx, now, guess); err != nil {
		return err
	} else if until.After(now) {
		return &BackoffError{until}
	}
	checked, err := ac.knownPassword(ctx, s.User.Email, proof.Password)
	if err == nil {
		_, err = ac.changeUser(ctx, s.Actor(), action, s.User.ID, func(tx store.Tx, u *store.User) error {
			if _, err := unchangedUser(ctx, tx, &checked); err != nil {
				return err
			}
			if checked.ID != u.ID {
				return record.ErrUnauthorized // the email address now belongs to another user
			}
			if err := stillSignedIn(ctx, tx, s); err != nil {
				return err
			}
			if err := useCode(u, proof.Code, now); err != nil {
				return err
			}
			if err := edit(u); err != nil {
				return err
			}
			_, err := tx.DeleteSignIns(ctx, u.ID, s.SignIn.ID)
			return err
		})
	}
	ac.endGuess(ctx, guess, err)
	return err
}
