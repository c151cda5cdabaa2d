-- The index of people, which is derived from the appointments and can be built again from them: a row of people for each
-- spelling of a person, its appointments, and the terms and keys by which a search finds it (store/personindex.go). The
-- server fills it in the background, in the order of rowid of the appointments, up to indexed_to.
CREATE TABLE people_index (
    id         INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    indexed_to INTEGER NOT NULL
) STRICT;

INSERT INTO people_index (id, indexed_to) VALUES (1, 0);

CREATE TABLE people (
    id         INTEGER NOT NULL PRIMARY KEY,
    hash       INTEGER NOT NULL, -- of the spelling
    name_key   TEXT    NOT NULL, -- the name, folded
    name       TEXT    NOT NULL,
    email      TEXT    NOT NULL,
    phone      TEXT    NOT NULL,
    birth_date TEXT    NOT NULL,
    recency    INTEGER NOT NULL -- the week of the newest appointment, or a later one
) STRICT;

CREATE INDEX idx_people_hash ON people (hash);
CREATE INDEX idx_people_name ON people (name_key);

CREATE TABLE people_appointments (
    person_id       INTEGER NOT NULL,
    appointment_row INTEGER NOT NULL, -- rowid
    PRIMARY KEY (person_id, appointment_row)
) STRICT, WITHOUT ROWID;

CREATE TABLE people_keys (
    key       TEXT    NOT NULL,
    person_id INTEGER NOT NULL,
    PRIMARY KEY (key, person_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE people_terms (
    term      TEXT    NOT NULL,
    recency   INTEGER NOT NULL,
    person_id INTEGER NOT NULL,
    PRIMARY KEY (term, recency, person_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE people_term_keys (
    key  TEXT NOT NULL,
    term TEXT NOT NULL,
    PRIMARY KEY (key, term)
) STRICT, WITHOUT ROWID;
