-- Stretches of a specialist's time that the practice system refused: closed for a while, across a restart.
CREATE TABLE closures (
    id            TEXT    NOT NULL PRIMARY KEY CHECK (id <> ''),
    specialist_id TEXT    NOT NULL REFERENCES specialists (id),
    start_at      INTEGER NOT NULL,
    end_at        INTEGER NOT NULL CHECK (end_at > start_at),
    since_at      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
