package store

import (
	"context"
	"time"
)

// Role is what a member of staff may do.
type Role string

const (
	RoleOwner      Role = "owner"
	RoleReception  Role = "reception"
	RoleSpecialist Role = "specialist"
)

// User is a member of staff who can sign in.
type User struct {
	ID           string
	Email        string // lower case; unique among users
	Name         string
	Role         Role
	SpecialistID string // whose own calendar this is, for RoleSpecialist
	PasswordHash string // PHC string, argon2id; empty: no password signs this user in
	Identity     string // the identity provider's issuer, client and subject, with blanks between; empty: none yet; unique among users
	TOTPSecret   []byte // nil while TOTP is off
	TOTPLastStep int64  // last accepted time step, so that a code works once (RFC 6238 section 5.2)
	Active       bool
	CreatedAt    time.Time
	LastSignInAt time.Time
}

// SignIn is one signed-in browser of a user. Only the hash of its cookie is kept.
type SignIn struct {
	ID         string
	Hash       [32]byte // SHA-256 of the cookie's value
	UserID     string
	CreatedAt  time.Time
	LastSeenAt time.Time // kept to about a minute
	ExpiresAt  time.Time
	UserAgent  string
}

// SetupToken is the one-time link that makes the first owner. There is at most one.
type SetupToken struct {
	Hash      [32]byte
	ExpiresAt time.Time
}

// UserReader asks for staff and their sign-ins.
type UserReader interface {
	// Users lists all, by name.
	Users(ctx context.Context) ([]User, error)
	// User returns one by id. ErrNotFound.
	User(ctx context.Context, id string) (User, error)
	// UserByEmail returns one by its lower-case address. ErrNotFound.
	UserByEmail(ctx context.Context, email string) (User, error)
	// UserByIdentity returns the one who has this identity. ErrNotFound, also for the empty one.
	UserByIdentity(ctx context.Context, identity string) (User, error)
	// SignInByHash returns a sign-in and its user, expired or not. ErrNotFound.
	SignInByHash(ctx context.Context, hash [32]byte) (SignIn, User, error)
	// SignIns lists those of one user, newest first.
	SignIns(ctx context.Context, userID string) ([]SignIn, error)
	// SetupToken returns the outstanding one. ErrNotFound.
	SetupToken(ctx context.Context) (SetupToken, error)
}

// UserWriter changes staff and their sign-ins.
type UserWriter interface {
	// PutUser inserts or replaces by id. ErrDuplicate if another user has the address, or the identity.
	PutUser(ctx context.Context, u User) error
	// InsertSignIn adds one. ErrNotFound if there is no such user.
	InsertSignIn(ctx context.Context, s SignIn) error
	// TouchSignIn records activity and moves the expiry.
	TouchSignIn(ctx context.Context, id string, seen, expires time.Time) error
	// DeleteSignIn ends one; idempotent.
	DeleteSignIn(ctx context.Context, id string) error
	// DeleteSignIns ends all of one user but the one with id except (which may be empty), and says how many.
	DeleteSignIns(ctx context.Context, userID, except string) (int, error)
	// ForgetSignIns removes up to limit sign-ins that expired before the instant and says how many.
	ForgetSignIns(ctx context.Context, before time.Time, limit int) (int, error)
	// PutSetupToken replaces the outstanding token; ClearSetupToken removes it.
	PutSetupToken(ctx context.Context, t SetupToken) error
	ClearSetupToken(ctx context.Context) error
}
