-- What agents were told of patients in the last minutes, so that a restart, or another node, knows it. Names are hashes.
CREATE TABLE agent_sessions (
    name               TEXT    NOT NULL PRIMARY KEY,
    patient_id         TEXT    NOT NULL,
    patient_name       TEXT    NOT NULL,
    patient_email      TEXT    NOT NULL,
    patient_phone      TEXT    NOT NULL,
    patient_birth_date TEXT    NOT NULL,
    patient_search     TEXT    NOT NULL,
    open               INTEGER NOT NULL CHECK (open IN (0, 1)),
    at                 INTEGER NOT NULL,
    expires_at         INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX idx_agent_sessions_at ON agent_sessions (at);
CREATE INDEX idx_agent_sessions_patient ON agent_sessions (patient_id);
