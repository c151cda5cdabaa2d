package enginetest

import (
	"holdfast/engine/account"
	"holdfast/store"
)

// GoodPassword is a password that the rules accept.
const GoodPassword = "four words make one"

// Owner returns the first user of a clinic.
func Owner() account.NewUser {
	return account.NewUser{Email: "Owner@Example.org", Name: "Jo Owner", Role: store.RoleOwner, Password: GoodPassword}
}
