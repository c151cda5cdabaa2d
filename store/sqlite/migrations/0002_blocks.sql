-- Blocks: stretches of time in which a specialist takes no bookings, each a thing of its own beside the hours.

CREATE TABLE blocks (
    id            TEXT    NOT NULL PRIMARY KEY CHECK (id <> ''),
    specialist_id TEXT    NOT NULL REFERENCES specialists (id),
    start_at      INTEGER NOT NULL,
    end_at        INTEGER NOT NULL CHECK (end_at > start_at),
    reason        TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

-- The schedule reads those that have not ended long ago.
CREATE INDEX idx_blocks_end ON blocks (end_at);
