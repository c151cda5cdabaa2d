package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"holdfast/store"
	"holdfast/store/table"
)

// SQLSTATE codes, https://www.postgresql.org/docs/current/errcodes-appendix.html. The first two characters are the
// class.
const (
	codeForeignKey   = "23503"
	codeUnique       = "23505"
	codeExclusion    = "23P01"
	codeDiskFull     = "53100"
	codeNotPermitted = "42501"
	codeLockTimeout  = "55P03"
	classData        = "22" // such as text with a zero byte
	classConstraint  = "23"
)

const noDoubleBook = "idx_no_double_book"

// These texts are part of an error of a failed batch and state the outcome of its writes.
const (
	unknownOutcome    = "the outcome is unknown"
	nothingWasWritten = "nothing was written"
)

// errNotCommitted means that the connection was lost before the COMMIT, so the server rolled the transaction back.
var errNotCommitted = errors.New("the connection was lost before the commit, " + nothingWasWritten)

// ErrSchema means that the schema is not the one that this program creates, so its guarantees are unknown. An index,
// a constraint or a trigger of the guarantee is missing, invalid or disabled. Restore a backup, or undo the change of
// the schema.
var ErrSchema = errors.New("the schema differs from the one that this program created")

// translate converts the errors of pgx to those of package store. It keeps the server's message, which names columns
// and constraints. It omits the detail, which can contain values.
func translate(err error) error {
	var e *pgconn.PgError
	switch {
	case err == nil || known(err):
		return err
	case errors.As(err, &e):
		return translateServers(e)
	case errors.Is(err, context.Canceled):
		return context.Canceled
	}
	return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
}

// opening translates an error of opening the database, and says what the operator must check if the connection or the
// role was refused.
func opening(err error) error {
	var refused *pgconn.ConnectError
	var e *pgconn.PgError
	switch translated := translate(err); {
	case errors.As(err, &refused):
		return fmt.Errorf("opening the database: %w. Check that PostgreSQL is running and that the URL names the "+
			"right server, user, password and database", translated)
	case errors.As(err, &e) && e.Code == codeNotPermitted:
		return fmt.Errorf("opening the database: %w. The user of the URL must own the database", translated)
	default:
		return fmt.Errorf("opening the database: %w", translated)
	}
}

// known reports whether err already wraps an error of package store.
func known(err error) bool {
	for _, one := range []error{
		store.ErrNotFound, store.ErrSlotTaken, store.ErrDuplicate, store.ErrInvalid, store.ErrUnavailable,
		store.ErrFull, store.ErrClosed, store.ErrVersion, store.ErrBehind, store.ErrOverloaded, ErrSchema, ErrInUse,
	} {
		if errors.Is(err, one) {
			return true
		}
	}
	return false
}

func translateServers(e *pgconn.PgError) error {
	said := fmt.Errorf("%s (SQLSTATE %s)", e.Message, e.Code)
	switch {
	case e.Code == codeExclusion, e.Code == codeUnique && e.ConstraintName == noDoubleBook:
		return store.ErrSlotTaken
	case e.Code == codeUnique:
		return fmt.Errorf("%w: %w", store.ErrDuplicate, said)
	case e.Code == codeForeignKey:
		return fmt.Errorf("%w: %w: %w", store.ErrInvalid, table.ErrReference, said)
	case refusal(e):
		return fmt.Errorf("%w: %w", store.ErrInvalid, said)
	case e.Code == codeDiskFull:
		return fmt.Errorf("%w: %w", store.ErrFull, said)
	}
	return fmt.Errorf("%w: %w", store.ErrUnavailable, said)
}

// isBusy reports whether waiting for a lock timed out.
func isBusy(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && e.Code == codeLockTimeout
}

// refusal reports whether the schema refused this one statement. Any other error is a fault in the server or in this
// program.
func refusal(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && (strings.HasPrefix(e.Code, classConstraint) || strings.HasPrefix(e.Code, classData))
}
