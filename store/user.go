package store

import (
	"context"
	"time"
)

// Role defines what a member of staff may do.
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
	SpecialistID string `column:",null"` // the user's own calendar, for RoleSpecialist
	PasswordHash string // PHC string, argon2id; if empty, this user has no password
	// the identity provider's issuer, client and subject, separated by spaces; empty means none yet; unique among
	// users
	Identity     string
	TOTPSecret   []byte // nil while TOTP is off
	TOTPLastStep int64  // last accepted time step, so that a code works once (RFC 6238 section 5.2)
	Active       bool
	CreatedAt    time.Time
	LastSignInAt time.Time `column:",null"`
}

// SignIn is one signed-in browser of a user. The store holds only the hash of its cookie.
type SignIn struct {
	ID         string
	Hash       [32]byte // SHA-256 of the cookie's value
	UserID     string
	CreatedAt  time.Time
	LastSeenAt time.Time // accurate to about a minute
	ExpiresAt  time.Time
	UserAgent  string
}

// SetupToken is the single-use link that creates the first owner. There is at most one.
type SetupToken struct {
	Hash      [32]byte
	ExpiresAt time.Time
}

// UserReader reads staff and their sign-ins.
type UserReader interface {
	// Users lists all users by name.
	Users(ctx context.Context) ([]User, error)
	// User returns one user by id. Errors: ErrNotFound.
	User(ctx context.Context, id string) (User, error)
	// UserByEmail returns one user by their lower-case address. Errors: ErrNotFound.
	UserByEmail(ctx context.Context, email string) (User, error)
	// UserByIdentity returns the user with this identity. It returns ErrNotFound if there is none, or if identity is
	// empty.
	UserByIdentity(ctx context.Context, identity string) (User, error)
	// SignInByHash returns a sign-in and its user, expired or not. Errors: ErrNotFound.
	SignInByHash(ctx context.Context, hash [32]byte) (SignIn, User, error)
	// SignIns lists the sign-ins of one user, newest first.
	SignIns(ctx context.Context, userID string) ([]SignIn, error)
	// SetupToken returns the outstanding token. Errors: ErrNotFound.
	SetupToken(ctx context.Context) (SetupToken, error)
}

// UserWriter changes staff and their sign-ins.
type UserWriter interface {
	// PutUser inserts or replaces by id. It returns ErrDuplicate if another user has the address or the identity.
	PutUser(ctx context.Context, u User) error
	// InsertSignIn adds one sign-in. It returns ErrNotFound if there is no such user.
	InsertSignIn(ctx context.Context, s SignIn) error
	// TouchSignIn records activity and moves the expiry.
	TouchSignIn(ctx context.Context, id string, seen, expires time.Time) error
	// DeleteSignIn ends one sign-in. It is idempotent.
	DeleteSignIn(ctx context.Context, id string) error
	// DeleteSignIns ends all sign-ins of one user, except the one whose id is except, and returns how many. An empty
	// except ends all.
	DeleteSignIns(ctx context.Context, userID, except string) (int, error)
	// ForgetSignIns removes up to limit sign-ins that expired before the instant and returns how many.
	ForgetSignIns(ctx context.Context, before time.Time, limit int) (int, error)
	// PutSetupToken replaces the outstanding token; ClearSetupToken removes it.
	PutSetupToken(ctx context.Context, t SetupToken) error
	ClearSetupToken(ctx context.Context) error
}
