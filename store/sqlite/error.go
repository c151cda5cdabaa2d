package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"modernc.org/sqlite"

	"holdfast/store"
	"holdfast/store/table"
)

// Result codes of SQLite, https://sqlite.org/rescode.html. The low byte is the primary code.
const (
	codeIOErr                = 10
	codeCorrupt              = 11
	codeFull                 = 13
	codeConstraint           = 19
	codeNotADatabase         = 26
	codeConstraintForeignKey = 787
	codeConstraintPrimaryKey = 1555
	codeConstraintTrigger    = 1811
	codeConstraintUnique     = 2067
	codeConstraintRowID      = 2579
	codeIOErrNoMem           = 3082
	codeIOErrShmSize         = 4874
)

// noDoubleBook is the list of the columns of idx_no_double_book in SQLite's error message for a row that the index
// refuses.
const noDoubleBook = "appointments.specialist_id, appointments.slot_start, appointments.seat"

// ErrDamaged means that the file is not a database, or its pages are inconsistent. Restore a backup.
var ErrDamaged = errors.New("the file is damaged")

// opening adds the path to an error, and ErrDamaged if the file itself is the cause.
func opening(path string, err error) error {
	if e := cause(err); e != nil && damaged(e) {
		return fmt.Errorf("opening %s: %w: %w", path, ErrDamaged, e)
	}
	return fmt.Errorf("opening %s: %w", path, err)
}

// translate converts the driver's errors to those of package store. translate keeps SQLite's messages: they name
// columns and constraints, never values.
func translate(err error) error {
	e := cause(err)
	if e == nil {
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	switch e.Code() {
	case codeConstraintTrigger:
		if strings.Contains(e.Error(), "slot_taken") {
			return store.ErrSlotTaken
		}
	case codeConstraintUnique:
		if strings.Contains(e.Error(), noDoubleBook) {
			return store.ErrSlotTaken
		}
		return fmt.Errorf("%w: %w", store.ErrDuplicate, err)
	case codeConstraintPrimaryKey, codeConstraintRowID:
		return fmt.Errorf("%w: %w", store.ErrDuplicate, err)
	case codeFull, codeIOErrShmSize: // codeIOErrShmSize: no space for the index of the write-ahead log
		return fmt.Errorf("%w: %w", store.ErrFull, err)
	}
	switch {
	case e.Code() == codeConstraintForeignKey:
		return fmt.Errorf("%w: %w: %w", store.ErrInvalid, table.ErrReference, err)
	case refusal(err):
		return fmt.Errorf("%w: %w", store.ErrInvalid, err)
	case damaged(e):
		return fmt.Errorf("%w: %w: %w", store.ErrUnavailable, ErrDamaged, err)
	}
	return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
}

func cause(err error) *sqlite.Error {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e
	}
	return nil
}

func damaged(e *sqlite.Error) bool {
	return e.Code()&0xff == codeCorrupt || e.Code()&0xff == codeNotADatabase
}

// refusal reports whether a constraint refused the statement, which undid that statement and nothing else.
func refusal(err error) bool {
	e := cause(err)
	return e != nil && e.Code()&0xff == codeConstraint
}

// fatal reports whether the content of the disk is unknown after err. If so, this process must not acknowledge any
// further write.
func fatal(err error) bool {
	e := cause(err)
	if e == nil {
		return false
	}
	switch e.Code() & 0xff {
	case codeIOErr:
		return e.Code() != codeIOErrShmSize && e.Code() != codeIOErrNoMem
	case codeCorrupt, codeNotADatabase:
		return true
	}
	return false
}
