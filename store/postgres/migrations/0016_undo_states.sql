-- The state of an appointment before a change that its actor can still undo. The version is the one that the change gave to the
-- appointment. An erasure deletes the rows of the person's appointments, and the server deletes expired rows. A node of an earlier
-- version neither reads nor writes them.
CREATE TABLE undo_states (
    appointment_id      text COLLATE "C" NOT NULL REFERENCES appointments (id),
    version             bigint  NOT NULL,
    change_id           text COLLATE "C" NOT NULL,
    actor               text COLLATE "C" NOT NULL,
    at                  bigint  NOT NULL,
    expires_at          bigint  NOT NULL,
    appointment_type_id text COLLATE "C" NOT NULL,
    specialist_id       text COLLATE "C" NOT NULL,
    slot_start          bigint  NOT NULL,
    slot_end            bigint  NOT NULL,
    overbook            boolean NOT NULL,
    overbook_reason     text COLLATE "C" NOT NULL,
    resources           text COLLATE "C" NOT NULL,
    upstream_state      text COLLATE "C" NOT NULL,
    manage_epoch        bigint  NOT NULL,
    visit_id            text COLLATE "C" NOT NULL,
    PRIMARY KEY (appointment_id, version)
);

CREATE INDEX idx_undo_states_change ON undo_states (change_id);
CREATE INDEX idx_undo_states_expires ON undo_states (expires_at);
