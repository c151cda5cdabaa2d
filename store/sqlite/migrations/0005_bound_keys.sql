-- A presence key may be for one specialist alone (empty: for all of them), and there is a scope for reading the metrics. A check
-- cannot be changed in place, so the table is made anew.

CREATE TABLE api_keys_new (
    id            TEXT    NOT NULL PRIMARY KEY,
    name          TEXT    NOT NULL,
    scope         TEXT    NOT NULL CHECK (scope IN ('admin', 'agent', 'presence', 'metrics')),
    hash          BLOB    NOT NULL UNIQUE CHECK (length(hash) = 32),
    prefix        TEXT    NOT NULL,
    created_at    INTEGER NOT NULL,
    last_used_at  INTEGER,
    revoked_at    INTEGER,
    specialist_id TEXT    NOT NULL
) STRICT;

INSERT INTO api_keys_new SELECT id, name, scope, hash, prefix, created_at, last_used_at, revoked_at, '' FROM api_keys;

DROP TABLE api_keys;

ALTER TABLE api_keys_new RENAME TO api_keys;
