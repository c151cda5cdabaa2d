-- The language that a patient is written to: that of the page they booked on. Empty: the clinic's.
ALTER TABLE appointments ADD COLUMN locale text NOT NULL DEFAULT '';
ALTER TABLE booking_requests ADD COLUMN locale text NOT NULL DEFAULT '';

-- Stretches of a specialist's time that the practice system refused: closed for a while, across a restart.
CREATE TABLE closures (
    id            text COLLATE "C" NOT NULL PRIMARY KEY CHECK (id <> ''),
    specialist_id text COLLATE "C" NOT NULL REFERENCES specialists (id),
    start_at      bigint NOT NULL,
    end_at        bigint NOT NULL CHECK (end_at > start_at),
    since_at      bigint NOT NULL
);
