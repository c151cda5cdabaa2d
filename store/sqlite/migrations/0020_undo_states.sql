-- The state of an appointment before a change that its actor can still undo. The version is the one that the change gave to the
-- appointment. An erasure deletes the rows of the person's appointments, and the server deletes expired rows.
CREATE TABLE undo_states (
    appointment_id      TEXT    NOT NULL REFERENCES appointments (id),
    version             INTEGER NOT NULL,
    change_id           TEXT    NOT NULL,
    actor               TEXT    NOT NULL,
    at                  INTEGER NOT NULL,
    expires_at          INTEGER NOT NULL,
    appointment_type_id TEXT    NOT NULL,
    specialist_id       TEXT    NOT NULL,
    slot_start          INTEGER NOT NULL,
    slot_end            INTEGER NOT NULL,
    overbook            INTEGER NOT NULL CHECK (overbook IN (0, 1)),
    overbook_reason     TEXT    NOT NULL,
    resources           TEXT    NOT NULL,
    upstream_state      TEXT    NOT NULL,
    manage_epoch        INTEGER NOT NULL,
    visit_id            TEXT    NOT NULL,
    PRIMARY KEY (appointment_id, version)
) STRICT, WITHOUT ROWID;

CREATE INDEX idx_undo_states_change ON undo_states (change_id);
CREATE INDEX idx_undo_states_expires ON undo_states (expires_at);
