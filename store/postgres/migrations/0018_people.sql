-- The index of people, which is derived from the appointments and can be built again from them: a row of people for each
-- spelling of a person, its appointments, and the terms and keys by which a search finds it (store/personindex.go). The
-- server fills it in the background, in the order of row_number of the appointments, up to indexed_to.
CREATE TABLE people_index (
    id         bigint NOT NULL PRIMARY KEY CHECK (id = 1),
    indexed_to bigint NOT NULL
);

INSERT INTO people_index (id, indexed_to) VALUES (1, 0);

CREATE TABLE people (
    id         bigint NOT NULL PRIMARY KEY,
    hash       bigint NOT NULL, -- of the spelling
    name_key   text COLLATE "C" NOT NULL, -- the name, folded
    name       text NOT NULL,
    email      text NOT NULL,
    phone      text NOT NULL,
    birth_date text NOT NULL,
    recency    bigint NOT NULL -- the week of the newest appointment, or a later one
);

CREATE INDEX idx_people_hash ON people (hash);
CREATE INDEX idx_people_name ON people (name_key);

CREATE TABLE people_appointments (
    person_id       bigint NOT NULL,
    appointment_row bigint NOT NULL, -- row_number
    PRIMARY KEY (person_id, appointment_row)
);

CREATE TABLE people_keys (
    key       text COLLATE "C" NOT NULL,
    person_id bigint NOT NULL,
    PRIMARY KEY (key, person_id)
);

CREATE TABLE people_terms (
    term      text COLLATE "C" NOT NULL,
    recency   bigint NOT NULL,
    person_id bigint NOT NULL,
    PRIMARY KEY (term, recency, person_id)
);

CREATE TABLE people_term_keys (
    key  text COLLATE "C" NOT NULL,
    term text COLLATE "C" NOT NULL,
    PRIMARY KEY (key, term)
);
