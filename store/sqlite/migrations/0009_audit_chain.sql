-- Audit entries are the links of a chain, and so are the erasures of their texts: each hash covers the one before (store/chain.go).
-- The program links what is there already, in the order in which it was written.
ALTER TABLE audit_entries ADD COLUMN position INTEGER NOT NULL DEFAULT 0;
ALTER TABLE audit_entries ADD COLUMN salt BLOB NOT NULL DEFAULT x'';
ALTER TABLE audit_entries ADD COLUMN digest BLOB NOT NULL DEFAULT x'';
ALTER TABLE audit_entries ADD COLUMN hash BLOB NOT NULL DEFAULT x'';

CREATE TABLE audit_erasures (
    position INTEGER NOT NULL PRIMARY KEY,
    entry    INTEGER NOT NULL UNIQUE, -- the position of the entry that was erased
    hash     BLOB    NOT NULL
) STRICT;

-- The last link. Without it nobody would miss the last entry.
CREATE TABLE audit_head (
    id       INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    position INTEGER NOT NULL,
    hash     BLOB    NOT NULL
) STRICT;

INSERT INTO audit_head (id, position, hash) VALUES (1, 0, zeroblob(32));
