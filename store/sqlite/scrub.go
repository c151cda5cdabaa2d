package sqlite

import (
	"context"
	"fmt"

	"holdfast/store"
)

// Blanking a row does not take its old content off the disk. The log still holds the page as it was, and even with
// secure_delete SQLite leaves pieces of rows in the gaps of pages it once rearranged. So erasing a person ends with
// writing the whole database anew and emptying the log. About a second for 100,000 appointments, while writing waits.
//
// The row scrubDue commits with the erasure and goes when the scrub is through, so that a crash in between, or a full
// disk, is made up for at the next start or the next erasure.
const scrubDue = "scrub_due"

// memoryVacuum is the size up to which the copy that VACUUM makes is held in memory. A larger one goes to a temporary
// file, which a machine without a writable temporary directory cannot give.
const memoryVacuum = 256 << 20

func (t *tx) wantScrub() error {
	t.scrub = true
	return t.run(`INSERT INTO meta (key, value) VALUES (?, '1') ON CONFLICT (key) DO NOTHING`, scrubDue)
}

func needsScrub(ctx context.Context, c *conn) (bool, error) {
	n, err := oneOn(ctx, c, (*row).int, `SELECT count(*) FROM meta WHERE key = ?`, scrubDue)
	return n > 0, err
}

// scrub is called by the writer between two batches.
func (s *Store) scrub() error {
	c, err := openConn(s.dsn)
	if err != nil {
		return err
	}
	defer c.close()
	size, err := oneOn(context.Background(), c, (*row).int64,
		`SELECT page_count * page_size FROM pragma_page_count, pragma_page_size`)
	if err != nil {
		return err
	}
	if size > memoryVacuum {
		if err := c.script("PRAGMA temp_store = FILE"); err != nil {
			return err
		}
	}
	if err := c.script("VACUUM"); err != nil {
		return err
	}
	busy := false
	err = c.query(context.Background(), func(r *row) { busy = r.bool() }, "PRAGMA wal_checkpoint(TRUNCATE)")
	if err != nil {
		return err
	}
	if busy {
		return fmt.Errorf("%w: somebody reads an old moment of the database", store.ErrUnavailable)
	}
	if _, err := c.exec(`DELETE FROM meta WHERE key = ?`, scrubDue); err != nil {
		return err
	}
	return nil
}
