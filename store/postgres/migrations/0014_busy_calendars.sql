-- Where a block came from: nowhere, or the specialist's own calendar elsewhere.
ALTER TABLE blocks ADD COLUMN source text COLLATE "C" NOT NULL DEFAULT '';
CREATE INDEX idx_blocks_calendar ON blocks (specialist_id) WHERE source = 'calendar';

-- The own calendars of specialists at other places, by an address that is sealed.
CREATE TABLE busy_calendars (
    specialist_id text COLLATE "C" PRIMARY KEY REFERENCES specialists (id),
    address       text COLLATE "C" NOT NULL CHECK (address <> ''),
    set_at        bigint NOT NULL,
    asked_at      bigint,
    read_at       bigint,
    failure       text COLLATE "C" NOT NULL DEFAULT '',
    unread        integer NOT NULL DEFAULT 0,
    tag           text COLLATE "C" NOT NULL DEFAULT '',
    modified      text COLLATE "C" NOT NULL DEFAULT ''
);
