-- Audit entries are the links of a chain, and so are the erasures of their texts: each hash covers the one before (store/chain.go).
-- The program links what is there already, in the order in which it was written.
ALTER TABLE audit_entries ADD COLUMN position bigint NOT NULL DEFAULT 0;
ALTER TABLE audit_entries ADD COLUMN salt bytea NOT NULL DEFAULT '';
ALTER TABLE audit_entries ADD COLUMN digest bytea NOT NULL DEFAULT '';
ALTER TABLE audit_entries ADD COLUMN hash bytea NOT NULL DEFAULT '';

CREATE TABLE audit_erasures (
    position bigint NOT NULL PRIMARY KEY,
    entry    bigint NOT NULL UNIQUE, -- the position of the entry that was erased
    hash     bytea  NOT NULL
);

-- The last link. Without it nobody would miss the last entry.
CREATE TABLE audit_head (
    id       bigint NOT NULL PRIMARY KEY CHECK (id = 1),
    position bigint NOT NULL,
    hash     bytea  NOT NULL
);

INSERT INTO audit_head (id, position, hash) VALUES (1, 0, decode(repeat('00', 32), 'hex'));
