-- Where a block came from: nowhere, or the specialist's own calendar elsewhere.
ALTER TABLE blocks ADD COLUMN source TEXT NOT NULL DEFAULT '';
CREATE INDEX idx_blocks_calendar ON blocks (specialist_id) WHERE source = 'calendar';

-- The own calendars of specialists at other places, by an address that is sealed.
CREATE TABLE busy_calendars (
    specialist_id TEXT    NOT NULL PRIMARY KEY REFERENCES specialists (id),
    address       TEXT    NOT NULL CHECK (address <> ''),
    set_at        INTEGER NOT NULL,
    asked_at      INTEGER,
    read_at       INTEGER,
    failure       TEXT    NOT NULL DEFAULT '',
    unread        INTEGER NOT NULL DEFAULT 0,
    tag           TEXT    NOT NULL DEFAULT '',
    modified      TEXT    NOT NULL DEFAULT ''
) STRICT, WITHOUT ROWID;
