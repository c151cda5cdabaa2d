-- What agents were told of patients in the last minutes, so that a restart, or another node, knows it. Names are hashes.
CREATE TABLE agent_sessions (
    name               text COLLATE "C" NOT NULL PRIMARY KEY,
    patient_id         text COLLATE "C" NOT NULL,
    patient_name       text NOT NULL,
    patient_email      text NOT NULL,
    patient_phone      text NOT NULL,
    patient_birth_date text NOT NULL,
    patient_search     text NOT NULL,
    open               boolean NOT NULL,
    at                 bigint NOT NULL,
    expires_at         bigint NOT NULL
);

CREATE INDEX idx_agent_sessions_at ON agent_sessions (at);
CREATE INDEX idx_agent_sessions_patient ON agent_sessions (patient_id);
