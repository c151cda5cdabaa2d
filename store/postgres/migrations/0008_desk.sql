-- Blocks that were made with one form, such as a week's closing of the clinic, have the same set. Empty: it stands alone.
ALTER TABLE blocks ADD COLUMN set_id text COLLATE "C" NOT NULL DEFAULT '';
CREATE INDEX idx_blocks_set ON blocks (set_id) WHERE set_id <> '';

-- What the desk says about people. A person is who appointments are for, so a note has what that was when it was written;
-- name_key is the folded name, by which both are found.
CREATE TABLE person_notes (
    id         text COLLATE "C" NOT NULL PRIMARY KEY CHECK (id <> ''),
    name_key   text COLLATE "C" NOT NULL,
    name       text NOT NULL,
    email      text NOT NULL,
    phone      text NOT NULL,
    birth_date text NOT NULL,
    note       text NOT NULL,
    author     text NOT NULL,
    created_at bigint NOT NULL
);
CREATE INDEX idx_person_notes_name ON person_notes (name_key);

-- Two spellings of one person.
CREATE TABLE person_links (
    id           text COLLATE "C" NOT NULL PRIMARY KEY CHECK (id <> ''),
    a_name_key   text COLLATE "C" NOT NULL,
    a_name       text NOT NULL,
    a_email      text NOT NULL,
    a_phone      text NOT NULL,
    a_birth_date text NOT NULL,
    b_name_key   text COLLATE "C" NOT NULL,
    b_name       text NOT NULL,
    b_email      text NOT NULL,
    b_phone      text NOT NULL,
    b_birth_date text NOT NULL,
    author       text NOT NULL,
    created_at   bigint NOT NULL
);
CREATE INDEX idx_person_links_a ON person_links (a_name_key);
CREATE INDEX idx_person_links_b ON person_links (b_name_key);
