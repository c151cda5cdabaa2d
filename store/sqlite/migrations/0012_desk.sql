-- Blocks that were made with one form, such as a week's closing of the clinic, have the same set. Empty: it stands alone.
ALTER TABLE blocks ADD COLUMN set_id TEXT NOT NULL DEFAULT '';
CREATE INDEX idx_blocks_set ON blocks (set_id) WHERE set_id <> '';

-- What the desk says about people. A person is who appointments are for, so a note has what that was when it was written;
-- name_key is the folded name, by which both are found.
CREATE TABLE person_notes (
    id         TEXT NOT NULL PRIMARY KEY CHECK (id <> ''),
    name_key   TEXT NOT NULL,
    name       TEXT NOT NULL,
    email      TEXT NOT NULL,
    phone      TEXT NOT NULL,
    birth_date TEXT NOT NULL,
    note       TEXT NOT NULL,
    author     TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX idx_person_notes_name ON person_notes (name_key);

-- Two spellings of one person.
CREATE TABLE person_links (
    id           TEXT NOT NULL PRIMARY KEY CHECK (id <> ''),
    a_name_key   TEXT NOT NULL,
    a_name       TEXT NOT NULL,
    a_email      TEXT NOT NULL,
    a_phone      TEXT NOT NULL,
    a_birth_date TEXT NOT NULL,
    b_name_key   TEXT NOT NULL,
    b_name       TEXT NOT NULL,
    b_email      TEXT NOT NULL,
    b_phone      TEXT NOT NULL,
    b_birth_date TEXT NOT NULL,
    author       TEXT NOT NULL,
    created_at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX idx_person_links_a ON person_links (a_name_key);
CREATE INDEX idx_person_links_b ON person_links (b_name_key);
